#!/usr/bin/env python3
"""The paper's programs and its adversaries with the plugin's tables, beside plain -O2, the paper's three strategies and
what a programmer would write by hand.

  run.py --build build/bench --results FOLDER [--quick] [--only NAME...] [--join FILE.json...] [--draw FILE.svg]

Every trial is a forked child that runs one program: first as a fresh process does, which takes memory and faults on it
("first"), then with all results forgotten ("later"). Modes take turns, trial by trial, in an order shuffled anew each
round; processor time counts. Where a few per cent decide, plain and larder then take turns alone, bound to one core, so
that what else the machine does weighs on both trials of a pair alike, and in new processes after every few pairs, so
that where a process's memory happens to lie weighs on neither; so do larder and what is written by hand. Exit status: 0
every bar met, 1 some bar not met, 2 it could not run.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import machine  # noqa: E402
import paired  # noqa: E402
from reuse import chart  # noqa: E402

ADVANTAGEOUS = ["fibonacci", "iterative_fibonacci", "iterative_factorial", "pseudorandom_pow", "towers_of_hanoi",
                "lru_biased"]
ADVERSARIAL = ["knapsack", "matrix_chain"]
NOT_CACHED = ["global_access", "print_statement"]
LIKE_BY_HAND = ["fibonacci", "iterative_fibonacci", "towers_of_hanoi"]
OVERLAPPING = ["knapsack_overlap", "matrix_chain_overlap"]
PROGRAMS = ADVANTAGEOUS + ADVERSARIAL + NOT_CACHED + OVERLAPPING
ADVERSARIES = ["leaf_without_repeats", "cheap_leaf", "phase_change", "exponential_trap", "millions_of_keys", "threads_64",
               "deep_recursion"]
STRATEGIES = ["round_robin", "lru_vector", "lru_hash"]
# Speed-ups of an earlier prototype, of which four fifths are asked for.
REFERENCE = {"fibonacci": 126000, "iterative_fibonacci": 66200, "iterative_factorial": 9.9, "pseudorandom_pow": 185,
             "towers_of_hanoi": 42800, "lru_biased": 125, "knapsack": 1.04, "matrix_chain": 1.13, "global_access": 1.0,
             "print_statement": 1.0, "knapsack_overlap": 9080, "matrix_chain_overlap": 467}
BEST_PAPER_MIN, PLAIN_MIN, INSTRUCTIONS_MAX, REFERENCE_MIN, BY_HAND_MAX = 2.5, 0.95, 1.05, 0.8, 2.0
HIT_NS_MAX, KNAPSACK_MIN, TABLE_BYTES_MAX = 2.5, 5000, 256 << 20
# Of the two that decide, where a few per cent do: pairs go on after PAIRS_SECONDS until the interval is as narrow as
# PAIRS_WIDTH of the ratio, however it comes out, or until PAIRS_SECONDS_MAX.
PAIRS_SECONDS, PAIRS_SECONDS_MAX, PAIRS_WIDTH, PAIRS_MAX = 18.0, 90.0, 0.03, 1001
PAIRS_PER_PROCESS = 3
COUNTED_NS_MAX = 100e6  # longer plain runs are not counted under callgrind


class Mode:
    """One build of a program, with its environment; stays alive, forks a child for each trial."""

    def __init__(self, folder, program, name):
        self.name = name
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LARDER_REUSE")}
        if name in STRATEGIES:
            environment["LARDER_REUSE_STRATEGY"] = name
        self.environment = environment
        self.path = folder / f"{program}.{'larder' if name in STRATEGIES else name}"
        self.counted = folder / f"{program}.{'plain' if name == 'plain' else 'larder'}_counted"
        self.trials = []
        self.begin()

    def begin(self, core=None):
        self.process = subprocess.Popen([self.path], env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if core is not None:
            os.sched_setaffinity(self.process.pid, {core})

    def trial(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        words = self.process.stderr.readline().split()
        if len(words) != 7:
            raise RuntimeError(f"{self.path.name} ({self.name}) gave no trial: {' '.join(words)}")
        keys = ("first_ns", "first_cycles", "faults", "later_ns", "later_cycles", "result", "executed")
        self.trials.append(dict(zip(keys, map(int, words))))

    def all(self, key):
        return [one[key] for one in self.trials]

    def median(self, key):
        return median(self.all(key))

    def once(self, counted=False):
        """Output, result, real executions and peak memory of one whole process."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([self.counted if counted else self.path, "--once"], env=self.environment,
                                       stdout=out, stderr=err)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise RuntimeError(f"{self.path.name} ({self.name}) ended with {process.returncode}")
            out.seek(0)
            err.seek(0)
            digest = hashlib.sha256(out.read()).hexdigest()
            result, executed = map(int, err.read().split())
        return {"output": digest, "result": result, "executed": executed, "peak_bytes": usage.ru_maxrss * 1024}

    def instructions(self):
        with tempfile.TemporaryDirectory() as scratch:
            counts = Path(scratch) / "counts"
            run = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--main-stacksize=8388608",
                                  "--toggle-collect=larder_bench_program", f"--callgrind-out-file={counts}", self.path,
                                  "--once"], env=self.environment, capture_output=True)
            if run.returncode != 0:
                raise RuntimeError(f"{self.path.name}: exit {run.returncode} under valgrind")
            return int(re.search(r"^(?:totals|summary): (\d+)", counts.read_text(), re.M).group(1))

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stderr.close()


def measure(folder, program, quick, order):
    names = ["plain", "larder"]
    if (folder / f"{program}.by_hand").exists():
        names.append("by_hand")
    if program in PROGRAMS:
        names += STRATEGIES
    modes = {name: Mode(folder, program, name) for name in names}
    spent = {name: 0.0 for name in names}
    longest = 3 if quick else 151
    shortest = 2 if quick else 7
    for round_number in range(longest):
        turn = list(names)
        order.shuffle(turn)
        for name in turn:
            mode = modes[name]
            # A mode that takes long has fewer turns; plain and larder keep step.
            budget = 2.0 if name in ("plain", "larder") else 1.0
            fewest = shortest if name in ("plain", "larder") else 1
            leader = max(spent["plain"], spent["larder"]) if name in ("plain", "larder") else spent[name]
            if round_number >= fewest and leader > budget:
                continue
            before = os.times().elapsed
            mode.trial()
            took = os.times().elapsed - before
            spent[name] += took
        if all(len(mode.trials) <= round_number for mode in modes.values()):
            break
    plain, larder = modes["plain"], modes["larder"]
    is_close = program in ADVERSARIAL + NOT_CACHED + ADVERSARIES
    beside_others = list(plain.trials)
    if is_close and not quick:
        plain.trials, larder.trials = pair_up(plain, larder, PAIRS_SECONDS)
    row = {"program": program, "modes": {}, "trials": len(larder.trials)}
    results = set()
    for name, mode in modes.items():
        whole = mode.once() if mode.median("first_ns") < 2e9 else {"output": None, "peak_bytes": 0}
        is_counted = name != "by_hand" and mode.median("first_ns") < 2e9
        counted = mode.once(counted=True)["executed"] if is_counted else None
        results.update(mode.all("result"))
        results.add(whole.get("result", mode.trials[0]["result"]))
        row["modes"][name] = {
            "first_ns": mode.median("first_ns"), "later_ns": mode.median("later_ns"),
            "first_cycles": mode.median("first_cycles"), "later_cycles": mode.median("later_cycles"),
            "faults": mode.median("faults"), "executed": counted, "output": whole["output"],
            "peak_bytes": whole["peak_bytes"]}
        beside = plain.trials if mode in (plain, larder) else beside_others
        for when in ("first", "later"):
            row["modes"][name][f"{when}_speedup"] = paired.ratio([one[f"{when}_ns"] for one in beside],
                                                                 mode.all(f"{when}_ns"))
    if program in LIKE_BY_HAND:
        by_hand, beside = pair_up(modes["by_hand"], larder, 2.0)
        row["of_by_hand"] = paired.ratio([one["later_ns"] for one in beside], [one["later_ns"] for one in by_hand])
    row["same_results"] = len(results) == 1
    row["same_output"] = len({mode["output"] for mode in row["modes"].values()} - {None}) == 1
    if shutil.which("valgrind") and row["modes"]["plain"]["first_ns"] < COUNTED_NS_MAX and not quick:
        row["instructions"] = {name: modes[name].instructions() for name in ("plain", "larder")}
    for mode in modes.values():
        mode.end()
    return row


def is_narrow(one, other):
    for key in ("first_ns", "later_ns"):
        seen = paired.ratio(one.all(key), other.all(key))
        if seen["high"] - seen["low"] > PAIRS_WIDTH * seen["median"]:
            return False
    return True


def pair_up(one, other, seconds):
    """New trials of these two alone, each first in turn."""
    core = max(os.sched_getaffinity(0))
    earlier = one.trials, other.trials
    one.trials, other.trials = [], []
    begin = os.times().elapsed
    for number in range(PAIRS_MAX):
        if number % PAIRS_PER_PROCESS == 0:
            for mode in (one, other):
                mode.end()
                mode.begin(core)
        for mode in (one, other) if number % 2 else (other, one):
            mode.trial()
        spent = os.times().elapsed - begin
        if number >= 20 and spent > seconds and (is_narrow(one, other) or spent > seconds * PAIRS_SECONDS_MAX / PAIRS_SECONDS):
            break
    pairs = one.trials, other.trials
    one.trials, other.trials = earlier
    return pairs


def judge(rows, hit):
    """[(bar, figure, met)]."""
    verdicts = []

    def bar(name, figure, is_met):
        verdicts.append({"bar": name, "figure": figure, "met": bool(is_met)})

    for row in rows:
        name, modes = row["program"], row["modes"]
        larder = modes["larder"]
        bar(f"{name}: same results and output in every mode", "same" if row["same_results"] and row["same_output"]
            else "different", row["same_results"] and row["same_output"])
        for when in ("first", "later"):
            low = larder[f"{when}_speedup"]["low"]
            bar(f"{name}: {when} run >= {PLAIN_MIN} of plain", f"{larder[f'{when}_speedup']['median']:.3g}x (low {low:.3g})",
                low >= PLAIN_MIN)
        if "instructions" in row:
            ratio = row["instructions"]["larder"] / row["instructions"]["plain"]
            bar(f"{name}: instructions <= {INSTRUCTIONS_MAX} of plain", f"{ratio:.3f}", ratio <= INSTRUCTIONS_MAX)
        if name in REFERENCE:
            speedup = larder["later_speedup"]["median"]
            least = REFERENCE[name] * REFERENCE_MIN
            bar(f"{name}: speed-up >= {least:.4g}", f"{speedup:.4g}", speedup >= least)
        if name in ADVANTAGEOUS:
            best = min(modes[strategy]["later_ns"] for strategy in STRATEGIES)
            ratio = best / larder["later_ns"]
            bar(f"{name}: >= {BEST_PAPER_MIN} of the best of the paper's designs", f"{ratio:.3g}x", ratio >= BEST_PAPER_MIN)
        if name in LIKE_BY_HAND:
            ratio = row["of_by_hand"]["median"]
            bar(f"{name}: within {BY_HAND_MAX} of what is written by hand", f"{ratio:.3g}x", ratio <= BY_HAND_MAX)
        if name == "knapsack_overlap":
            speedup = larder["later_speedup"]["median"]
            bar(f"{name}: >= {KNAPSACK_MIN}", f"{speedup:.5g}", speedup >= KNAPSACK_MIN)
        if name in ADVERSARIES:
            more = larder["peak_bytes"] - modes["plain"]["peak_bytes"]
            bar(f"{name}: memory under the cap", f"{more / 1e6:.1f} MB more than plain", more <= TABLE_BYTES_MAX + (8 << 20))
    bar(f"a hit where it stands <= {HIT_NS_MAX} ns", f"{hit['hit_ns']:.2f} ns (an empty call {hit['empty_ns']:.2f})",
        hit["hit_ns"] <= HIT_NS_MAX)
    return verdicts


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def table(rows, verdicts, hit, facts):
    header = ["program", "plain", "cycles", "round_robin", "lru_vector", "lru_hash", "larder, first", "larder, later",
              "95 % low", "by hand", "instructions", "executed, plain", "larder"]
    lines = [machine.line(facts), "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        modes = row["modes"]

        def speed(name, when):
            return f"{modes[name][f'{when}_speedup']['median']:.4g}x" if name in modes else ""

        counts = row.get("instructions")
        cells = [row["program"].replace("_", " "), time_text(modes["plain"]["first_ns"]),
                 f"{modes['plain']['first_cycles']:.3g}", *(speed(name, "later") for name in STRATEGIES),
                 speed("larder", "first"), speed("larder", "later"), f"{modes['larder']['later_speedup']['low']:.4g}",
                 speed("by_hand", "later"), f"{counts['larder'] / counts['plain']:.3f}x" if counts else "",
                 str(modes["plain"]["executed"]), str(modes["larder"]["executed"])]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", f"A hit where it stands {hit['hit_ns']:.2f} ns, an empty call in the same loop {hit['empty_ns']:.2f} ns, "
              f"the loop {hit['loop_ns']:.2f} ns, the body {hit['plain_ns']:.0f} ns.", ""]
    lines += [f"{'met    ' if one['met'] else 'NOT MET'} {one['bar']}: {one['figure']}" for one in verdicts]
    return "\n".join(lines) + "\n"


def measure_hit(folder):
    """Nine trials of each, as dicts."""
    run = subprocess.run([folder / "hit.larder"], capture_output=True, text=True, check=True)
    trials = [list(map(float, line.split())) for line in run.stdout.splitlines()]
    return [dict(zip(("hit_ns", "empty_ns", "loop_ns", "plain_ns"), trial)) for trial in trials]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--results", default="build/bench/results")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--join", nargs="+", default=[], help="rows of earlier runs, of programs not measured now")
    parser.add_argument("--draw", help="also leave the picture there")
    arguments = parser.parse_args()
    folder = Path(arguments.build) / "bench" / "reuse"
    if not (folder / "hit.larder").exists():
        print("bench/reuse: not built: no clang with LLVM's headers (Debian: clang-19 llvm-19-dev)", file=sys.stderr)
        return 2
    facts = machine.facts()
    order = random.Random(1)
    try:
        earlier = {row["program"]: row for file in arguments.join for row in json.loads(Path(file).read_text())["rows"]}
        asked = arguments.only or PROGRAMS + ADVERSARIES
        # Hits are measured all along, and the least counts: other work only adds to an absolute time.
        hits = measure_hit(folder)
        rows = []
        for program in asked:
            rows.append(earlier.get(program) or measure(folder, program, arguments.quick, order))
            hits += measure_hit(folder)
        hit = {name: min(trial[name] for trial in hits) for name in hits[0]}
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench/reuse: {error}", file=sys.stderr)
        return 2
    verdicts = judge(rows, hit)
    text = table(rows, verdicts, hit, facts)
    print(text, end="")
    results = Path(arguments.results)
    results.mkdir(parents=True, exist_ok=True)
    result = {"machine": facts, "rows": rows, "hit": hit, "bars": verdicts}
    (results / "reuse.json").write_text(json.dumps(result, indent=1))
    (results / "reuse.txt").write_text(text)
    if not arguments.only:
        picture = chart.draw(result, PROGRAMS, STRATEGIES)
        for place in [results / "reuse.svg"] + ([Path(arguments.draw)] if arguments.draw else []):
            place.write_text(picture)
    if arguments.quick:
        return 0
    return 0 if all(one["met"] for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
