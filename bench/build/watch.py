#!/usr/bin/env python3
"""Measures a running `larder watch` on generated manifests, and holds it to its bars.

  watch.py --build build/bench --results FOLDER [--quick] [--dir FOLDER] [--nodes N] [--larder FILE]

N independent steps that copy a file of some bytes, behind one alias. A no-op is a touch of one input: from the system
call to the end of the build as watch measures it for `-d explain`, and to the line that it tells (which holds what the
reader costs, too). A change is a write of one input: to the line that announces the product; before it the product is
there. A step before 10 000 consumers comes out the same. A client is a `larder build` that finds nothing to do through
the watch, and one that comes right behind a change of one input: from its start to its end as a process, beside
`larder version`, which only starts and ends. A product is there when its file holds the new text, read again and again. A
restart is a watch of what was built and watched before: from its start to the line that says that it watches, by which
everything was looked at. Bars: no-op <= 3 ms, leaf change <= 4 ms, both by the line; a client's no-op and edit to product
<= 3 ms, restart <= 150 ms.
Exits 0 when every bar holds, 1 when one does not. With --quick, 500 nodes and no bars.
"""
import argparse
import os
import pathlib
import re
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
from run import COPY  # noqa: E402

NO_OP_MAX_MS = 3
LEAF_MAX_MS = 4
PRODUCT_MAX_MS = 3
RESTART_MAX_MS = 150


class Watch:
    def __init__(self, larder, folder):
        begin = time.perf_counter()
        self.process = subprocess.Popen([larder, "watch", "-d", "explain", "--quiet"], cwd=folder, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1)
        self.until("larder: watching ")
        self.ready_ms = (time.perf_counter() - begin) * 1000
        self.settle(folder)

    def until(self, part):
        """The first line that holds `part`."""
        for line in self.process.stdout:
            if part in line:
                return line
        raise RuntimeError("watch has ended")

    def settle(self, folder):
        """Commands' own outputs are looked at once more; then it is quiet."""
        (folder / "src/sentinel").write_text(str(time.time()))
        self.until("larder: changed out/sentinel")

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(watch, act, line, times):
    """Milliseconds to the line, and microseconds as watch says them."""
    seen, own = [], []
    for i in range(times):
        time.sleep(0.12)  # a person's pace: what the last build left has been looked at
        begin = time.perf_counter()
        act(i)
        text = watch.until(line)
        seen.append((time.perf_counter() - begin) * 1000)
        if "larder explain" not in text:
            text = watch.until(" us")
        own.append(int(re.search(r"(\d+) us", text).group(1)) / 1000)
    return seen, own


def run_once(command, folder):
    """Milliseconds from its start to its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    status = os.waitpid(pid, 0)[1]
    took = (time.perf_counter() - begin) * 1000
    os.close(null)
    if status != 0:
        raise RuntimeError(f"{command} in {folder} ends with {status}")
    return took


def measure_clients(larder, folder, change, times):
    """Medians of a client that finds nothing to do, one behind a change, and a command that only starts and ends."""
    client = [larder, "build", "-C", str(folder), "--quiet"]
    said = subprocess.run([*client, "-d", "explain"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True).stdout
    if "was asked" not in said:
        raise RuntimeError(f"the watch was not asked: {said}")
    no_op, leaf, start = [], [], []
    for i in range(times):
        time.sleep(0.12)
        no_op.append(run_once(client, folder))
        time.sleep(0.12)
        change(i)
        leaf.append(run_once(client, folder))
        time.sleep(0.12)
        start.append(run_once([larder, "version"], folder))
    return statistics.median(no_op), statistics.median(leaf), statistics.median(start), min(no_op)


def measure_products(source, product, times):
    """Milliseconds from a write to its product, on disk; the reader lets the builder run first."""
    seen = []
    for i in range(times):
        time.sleep(0.12)
        text = f"product {i}\n"
        begin = time.perf_counter()
        source.write_text(text)
        while product.read_text() != text:
            if time.perf_counter() - begin > 60:
                raise RuntimeError(f"{product} is not made")
            time.sleep(0.00005)
        seen.append((time.perf_counter() - begin) * 1000)
    return statistics.median(seen)


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--results")
    parser.add_argument("--dir")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--larder")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    nodes = arguments.nodes or (500 if arguments.quick else 100_000)
    consumers = min(nodes, 10_000)
    times = 5 if arguments.quick else 31
    larder = str(pathlib.Path(arguments.larder or f"{arguments.build}/tool/larder").resolve())
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-watch-bench-", dir=arguments.dir))
    rows, missed = [], []
    try:
        (top / "copy.c").write_text(COPY)
        subprocess.run(["cc", "-O2", "-static", "-o", top / "copy", top / "copy.c"], check=True)
        (top / "src").mkdir()
        lines = [f"rule copy\n  command = {top}/copy $in $out\n  description = COPY $out\n",
                 "rule strip\n  command = grep -v '^#' $in >$out\n",
                 "build out/sentinel: copy src/sentinel\n", "build mid: strip src/mid\n"]
        (top / "src/sentinel").write_text("0")
        (top / "src/mid").write_text("0\n")
        for i in range(nodes):
            (top / "src" / str(i)).write_text(f"{i}\n")
            lines.append(f"build out/{i // 100}/{i}: copy src/{i}{' | mid' if i < consumers else ''}\n")
        (top / "build.ninja").write_text("".join(lines))
        subprocess.run([larder, "build", "--quiet"], cwd=top, check=True)
        begin = time.perf_counter()
        watch = Watch(larder, top)
        row = {"nodes": nodes, "start_s": time.perf_counter() - begin}
        leaf = top / "src" / str(nodes - 1)
        seen, own = measure(watch, lambda i: os.utime(leaf), ": nothing to do", times)
        row["no_op_ms"], row["no_op_own_ms"] = statistics.median(seen), statistics.median(own)
        seen, own = measure(watch, lambda i: leaf.write_text(f"new {i}\n"), f"larder: changed out/{(nodes - 1) // 100}/", times)
        row["leaf_ms"], row["leaf_own_ms"] = statistics.median(seen), statistics.median(own)
        seen, own = measure(watch, lambda i: (top / "src/mid").write_text(f"0\n# {i}\n"), " us", times)
        row["cut_off_ms"], row["cut_off_own_ms"] = statistics.median(seen), statistics.median(own)
        clients = measure_clients(larder, top, lambda i: leaf.write_text(f"asked {i}\n"), times)
        row["client_no_op_ms"], row["client_leaf_ms"], row["only_start_ms"], row["client_no_op_least_ms"] = clients
        row["product_ms"] = measure_products(leaf, top / f"out/{(nodes - 1) // 100}/{nodes - 1}", times)
        row["resident_kib"] = resident_kib(watch.process.pid)
        watch.end()
        restarts = []
        for _ in range(3 if arguments.quick else 7):
            watch = Watch(larder, top)
            restarts.append(watch.ready_ms)
            watch.end()
        row["restart_ms"] = statistics.median(restarts)
        rows.append(row)
        print(f"{nodes} nodes: ready after {row['start_s']:.2f} s, {row['resident_kib']} KiB; no-op "
              f"{row['no_op_ms']:.2f} ms ({row['no_op_own_ms']:.2f} of watch's own); leaf change {row['leaf_ms']:.2f} "
              f"({row['leaf_own_ms']:.2f}); cut-off before {consumers} consumers {row['cut_off_ms']:.2f} "
              f"({row['cut_off_own_ms']:.2f}); a client's no-op {row['client_no_op_ms']:.2f} (least "
              f"{row['client_no_op_least_ms']:.2f}), behind a change {row['client_leaf_ms']:.2f}, a process that only "
              f"starts {row['only_start_ms']:.2f}; edit to product {row['product_ms']:.2f}; restart "
              f"{row['restart_ms']:.0f}", flush=True)
        bars = {"no_op_ms": NO_OP_MAX_MS, "leaf_ms": LEAF_MAX_MS, "client_no_op_ms": NO_OP_MAX_MS,
                "product_ms": PRODUCT_MAX_MS, "restart_ms": RESTART_MAX_MS}
        for name, most in bars.items():
            if not arguments.quick and row[name] > most:
                missed.append(f"{name} {row[name]:.2f}, not {most}")
    finally:
        shutil.rmtree(top, ignore_errors=True)
    machine.keep(arguments.results, "watch.json", rows)
    for miss in missed:
        print(f"bar missed: {miss}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
