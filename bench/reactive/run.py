#!/usr/bin/env python3
"""Runs larder's graph, a red/green pull engine and a literal hash map of hash sets through the same shapes.

Usage: run.py [--build DIR] [--results DIR] [--rounds N] [--quick]. Exit status: 0 every bar met, 1 some not, 2 could
not run. Times are processor time of the one thread at work, the least of all rounds: other work only adds to them.
"""
import argparse
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

BARS = [  # figure, bar
    ("hot_get_ns", 5), ("no_op_after_unrelated_write_ns", 60), ("cut_off_after_one_level_ns", 150),
    ("chain_10k_ns_per_evaluation", 60), ("chain_1M_ns_per_evaluation", 150),
    ("tree_cold_ns_per_node", 160), ("tree_bytes_per_node", 110),
    ("tree_leaf_ns", None), ("hub_change_ns_per_dependency", None),
]
ENGINES = ("larder", "larder_text", "larder_digest", "red_green", "jug")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--results")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every engine, of which the least counts")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    program = Path(options.build) / "bench" / "reactive_shapes"
    if not program.exists():
        print(f"{program} is not built", file=sys.stderr)
        return 2
    nodes = "100000" if options.quick else "1000000"
    leasts, medians = defaultdict(list), defaultdict(list)
    order = random.Random(1)
    for _ in range(1 if options.quick else options.rounds):
        for engine in order.sample(ENGINES, len(ENGINES)):
            run = subprocess.run([program, engine, nodes], capture_output=True, text=True)
            if run.returncode != 0:
                print(f"{engine}: {run.stderr}", file=sys.stderr)
                return 2
            for line in run.stdout.splitlines():
                name, figure, least, median = line.split("\t")
                leasts[name, figure].append(float(least))
                medians[name, figure].append(float(median))
    rows = [["figure", *ENGINES, "bar", "verdict"]]
    worst = 0
    for figure, bar in BARS:
        is_met = bar is None or min(leasts["larder", figure]) <= bar
        worst = max(worst, 0 if is_met else 1)
        rows.append([figure, *(f"{min(leasts[engine, figure]):.1f} ({statistics.median(medians[engine, figure]):.1f})"
                               if leasts[engine, figure] else "-" for engine in ENGINES),
                     "-" if bar is None else str(bar), "-" if bar is None else "met" if is_met else "NOT MET"])
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows[:1])
    text += "\n|" + "---|" * len(rows[0]) + "\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows[1:])
    print(text)
    if options.results:
        results = Path(options.results)
        results.mkdir(parents=True, exist_ok=True)
        (results / "reactive.md").write_text(text + "\n")
    return worst


if __name__ == "__main__":
    sys.exit(main())
