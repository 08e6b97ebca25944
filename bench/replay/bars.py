#!/usr/bin/env python3
"""Holds the adaptive policy against its bars by replaying traces, and says so.

  bars.py --replay build/bench/bench/replay/larder_replay --traces FOLDER [--late] [--seed N]

FOLDER holds .ct16.zst files. Where ci_replay and gpu_sessions are among them: the geometric mean of adaptive's cost
misses relative to LRU's, over the cells where those who know the future miss at least 2 % less than LRU, must be at
most 0.91, and no cell above 1.01. On every other trace, the made-up ones included, no cell above 1.02. Misses count by
the cost of making, or by number where a trace has no cost. Exits 0 when all bars hold, 1 when one does not.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

BUILDS = ("ci_replay", "gpu_sessions")
GEOMETRIC_MEAN_MAX = 0.91
BUILD_CELL_MAX = 1.01
OTHER_CELL_MAX = 1.02
MADE_UP = ("zipf_drift", "zipf_plain", "memo_scan", "loop", "phases", "recency", "rebuilds", "launches",
           "bursts")


def replay(arguments, trace, seed):
    command = [arguments.replay, "--json", "--policy", "lru", "--policy", arguments.policy, "--seed", str(seed)]
    command += ["--late"] if arguments.late else []
    command += [word for size in arguments.sizes for word in ("--size", size)]
    return json.loads(subprocess.run(command + [trace], check=True, capture_output=True).stdout)["traces"][0]


def cells(trace, policy):
    """(percent, policy relative to LRU, bound relative to LRU) for each size."""
    lines = trace["policies"]
    bounds = [name for name in lines if name.startswith("belady")]
    for place, percent in enumerate(trace["percents"]):
        lru = lines["lru"][place]["cost"]
        bound = min(lines[name][place]["cost"] for name in bounds)
        yield percent, lines[policy][place]["cost"] / lru, bound / lru


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", required=True, help="the larder_replay program")
    parser.add_argument("--traces", help="folder with .ct16.zst files")
    parser.add_argument("--policy", default="adaptive")
    parser.add_argument("--late", action="store_true", help="tell of hits late, as lock-free tiers do")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of the made-up traces")
    parser.add_argument("--sizes", nargs="+", default=["0.5", "2", "10", "30"], help="per cent of the footprint")
    arguments = parser.parse_args()

    runs = [(str(path), 1) for path in sorted(pathlib.Path(arguments.traces).glob("*.ct16.zst"))] if arguments.traces else []
    runs += [(name, seed) for seed in arguments.seeds for name in MADE_UP]
    counted, held = [], True
    for name, seed in runs:
        trace = replay(arguments, name, seed)
        is_build = trace["name"] in BUILDS
        limit = BUILD_CELL_MAX if is_build else OTHER_CELL_MAX
        shown = []
        for percent, ratio, bound in cells(trace, arguments.policy):
            if is_build and bound <= 0.98:
                counted.append(ratio)
            held &= ratio <= limit
            shown.append(f"{percent:g} %: {ratio:.3f} (bound {bound:.3f}){'' if ratio <= limit else ' OVER ' + str(limit)}")
        label = trace["name"] if name not in MADE_UP else f"{name} (seed {seed})"
        print(f"{label:24} " + "  ".join(shown), flush=True)
    if counted:
        mean = math.exp(sum(map(math.log, counted)) / len(counted))
        held &= mean <= GEOMETRIC_MEAN_MAX
        print(f"geometric mean of {len(counted)} cells of {' and '.join(BUILDS)}: {mean:.4f}, bar {GEOMETRIC_MEAN_MAX}")
    print(f"{arguments.policy}: {'all bars hold' if held else 'a bar does not hold'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
