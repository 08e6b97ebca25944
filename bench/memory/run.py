#!/usr/bin/env python3
"""In-memory hits of larder beside what a program would otherwise use. Each design runs alone in a process of its
own; the processes take turns, trial by trial, in an order shuffled anew each round, and only trials of the same
round are compared. Exit status: 0 every bar met, 1 some bar not met, 2 it could not run."""
import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import machine  # noqa: E402
import paired  # noqa: E402
from memory import chart  # noqa: E402

STREAM_LENGTH = 1 << 21  # operations per thread before a stream starts over
ATTEMPTS_MAX = 3         # of a trial in which the machine was too busy
ACCEPTED_MIN = 0.25      # share of a trial's chunks that must have run undisturbed
FRESH_AT_1M = 3          # fresh-recipe peers, best first, that are measured with many entries too
GUARD_BARS = {10_000: 3.0, 1_000_000: 2.0}  # entries: how many times faster than the best C++ peer
FLOOR_ENTRIES = 1_000_000
# Peers by what their hits give, and whether they decide a bar (docs/decisions/014-peers-of-a-hit.md). What a
# hit of larder's shows stays valid under the guard whatever is evicted, without a lock of its entry held: of the
# peers' forms only a shared_ptr that is held gives that. The others give less and decide nothing.
RIVALS = {"that hands out an object that stays valid": (("shared_ptr",), True),
          "whose object is valid under its entry's lock only (visit)": (("visit",), False),
          "whose object has no address of its own (inline)": (("inline",), False)}
OWNING = ("shared_ptr", "reference")
INSERTS = ", 0.5 % inserts"
GUARD, HANDLE = ("larder", "guard"), ("larder", "handle")


class Failure(Exception):
    pass


class Design:
    """One form of one design: how it is keyed and how its hits are held."""

    def __init__(self, program, name, key, hold, batched=""):
        self.program, self.name, self.key, self.hold = program, name, key, hold
        self.is_batched = batched == "batched"
        self.process = None
        self.memory = {}

    @property
    def id(self):
        return (self.name, self.hold) if self.key in ("interned", "index") else (self.name, self.hold, self.key)

    @property
    def role(self):
        """Caffeine is no C++ design: it stands beside the peers and decides no bar on them."""
        return {"larder": "larder", "floor": "floor"}.get(self.name, "beside" if "Java" in self.name else "peer")

    def does(self, cell):
        return not self.is_batched or (cell["chain"], cell["traffic"]) == ("overlapped", "hits")

    def start(self, entries, stream, environment):
        self.process = subprocess.Popen([self.program, self.key, self.hold, str(entries), stream], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.memory = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{' '.join(self.id)} ended with status {self.process.wait()}")
        return json.loads(line)

    def trial(self, cell, sizes):
        """ns per hit and thread, or None when the machine was too busy."""
        for _ in range(ATTEMPTS_MAX):
            self.process.stdin.write(f"trial {cell['threads']} {cell['chain']} {cell['traffic']} "
                                     f"{sizes.warm} {sizes.operations} {sizes.chunk(cell)}\n")
            self.process.stdin.flush()
            seen = self.answer()
            if cell["traffic"] == "hits" and seen["refills"] > 0:
                raise Failure(f"{' '.join(self.id)} missed where everything should hit")
            if seen["accepted"] >= ACCEPTED_MIN * seen["chunks"]:
                return seen["ns"]
        return None

    def stop(self):
        if self.process:
            self.process.stdin.close()
            if self.process.wait() != 0:
                raise Failure(f"{' '.join(self.id)} ended with status {self.process.returncode}")
            self.process = None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Sizes:
    def __init__(self, entries, quick):
        self.entries = entries
        self.warm = 32768 if quick else max(262144, min(entries // 2, 524288))
        self.operations = 65536 if quick else (1048576 if entries <= 100000 else 524288)

    def chunk(self, cell):
        """Operations between two looks at the clock: long against the look, short against a time slice."""
        return 32768 if self.entries <= 100000 and cell["threads"] == 1 else 8192


def designs_in(folder):
    found = []
    for program in sorted(folder.glob("bench_memory_*")):
        if program.name == "bench_memory_stream" or not os.access(program, os.X_OK):
            continue
        listed = subprocess.run([program, "--list"], capture_output=True, text=True)
        if listed.returncode != 0:
            raise Failure(f"{program} --list: {listed.stderr.strip()}")
        found += [Design(program, *line.split("\t")) for line in listed.stdout.splitlines()]
    if not found:
        raise Failure(f"no bench_memory_* in {folder}: build the preset `bench` first")
    return found


def cells_of(fresh, quick):
    shapes = [(1, "overlapped", "hits"), (2, "overlapped", "hits")]
    if not fresh:
        shapes += [] if quick else [(1, "dependent", "hits")]
        shapes += [(1, "overlapped", "inserts"), (2, "overlapped", "inserts")]  # last: they evict what hits need
    return [{"threads": threads, "chain": chain, "traffic": traffic} for threads, chain, traffic in shapes]


def measure(designs, sizes, rounds, fresh, arguments, progress):
    """A list of cells, each with the trials of every design in it. The first round only warms up."""
    stream = arguments.scratch / f"zipf-{sizes.entries}"
    if not stream.exists():
        subprocess.run([arguments.programs / "bench_memory_stream", str(sizes.entries), str(STREAM_LENGTH), stream],
                       check=True)
    environment = dict(os.environ)
    if arguments.huge_pages:
        environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    if arguments.realtime:
        environment["LARDER_BENCH_REALTIME"] = "1"
    cells = [dict(cell, entries=sizes.entries, key="fresh" if fresh else "interned", trials={})
             for cell in cells_of(fresh, arguments.quick)]
    try:
        for design in designs:
            progress(f"{sizes.entries} entries: filling {' '.join(design.id)}")
            design.start(sizes.entries, stream, environment)
        for cell in cells:
            for turn in range(rounds + 1):
                progress(f"{sizes.entries} entries, {cell['key']}, {cell['threads']} thread(s), {cell['chain']}, "
                         f"{cell['traffic']}: round {turn} of {rounds}")
                order = [design for design in designs if design.does(cell)]
                random.Random(turn).shuffle(order)
                for design in order:
                    ns = design.trial(cell, sizes)
                    if turn > 0:
                        cell["trials"].setdefault(design.id, []).append(ns)
        for design in designs:
            design.stop()
    finally:
        for design in designs:
            design.kill()
    return cells


def ns_of(cell, id):
    trials = [ns for ns in cell["trials"].get(id, []) if ns]
    return median(trials) if trials else None


def find(cells, **wanted):
    return next((cell for cell in cells if all(cell[name] == value for name, value in wanted.items())), None)


def judge_bars(cells, roles):
    """Each bar with the peer that decides it, the ratio measured and its verdict."""
    bars = []

    def add(title, bar, against, measured, met, decides=True):
        bars.append({"title": title, "bar": bar, "against": against and " ".join(against), "ratio": measured,
                     "decides": decides,
                     "verdict": "not measured" if measured is None else "met" if met(measured["median"]) else "NOT MET"})

    def least(cell, ours, role_wanted, holds=None):
        """The rival that leaves `ours` the smallest ratio."""
        rivals = [id for id in cell["trials"] if roles[id] in role_wanted and (holds is None or id[1] in holds)]
        ratios = {id: paired.ratio(cell["trials"][id], cell["trials"][ours]) for id in rivals} if ours in cell["trials"] else {}
        ratios = {id: ratio for id, ratio in ratios.items() if ratio}
        return min(ratios.items(), key=lambda item: item[1]["median"], default=(None, None))

    for entries, factor in GUARD_BARS.items():
        for cell in cells:
            if (cell["entries"], cell["chain"], cell["key"]) != (entries, "overlapped", "interned"):
                continue
            threads = cell["threads"]
            where = f"{entries} entries, {threads} thread{'s' * (threads > 1)}{INSERTS * (cell['traffic'] == 'inserts')}"
            for rivals, (holds, decides) in RIVALS.items():
                rival, measured = least(cell, GUARD, ("peer",), holds)
                add(f"guard against the best C++ peer {rivals}, {where}", f">= {factor:g}x", rival, measured,
                    lambda ratio, factor=factor: ratio >= factor, decides)
            if cell["traffic"] == "hits":
                rival, measured = least(cell, HANDLE, ("peer", "beside"), OWNING)
                add(f"handle against the fastest owning peer, {where}", "> 1x", rival, measured, lambda ratio: ratio > 1)
    cell = find(cells, entries=FLOOR_ENTRIES, threads=1, traffic="hits", chain="dependent", key="interned")
    if cell is not None:
        floor = ("floor", "pointer")
        measured = paired.ratio(cell["trials"].get(GUARD, []), cell["trials"].get(floor, []))
        add(f"guard against the floor's dependent loads, {FLOOR_ENTRIES} entries", "<= 1.6x", floor, measured,
            lambda ratio: ratio <= 1.6)
    return bars


COLUMNS = [("1 thr", 1, "overlapped", "hits"), ("2 thr", 2, "overlapped", "hits"),
           ("1 thr dependent", 1, "dependent", "hits"),
           ("1 thr inserts", 1, "overlapped", "inserts"), ("2 thr inserts", 2, "overlapped", "inserts")]


def table(cells, memory, entries, key):
    """Rows of one Markdown table: ns per hit and thread, and in brackets the ratio to larder's guard form."""
    mine = [cell for cell in cells if cell["entries"] == entries and cell["key"] == key]
    columns = [(title, find(mine, threads=threads, chain=chain, traffic=traffic))
               for title, threads, chain, traffic in COLUMNS]
    columns = [(title, cell) for title, cell in columns if cell]
    if not columns:
        return []
    yardstick = next((id for id in columns[0][1]["trials"] if id[:2] == GUARD), None)
    rows = [["design", "held by"] + (["key"] if key == "fresh" else []) + [title for title, _ in columns] + ["bytes/entry", "bytes/key"]]
    for id in sorted(columns[0][1]["trials"], key=lambda id: ns_of(columns[0][1], id) or float("inf")):
        row = list(id)
        for _, cell in columns:
            if id not in cell["trials"]:
                row.append("")
                continue
            ns = ns_of(cell, id)
            ratio = paired.ratio(cell["trials"][id], cell["trials"].get(yardstick, []))
            row.append("busy" if ns is None else f"{ns:.3g}" + (f" ({ratio['median']:.2f}x)" if ratio else ""))
        seen = memory.get((entries, id), {})
        for part in ("entry", "key"):
            grown = seen.get(f"resident_bytes_per_{part}", 0)
            row.append(f"{grown:.0f}" if grown > 0 else "-")  # a collector that shrank the heap tells nothing
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines


def report(cells, memory, bars, left_out, facts, rounds, sizes):
    lines = [f"machine: {machine.line(facts)}",
             f"ns per hit and thread: medians of {rounds} rounds; in brackets the median of the paired ratios to larder's guard form"]
    for entries in sizes:
        for key, words in (("interned", "by interned recipe"), ("fresh", "by fresh recipe")):
            rows = table(cells, memory, entries, key)
            if rows:
                lines += ["", f"{entries} entries, {words}", ""] + rows
    for decides, heading in ((True, "bars"), (False, "beside them, against peers whose hits give less")):
        lines += ["", heading, ""]
        for bar in bars:
            if bar["decides"] != decides:
                continue
            ratio = bar["ratio"]
            seen = f"{ratio['median']:.2f}x [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio else "-"
            lines.append(f"{bar['verdict']:>12}  {bar['title']}: {seen}, bar {bar['bar']}"
                         + (f" ({bar['against']})" if bar["against"] else ""))
    for name, reason in left_out:
        lines.append(f"    left out  {name}: {reason}")
    return "\n".join(lines) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=machine.ROOT / "build/bench", help="build tree of the preset `bench`")
    parser.add_argument("--results", type=Path, help="write memory.txt, memory.json and memory.svg into this folder")
    parser.add_argument("--json", type=Path, help="write the whole result as JSON to this file")
    parser.add_argument("--rounds", type=int, default=9, help="counted turns of every design (default 9)")
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--only", help="only designs whose name contains this, and larder and the floor")
    parser.add_argument("--keys", choices=["interned", "fresh", "both"], default="both", help="what is asked with")
    parser.add_argument("--huge-pages", action="store_true", help="let malloc ask for huge pages, in every design alike")
    parser.add_argument("--realtime", action="store_true",
                        help="keep other work from the processors during a trial (needs root; for a busy machine)")
    parser.add_argument("--quick", action="store_true", help="a smoke of a few seconds: its figures mean nothing")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.entries = 1, [10_000]
    arguments.programs = arguments.build / "bench"
    arguments.scratch = arguments.build / "bench/memory/streams"
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    arguments = parse()
    started = time.time()

    def progress(text):
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    facts = machine.facts()
    designs = designs_in(arguments.programs)
    if arguments.only:
        designs = [design for design in designs if arguments.only in design.name or design.role in ("larder", "floor")]
    roles = {design.id: design.role for design in designs}
    interned = [design for design in designs if design.key in ("interned", "index")]
    fresh = [design for design in designs if design not in interned]
    if arguments.quick:
        fresh = [design for design in fresh if design.hold in ("inline", "guard")]

    cells, memory = [], {}
    for entries in arguments.entries:
        sizes = Sizes(entries, arguments.quick)
        for group, kind in ((interned, "interned"), (fresh, "fresh")):
            if not group or arguments.keys not in (kind, "both"):
                continue
            cells += measure(group, sizes, arguments.rounds, kind == "fresh", arguments, progress)
            memory.update({(entries, design.id): design.memory for design in group})
        # Canonical bytes of many entries fill memory quickly: only the best go on.
        if fresh and arguments.keys != "interned":
            speed = lambda design: ns_of(find(cells, key="fresh", entries=entries, threads=1), design.id) or float("inf")
            best = sorted((design for design in fresh if design.role == "peer"), key=speed)[:FRESH_AT_1M]
            fresh = best + [design for design in fresh if design.role != "peer"]
    progress("")

    left_out = [line.split("\t") for line in machine.read(arguments.programs / "left_out.txt").splitlines()]
    bars = judge_bars(cells, roles)
    text = report(cells, memory, bars, left_out, facts, arguments.rounds, arguments.entries)
    print(text, end="")
    result = {
        "schema": 1, "benchmark": "memory", "command": " ".join(sys.argv), "machine": facts,
        "seconds": round(time.time() - started), "rounds": arguments.rounds, "huge_pages": arguments.huge_pages,
        "realtime": arguments.realtime,
        "cells": [dict({name: cell[name] for name in ("entries", "key", "threads", "chain", "traffic")},
                       designs=[{"design": id[0], "held_by": id[1], "key": id[2] if len(id) > 2 else cell["key"],
                                 "role": roles[id], "ns": ns_of(cell, id), "trials_ns": trials,
                                 "memory": memory[(cell["entries"], id)],
                                 "ratio_to_guard": paired.ratio(trials, cell["trials"].get(GUARD, []))}
                                for id, trials in cell["trials"].items()]) for cell in cells],
        "bars": bars, "left_out": left_out,
    }
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "memory.txt").write_text(text)
        (arguments.results / "memory.svg").write_text(chart.draw(result))
    for path in filter(None, (arguments.json, arguments.results and arguments.results / "memory.json")):
        path.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if any(bar["verdict"] == "NOT MET" and bar["decides"] for bar in bars) and not arguments.quick else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError, subprocess.CalledProcessError) as failure:
        print(f"run.py: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
