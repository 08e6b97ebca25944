#!/usr/bin/env python3
"""Measures what tracing costs a command: the same step built untraced and traced in turns, wall clock
and processor time of the build with all that it starts, as paired ratios.

  trace.py --build build/release --results FOLDER [--quick] [--pairs N]

Bar: a C++ compilation takes at most 6 % longer. Exits 0 when it holds, 1 when it does not.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402
import paired  # noqa: E402

RATIO_MAX = 1.06
STEPS = {
    "cp": "cp in.cpp out",
    "cc": "cc -c in.c -o out",
    "c++": "c++ -c in.cpp -o out",
}


def run(command, folder):
    """Seconds by the wall clock, and of processor time, of a build that makes `out`."""
    (folder / "out").unlink(missing_ok=True)
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    if status != 0 or not (folder / "out").exists():
        raise RuntimeError(" ".join(command) + " failed")
    return wall, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--results")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int)
    arguments = parser.parse_args()
    larder = str(pathlib.Path(arguments.build).resolve() / "tool/larder")
    pairs = arguments.pairs or (5 if arguments.quick else 41)
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-trace-bench-"))
    rows = {}
    try:
        for name, command in STEPS.items():
            folder = top / name
            folder.mkdir()
            (folder / "in.cpp").write_text("#include <string>\n#include <vector>\nstd::vector<std::string> a;\n")
            (folder / "in.c").write_text("#include <stdio.h>\nint main(void) { return puts(\"a\"); }\n")
            (folder / "build.ninja").write_text(f"rule r\n  command = {command}\nbuild out: r\n")
            plain = [larder, "build", "--no-restore", "-C", str(folder)]
            series = {"plain": [], "traced": []}
            for i in range(pairs + 1):  # the first warms up
                for kind, words in (("plain", plain), ("traced", [*plain, "--trace"]))[:: 1 if i % 2 else -1]:
                    took = run(words, folder)
                    if i != 0:
                        series[kind].append(took)
            rows[name] = {
                what: paired.ratio([trial[i] for trial in series["traced"]], [trial[i] for trial in series["plain"]])
                for i, what in enumerate(("wall", "processor"))
            }
            rows[name]["plain_ms"] = sorted(trial[0] for trial in series["plain"])[pairs // 2] * 1000
            print(name, json.dumps(rows[name]))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    machine.keep(arguments.results, "build_trace.json", rows)
    return 0 if rows["c++"]["wall"]["median"] <= RATIO_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
