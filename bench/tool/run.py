#!/usr/bin/env python3
"""Measures every command on a store of many small entries, and holds it to its bars.

  run.py --build build/bench --results FOLDER [--quick] [--dir FOLDER] [--entries N] [--larder FILE] [--fill FILE]

The store is made under --dir, which should lie on the file system that counts. Times are of whole processes, the page
cache warm; memory is the peak of the process. For scale the same folder is walked by find(1), which opens no file.
Bars: `stats` 50 ms, `ls` 1 s, no command above 150 MB. Exits 0 when every bar holds, 1 when one does not, 2 when
something could not run. With --quick, 2000 entries and no bars on time.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402

MEMORY_MAX = 150_000_000
TIME_MAX = {"stats": 0.050, "stats --json": 0.050, "ls": 1.0, "ls --json": 1.0, "ls --largest -n 20": 1.0}


def run(words, environment):
    """Seconds, seconds of processor, peak bytes, exit code, of one process; its output is thrown away."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--results")
    parser.add_argument("--dir")
    parser.add_argument("--entries", type=int)
    parser.add_argument("--larder")
    parser.add_argument("--fill")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    entries = arguments.entries or (2000 if arguments.quick else 100_000)
    larder = arguments.larder or f"{arguments.build}/tool/larder"
    fill = arguments.fill or f"{arguments.build}/bench/larder_tool_fill"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-tool-bench-", dir=arguments.dir))
    store, other, bundle = folder / "store", folder / "other", folder / "all.bundle"
    environment = {**os.environ, "LARDER_DIR": str(store), "LARDER_RUNTIME_DIR": str(folder / "run"), "HOME": str(folder),
                   "LARDER_FREE_MIN": "0", "LARDER_SIZE_MAX": "0"}
    elsewhere = {**environment, "LARDER_DIR": str(other)}
    try:
        subprocess.run([fill, store, str(entries)], check=True)
        listing = subprocess.run([larder, "ls", "--json", "-n", "1"], env=environment, check=True, capture_output=True)
        key = json.loads(listing.stdout)["entries"][0]["key"]
        # Those that change nothing several times, the median of their times; the rest once, in an order that works.
        plan = [(words, environment, 1 if arguments.quick else 5) for words in (
            "stats", "stats --json", "ls", "ls --json", "ls --largest -n 20", f"show {key}", "why last",
            "gc --dry-run", "clear --all --dry-run")]
        plan += [("verify", environment, 1), ("gc", environment, 1), (f"export {bundle}", environment, 1),
                 (f"import --check {bundle}", environment, 1), (f"import {bundle}", elsewhere, 1),
                 (f"import {bundle}", elsewhere, 1), ("clear --kind gl-program", elsewhere, 1),
                 ("clear --all", elsewhere, 1)]
        rows, missed = [], []
        run(["find", store, "-type", "f"], environment)
        for words, place, times in [("find", environment, 3)] + plan:
            command = ["find", str(store), "-type", "f"] if words == "find" else [larder, *words.split()]
            runs = [run(command, place) for _ in range(times)]
            if any(code != 0 for *_, code in runs):
                print(f"larder {words}: exit {runs[0][3]}", file=sys.stderr)
                return 2
            seconds, processor, peak = (statistics.median(one[0] for one in runs),
                                        statistics.median(one[1] for one in runs), max(one[2] for one in runs))
            name = words.replace(key, "KEY").replace(str(bundle), "BUNDLE")
            rows.append({"command": name, "seconds": seconds, "processor_seconds": processor, "peak_bytes": peak})
            if words == "find":
                continue
            if peak > MEMORY_MAX:
                missed.append(f"{name}: {peak / 1e6:.0f} MB")
            if not arguments.quick and entries == 100_000 and seconds > TIME_MAX.get(name, 3600):
                missed.append(f"{name}: {seconds * 1e3:.0f} ms")
    except (OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = f"{entries} entries; {machine.line()}\n\n| command | time | processor | peak memory |\n|---|---|---|---|\n"
    for row in rows:
        text += (f"| `{row['command']}` | {row['seconds'] * 1e3:.1f} ms | "
                 f"{row['processor_seconds'] * 1e3:.1f} ms | {row['peak_bytes'] / 1e6:.0f} MB |\n")
    text += "\n" + ("every bar holds\n" if not missed else "bars not met: " + "; ".join(missed) + "\n")
    print(text, end="")
    if arguments.results:
        results = pathlib.Path(arguments.results)
        results.mkdir(parents=True, exist_ok=True)
        (results / "tool.txt").write_text(text)
        (results / "tool.json").write_text(json.dumps({"machine": machine.facts(), "entries": entries, "rows": rows}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
