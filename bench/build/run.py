#!/usr/bin/env python3
"""Measures `larder build` beside ninja on generated manifests of small commands, in one run, and holds it to its bars.

  run.py --build build/bench --results FOLDER [--quick] [--dir FOLDER] [--nodes N] [--larder FILE]

Shapes: wide (N independent steps), chain (N in a row, a tenth of N), lattice (layers of 100, each step takes three of
the layer before). Each is built cold once and then without anything to do several times by either, in turns; the
command copies a file of some bytes. Figures are ratios of medians of wall time without anything to do, and processor
time of cold builds by node. `look` is a build with nothing to do that has no seal (src/build/seal.hpp). Bars: nothing to
do at most 0.35 of ninja's, a cold build at most 0.90 ms of processor by node, 1.25 traced, and from 100 000 nodes on at most 0.4 KB
of memory by node at its peak, cold and looking; the kernel counts no peak below that of this script. Nothing is removed
before the end, and where many files were removed within the last minutes --dir should name another file system: ext4 passes
the inodes of those over one by one, which doubles what it takes to make a file. Exits 0 when every bar holds, 1 when one
does not, 2 when something could not run. With --quick, 500 nodes and no bars.
"""
import argparse
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

NO_OP_MAX = 0.35
COLD_CPU_MAX_MS = 0.90
TRACED_CPU_MAX_MS = 1.25
BYTES_MAX = 400  # by node
MANY_NODES = 100_000
COPY = r"""
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char bytes[4096];
  if (argc < 3) return 2;
  int out = open(argv[argc - 1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (out < 0) return 1;
  for (int i = 1; i < argc - 1; ++i) {
    int in = open(argv[i], O_RDONLY);
    if (in < 0) return 1;
    long got = read(in, bytes, sizeof bytes);
    if (got < 0 || write(out, bytes, got) != got) return 1;
    close(in);
  }
  return close(out);
}
"""


def run(words, folder):
    """Seconds, seconds of processor with children, exit code, of one process; what it writes is thrown away."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, process.returncode, usage.ru_maxrss


def write(shape, nodes, folder, copy):
    lines = [f"rule copy\n  command = {copy} $in $out\n  description = COPY $out\n"]
    (folder / "src").mkdir(parents=True)
    if shape == "wide":
        for i in range(nodes):
            (folder / "src" / str(i)).write_text(f"{i}\n")
            lines.append(f"build out/{i // 100}/{i}: copy src/{i}\n")
    elif shape == "chain":
        (folder / "src/0").write_text("first\n")
        for i in range(nodes // 10):
            lines.append(f"build out/{i + 1}: copy {'src/0' if i == 0 else f'out/{i}'}\n")
    else:
        for i in range(100):
            (folder / "src" / str(i)).write_text(f"{i}\n")
        for layer in range(nodes // 100):
            before = "src" if layer == 0 else f"out/{layer - 1}"
            for i in range(100):
                taken = " ".join(f"{before}/{(i + j) % 100}" for j in (0,))
                implicit = " ".join(f"{before}/{(i + j) % 100}" for j in (1, 2))
                lines.append(f"build out/{layer}/{i}: copy {taken} | {implicit}\n")
    (folder / "build.ninja").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--results")
    parser.add_argument("--dir")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--larder")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    nodes = arguments.nodes or (500 if arguments.quick else 10_000)
    larder = str(pathlib.Path(arguments.larder or f"{arguments.build}/tool/larder").resolve())
    if shutil.which("ninja") is None:
        print("ninja is not installed", file=sys.stderr)
        return 2
    tools = {"ninja": ["ninja"], "larder": [larder, "build", "--no-trace"]}
    # The same traced, and traced with everything kept for others.
    traced = {"traced": [larder, "build", "--no-restore", "--trace"], "kept": [larder, "build"]}
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-build-bench-", dir=arguments.dir))
    rows, missed = [], []
    try:
        (top / "copy.c").write_text(COPY)
        subprocess.run(["cc", "-O2", "-static", "-o", top / "copy", top / "copy.c"], check=True)
        for shape in ("wide", "chain", "lattice"):
            row = {"shape": shape, "nodes": nodes // 10 if shape == "chain" else nodes}
            times = {name: [] for name in tools}
            for name, words in tools.items():
                write(shape, nodes, top / shape / name, top / "copy")
                seconds, processor, code, cold_peak = run(words, top / shape / name)
                if code != 0:
                    print(f"{name} on {shape}: exit {code}", file=sys.stderr)
                    return 2
                row[f"{name}_cold_s"] = seconds
                row[f"{name}_cold_cpu_ms_per_node"] = processor * 1000 / row["nodes"]
                row[f"{name}_cold_peak_kib"] = cold_peak
            for name, words in traced.items():
                os.environ["LARDER_DIR"] = str(top / shape / f"store-{name}")
                write(shape, nodes, top / shape / name, top / "copy")
                _, processor, code, _ = run(words, top / shape / name)
                if code != 0:
                    return 2
                row[f"larder_{name}_cpu_ms_per_node"] = processor * 1000 / row["nodes"]
            for _ in range(3 if arguments.quick else 9):
                for name, words in tools.items():
                    seconds, _, code, peak = run(words, top / shape / name)
                    if code != 0:
                        return 2
                    times[name].append(seconds)
                    row[f"{name}_peak_kib"] = peak
            looks = []
            for _ in range(3 if arguments.quick else 9):
                (top / shape / "larder/.larder/build.ninja.seal").unlink(missing_ok=True)
                seconds, _, code, peak = run(tools["larder"], top / shape / "larder")
                if code != 0:
                    return 2
                looks.append(seconds)
                row["larder_look_peak_kib"] = peak
            row["larder_look_ms"] = statistics.median(looks) * 1000
            for name in tools:
                row[f"{name}_no_op_ms"] = statistics.median(times[name]) * 1000
            row["no_op_ratio"] = row["larder_no_op_ms"] / row["ninja_no_op_ms"]
            rows.append(row)
            print(f"{shape}, {row['nodes']} nodes: nothing to do {row['larder_no_op_ms']:.1f} ms against ninja's "
                  f"{row['ninja_no_op_ms']:.1f} ({row['no_op_ratio']:.2f}), without a seal "
                  f"{row['larder_look_ms']:.1f}; cold {row['larder_cold_cpu_ms_per_node']:.2f} "
                  f"against {row['ninja_cold_cpu_ms_per_node']:.2f} ms of processor by node, "
                  f"traced {row['larder_traced_cpu_ms_per_node']:.2f}, kept {row['larder_kept_cpu_ms_per_node']:.2f}; peak "
                  f"{row['larder_cold_peak_kib']} cold, {row['larder_look_peak_kib']} looking, "
                  f"{row['larder_peak_kib']} against {row['ninja_peak_kib']} KiB", flush=True)
            if not arguments.quick and shape != "chain" and row["no_op_ratio"] > NO_OP_MAX:
                missed.append(f"{shape}: {row['no_op_ratio']:.2f} of ninja's, not {NO_OP_MAX}")
            if not arguments.quick and row["larder_cold_cpu_ms_per_node"] > COLD_CPU_MAX_MS:
                missed.append(f"{shape}: {row['larder_cold_cpu_ms_per_node']:.2f} ms of processor by node cold, not "
                              f"{COLD_CPU_MAX_MS}")
            if not arguments.quick and row["larder_traced_cpu_ms_per_node"] > TRACED_CPU_MAX_MS:
                missed.append(f"{shape}: {row['larder_traced_cpu_ms_per_node']:.2f} ms of processor by node traced, "
                              f"not {TRACED_CPU_MAX_MS}")
            bytes_per_node = max(row["larder_cold_peak_kib"], row["larder_look_peak_kib"]) * 1024 / row["nodes"]
            if row["nodes"] >= MANY_NODES and bytes_per_node > BYTES_MAX:
                missed.append(f"{shape}: {bytes_per_node:.0f} bytes by node, not {BYTES_MAX}")
    finally:
        shutil.rmtree(top, ignore_errors=True)
    machine.keep(arguments.results, "build.json", rows)
    for miss in missed:
        print(f"bar missed: {miss}")
    restore = [sys.executable, str(pathlib.Path(__file__).with_name("restore.py")), "--larder", larder]
    restore += ["--results", arguments.results] if arguments.results else []
    restore += ["--quick"] if arguments.quick else []
    if subprocess.run(restore, check=False).returncode != 0:
        return 2
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
