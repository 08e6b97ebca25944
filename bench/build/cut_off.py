#!/usr/bin/env python3
"""Measures a change that is cut off before many consumers, in one build after the other: `larder build` without a watch,
ninja and make, in turns.

  cut_off.py --build build/bench [--results FOLDER] [--quick] [--consumers N] [--larder FILE]

One step strips comments and writes its output only if that differs, as a command must for ninja (restat) and make to cut
off; N steps take it besides an input of their own. Before each build a comment is written into the first input, so one
command runs. Figures are medians of wall time from a process's start to its end. Bar: 15 ms. Exits 0 when it holds, 1 when
it does not.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "bench/build"))
import machine  # noqa: E402
import paired  # noqa: E402
from run import COPY, run  # noqa: E402

CUT_OFF_MAX_MS = 15
STRIP = "grep -v '^#' {0} >{1}.new; cmp -s {1}.new {1} && rm {1}.new || mv {1}.new {1}"


def lay_out(folder, name, copy, consumers):
    (folder / "src").mkdir(parents=True)
    (folder / "src/mid").write_text("0\n")
    for i in range(consumers):
        (folder / "src" / str(i)).write_text(f"{i}\n")
    if name == "make":
        for i in range(0, consumers, 100):
            (folder / f"out/{i // 100}").mkdir(parents=True)
        outs = [f"out/{i // 100}/{i}" for i in range(consumers)]
        lines = [f"all: {' '.join(outs)}\nmid: src/mid\n\t{STRIP.format('src/mid', 'mid')}\n"]
        lines += [f"{out}: src/{i} mid\n\t{copy} src/{i} {out}\n" for i, out in enumerate(outs)]
        (folder / "Makefile").write_text("".join(lines))
        return
    lines = [f"rule copy\n  command = {copy} $in $out\n",
             f"rule strip\n  command = {STRIP.format('$in', '$out')}\n  restat = 1\n", "build mid: strip src/mid\n"]
    lines += [f"build out/{i // 100}/{i}: copy src/{i} | mid\n" for i in range(consumers)]
    (folder / "build.ninja").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--results")
    parser.add_argument("--consumers", type=int)
    parser.add_argument("--larder")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    consumers = arguments.consumers or (500 if arguments.quick else 10_000)
    larder = str(pathlib.Path(arguments.larder or f"{arguments.build}/tool/larder").resolve())
    tools = {"larder": [larder, "build", "--no-watch"], "ninja": ["ninja"], "make": ["make", "-s", "-r"]}
    tools = {name: words for name, words in tools.items() if shutil.which(words[0])}
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-cut-off-"))
    try:
        (top / "copy.c").write_text(COPY)
        subprocess.run(["cc", "-O2", "-static", "-o", top / "copy", top / "copy.c"], check=True)
        times = {name: [] for name in tools}
        for name, words in tools.items():
            lay_out(top / name, name, top / "copy", consumers)
            for _ in range(2):
                if run(words, top / name)[2] != 0:
                    print(f"{name} does not build it", file=sys.stderr)
                    return 2
        for i in range(5 if arguments.quick else 21):
            for name, words in tools.items():
                (top / name / "src/mid").write_text(f"0\n# {i}\n")
                time.sleep(0.02)  # longer than a tick of the clock that files are stamped with
                seconds, _, code, _ = run(words, top / name)
                if code != 0:
                    return 2
                times[name].append(seconds * 1000)
        row = {"consumers": consumers} | {f"{name}_ms": statistics.median(values) for name, values in times.items()}
        for name in times:
            if name != "larder":
                row[f"of_{name}"] = paired.ratio(times["larder"], times[name])
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"cut-off before {consumers} consumers: " + ", ".join(f"{name} {row[f'{name}_ms']:.1f} ms" for name in times))
    machine.keep(arguments.results, "cut_off.json", row)
    if not arguments.quick and row["larder_ms"] > CUT_OFF_MAX_MS:
        print(f"bar missed: {row['larder_ms']:.1f} ms, not {CUT_OFF_MAX_MS}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
