#!/usr/bin/env python3
"""Counts the instructions of a guarded path and fails when there are more than recorded.

Usage: callgrind_guard.py PROGRAM CEILING

PROGRAM calls a function named `guarded` and prints how often: `calls N`. Only what happens inside that function is
counted (valgrind --tool=callgrind), so the figure repeats to within a few instructions on any machine of one
architecture; CEILING is the recorded count per call plus what is allowed for another C library.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    program, ceiling = sys.argv[1], int(sys.argv[2])
    name = os.path.basename(program)
    if shutil.which("valgrind") is None:
        sys.exit(f"{name}: valgrind is missing; scripts/setup.sh test installs it")
    with tempfile.TemporaryDirectory() as scratch:
        counts = os.path.join(scratch, "counts")
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=guarded*",
             f"--callgrind-out-file={counts}", program],
            capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{name}: exit {run.returncode} under valgrind\n{run.stdout}{run.stderr}")
        calls = re.search(r"^calls (\d+)$", run.stdout, re.M)
        with open(counts) as file:
            total = re.search(r"^(?:totals|summary): (\d+)$", file.read(), re.M)
    if calls is None or total is None or int(total.group(1)) == 0:
        sys.exit(f"{name}: nothing was counted: has it a function `guarded`, and does it print `calls N`?")
    each = int(total.group(1)) // int(calls.group(1))
    verdict = "more than" if each > ceiling else "within"
    print(f"{name}: {each} instructions per call, {verdict} the ceiling of {ceiling}")
    return 1 if each > ceiling else 0


if __name__ == "__main__":
    sys.exit(main())
