#!/usr/bin/env python3
"""How fast a program with a compile in its start begins with a cache file, beside the same program with nothing to
compile: whole runs, from launch to the first result, in turns. Usage: start.py ONE_FILE_CACHE [--runs N] [--json]

Exits with 1 when the median of the paired ratios of CPU time is above the bar of 1.05: wall time is shown beside it,
and on a machine that does other things it says more of them.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BAR = 1.05


def run(command):
    """Wall and CPU seconds of a whole run, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    started = float(re.search(r"started in ([0-9.]+)", done.stdout).group(1))
    return {"wall": wall, "cpu": cpu, "started": started, "out": done.stdout}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        cache, module = os.path.join(place, "app.cache"), os.path.join(place, "module.so")
        run([options.program, "--write-module", module])
        nothing_to_compile = [options.program, "--module", module]
        with_cache = [options.program, "--cache", cache]
        cold = run(with_cache)
        result = re.search(r"result .*", cold["out"]).group(0)
        pairs = []
        for number in range(options.runs + 1):
            order = [with_cache, nothing_to_compile]
            if number % 2:
                order.reverse()
            runs = {id(command): run(command) for command in order}
            warm, bare = runs[id(with_cache)], runs[id(nothing_to_compile)]
            if "cache: hit" not in warm["out"] or result not in warm["out"] or result not in bare["out"]:
                sys.exit(f"start.py: a run went wrong:\n{warm['out']}{bare['out']}")
            if number:  # the first pair warms the page cache
                pairs.append((warm, bare))
    median = statistics.median
    report = {
        "schema": 1,
        "runs": len(pairs),
        "cold_wall_s": cold["wall"],
        "warm_wall_s": median(w["wall"] for w, _ in pairs),
        "nothing_to_compile_wall_s": median(b["wall"] for _, b in pairs),
        "wall_ratio": median(w["wall"] / b["wall"] for w, b in pairs),
        "cpu_ratio": median(w["cpu"] / b["cpu"] for w, b in pairs),
        "warm_loaded_s": median(w["started"] for w, _ in pairs),
        "nothing_to_compile_loaded_s": median(b["started"] for _, b in pairs),
        "bar": BAR,
    }
    report["cold_to_warm"] = report["cold_wall_s"] / report["warm_wall_s"]
    report["met"] = report["cpu_ratio"] <= BAR
    if options.json:
        print(json.dumps(report))
    else:
        print(f"first start, compiling       {report['cold_wall_s']:8.3f} s")
        print(f"start with the cache file    {report['warm_wall_s']:8.3f} s  ({report['cold_to_warm']:.0f} times faster)")
        print(f"start, nothing to compile    {report['nothing_to_compile_wall_s']:8.3f} s")
        print(f"CPU ratio, median of {report['runs']} pairs {report['cpu_ratio']:6.3f}    (bar {BAR}; wall {report['wall_ratio']:.3f})")
        print(f"kernel loaded after          {report['warm_loaded_s'] * 1e3:8.1f} ms  "
              f"(nothing to compile: {report['nothing_to_compile_loaded_s'] * 1e3:.1f} ms)")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
