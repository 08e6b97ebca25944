#!/usr/bin/env python3
"""Measures the store beside raw files, LMDB, SQLite and seed 001's layout, taking turns, and holds it to its bars.

  run.py [--build TREE] [--results FOLDER] [--dir FOLDER] [--quick] [--realtime] [--json]

DIR must lie on the file system that counts (a disk, not memory); without it the build tree is taken. Ratios are
medians over pairs of neighbouring runs: larder's time divided by a raw file's. Exits 0 when every bar is met, 1 when
one is missed, 2 when it could not run.
"""
import argparse
import io
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

median = statistics.median
SIZES = (100, 1000, 20_000, 300_000, 10_000_000)


class Bench:
    def __init__(self, arguments):
        self.quick = arguments.quick
        self.program = {}
        self.bin = arguments.build / "bench"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-bench-", dir=(arguments.dir or arguments.build).resolve()))
        for path in sorted(self.bin.glob("larder_store_bench*")):
            for peer in subprocess.run([path, "peers"], capture_output=True, text=True, check=True).stdout.split():
                self.program[peer] = path

    def call(self, what, peer, place, *numbers):
        command = [self.program[peer], what, peer, str(self.folder / place), *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.returncode} {done.stderr}")
        return json.loads(done.stdout) if done.stdout else None

    def rounds(self, size, many):
        few = 10 if size > 1_000_000 else many
        return max(5, few // 4) if self.quick else few

    def place(self, peer, size):
        # Both ways to read share one store.
        return f"{peer.removesuffix('_mapped')}-{size}"

    def fill(self):
        for size in SIZES:
            self.count = {s: 6 if s > 1_000_000 else 200 for s in SIZES}
            for peer in self.program:
                if not peer.endswith("_mapped"):
                    self.call("fill", peer, self.place(peer, size), size, self.count[size])

    def fresh(self, size, gets, many):
        """{peer: (median us, median ratio to raw of the same round)}"""
        times = {peer: [] for peer in self.program}
        for turn in range(self.rounds(size, many)):
            for peer in times:
                answer = self.call("fresh", peer, self.place(peer, size), size, self.count[size],
                                   turn * 13 % self.count[size], gets)
                times[peer].append(answer["us"])
        return {p: (median(t), median(a / b for a, b in zip(t, times["raw"]))) for p, t in times.items()}

    def hot(self, size):
        """{peer: {measure: (median us, median ratio to raw)}}"""
        answers = {peer: [] for peer in self.program}
        rounds = 20 if size > 100_000 else 100 if self.quick else 400  # so that the disk is not what is measured
        for turn in range(3 if self.quick else 9):
            for peer in answers:
                answers[peer].append(self.call("hot", peer, self.place(peer, size), size, self.count[size], rounds))
        return {p: {k: (median(x[k] for x in a), median(x[k] / y[k] for x, y in zip(a, answers["raw"]))) for k in a[0]}
                for p, a in answers.items()}

    def start(self, realtime):
        times = {"bare": [], "linked": []}
        usual = os.sched_getscheduler(0), os.sched_getparam(0)
        if realtime:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        for _ in range(50 if self.quick else 300):
            for name, list_ in times.items():
                program = str(self.bin / f"larder_start_{name}")
                begin = time.perf_counter()
                os.waitpid(os.posix_spawn(program, [program], os.environ), 0)
                list_.append(time.perf_counter() - begin)
        os.sched_setscheduler(0, *usual)
        return 1e3 * median(b - a for a, b in zip(times["bare"], times["linked"]))


class Verdicts:
    def __init__(self):
        self.rows = []

    def add(self, what, value, limit, unit="", at_least=False):
        good = value >= limit if at_least else value <= limit
        self.rows.append({"what": what, "value": round(value, 3), "limit": limit, "unit": unit, "met": good,
                          "at_least": at_least})

    def show(self, out):
        print(f"\n{'bar':52} {'measured':>10} {'limit':>10}", file=out)
        for row in self.rows:
            sign = ">=" if row["at_least"] else "<="
            print(f"{row['what']:52} {row['value']:>10.6g} {sign + ' ' + format(row['limit'], 'g'):>10} {row['unit']:3}"
                  f" {'met' if row['met'] else 'MISSED'}", file=out)


def table(out, title, columns, rows):
    print(f"\n{title}", file=out)
    print(f"{'':18}" + "".join(f"{c:>18}" for c in columns), file=out)
    for name, cells in rows:
        print(f"{name:18}" + "".join(f"{c:>18}" for c in cells), file=out)


def show(out, bench, results, bars):
    def cells(of):
        return [f"{us:.1f} ({ratio:.2f})" for us, ratio in of]
    table(out, "fresh process, open + one get: us (of raw)", map(str, SIZES),
          [(p, cells(results["fresh"][s][p] for s in SIZES)) for p in bench.program])
    table(out, "fresh process, open + 100 gets: us (of raw)", ("100", "20000"),
          [(p, cells(results["hundred"][s][p] for s in (100, 20_000))) for p in bench.program])
    for size in results["hot"]:
        kinds = ("get", "miss", "known_miss", "put", "put_existing")
        table(out, f"one process, {size} B: us (of raw)", kinds,
              [(p, cells(results["hot"][size][p][k] for k in kinds)) for p in bench.program])
    table(out, "64 processes want one product", ("ms over making", "made", "failed"),
          [(p, [f"{x:g}" for x in results["storm"][p].values()]) for p in bench.program])
    table(out, "8 processes, 500 x 20 kB, 30 % puts", ("gets/s", "puts/s", "failed"),
          [(p, [f"{x:g}" for x in results["hammer"][p].values()]) for p in bench.program])
    print(f"\neviction: {results['evict']}", file=out)
    bars.show(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=machine.ROOT / "build/bench",
                        help="build tree of the preset `bench`")
    parser.add_argument("--results", type=pathlib.Path, help="write store.txt and store.json into this folder")
    parser.add_argument("--dir", type=pathlib.Path, help="a folder on the disk to measure on")
    parser.add_argument("--realtime", action="store_true", help="on a machine that is not idle: the steps of eviction and "
                        "the starts of processes go before all other work (takes root)")
    parser.add_argument("--quick", action="store_true", help="a smoke of some seconds: its figures mean nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    if not (arguments.build / "bench/larder_store_bench").exists():
        print(f"run.py: {arguments.build}/bench/larder_store_bench is not there; build the preset `bench` first", file=sys.stderr)
        return 2
    bench = Bench(arguments)
    try:
        return measure_all(arguments, bench)
    except (RuntimeError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    finally:
        # Last: to remove that many files can take longer than to measure.
        shutil.rmtree(bench.folder, ignore_errors=True)


def measure_all(arguments, bench):
    bars, results = Verdicts(), {}
    for what, measure in (
            ("fill", bench.fill),
            ("fresh", lambda: {size: bench.fresh(size, 1, 60) for size in SIZES}),
            ("hundred", lambda: {size: bench.fresh(size, 100, 20) for size in (100, 20_000)}),
            ("hot", lambda: {size: bench.hot(size) for size in (1000, 20_000, 300_000)}),
            ("storm", lambda: {p: bench.call("storm", p, f"storm-{p}", 64) for p in bench.program}),
            ("hammer", lambda: {p: bench.call("hammer", p, f"hammer-{p}", 8) for p in bench.program}),
            ("start_ms", lambda: bench.start(arguments.realtime)),
            ("evict", lambda: bench.call("evict", "larder", "evict", 100_000, int(arguments.realtime)))):
        begun = time.perf_counter()
        results[what] = measure()
        print(f"{what}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)

    for size in (100, 1000, 20_000):
        bars.add(f"fresh process, open + get, {size} B, of raw", results["fresh"][size]["larder"][1], 1.25)
    bars.add("fresh process, mapped, 300 kB, of raw", results["fresh"][300_000]["larder_mapped"][1], 0.6)
    bars.add("fresh process, mapped, 10 MB, of raw", results["fresh"][10_000_000]["larder_mapped"][1], 0.35)
    bars.add("fresh process, copied, 300 kB, of raw", results["fresh"][300_000]["larder"][1], 1.1)
    bars.add("fresh process, copied, 10 MB, of raw", results["fresh"][10_000_000]["larder"][1], 1.1)
    bars.add("100 gets in a fresh process, 20 kB, of raw", results["hundred"][20_000]["larder"][1], 1.2)
    hot = results["hot"][20_000]["larder"]
    bars.add("hot get, 20 kB, of raw", hot["get"][1], 1.15)
    bars.add("miss, asked for before", hot["known_miss"][0], 3, "us")
    bars.add("miss, for the first time, of raw", hot["miss"][1], 1)
    bars.add("put of a new one, 20 kB, of raw", hot["put"][1], 1.3)
    bars.add("put of what is there, less making its checksum", results["hot"][1000]["larder"]["put_existing"][0], 1, "us")
    bars.add("added to the start of a process", results["start_ms"], 0.1, "ms")
    storm = results["storm"]["larder"]
    bars.add("64 processes at once: makes", storm["made"], 1)
    bars.add("64 processes at once: failures", storm["failed"], 0)
    bars.add("64 processes at once: over the making", storm["ms_over_making"], 20, "ms")
    bars.add("8 processes: gets a second", results["hammer"]["larder"]["gets_per_s"], 150_000, "/s", True)
    bars.add("8 processes: failures", results["hammer"]["larder"]["failed"], 0)
    bars.add("longest step of eviction", results["evict"]["longest_us"] / 1e3, 2, "ms")
    bars.add("memory that eviction takes", results["evict"]["rss_growth_kb"] / 1024, 1, "MB")

    report = {"schema": 1, "machine": machine.facts(), "results": results, "bars": bars.rows}
    out = io.StringIO()
    print(machine.line(report["machine"]), file=out)
    show(out, bench, results, bars)
    print(json.dumps(report) if arguments.json else out.getvalue())
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "store.txt").write_text(out.getvalue())
        (arguments.results / "store.json").write_text(json.dumps(report))
    return 0 if arguments.quick or all(row["met"] for row in bars.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
