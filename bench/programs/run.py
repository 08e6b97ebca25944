#!/usr/bin/env python3
"""What GPU programs that nobody here wrote pay for their kernels at a start, in arms that take turns:

  cold        nothing is known, without larder
  cold+       nothing is known, under `larder run`
  driver      the driver's own cache is warm, without larder
  larder      what larder keeps is warm, the driver's own cache is not used
  entries     as larder, but from its entries alone: the directory that it keeps for the driver is gone
  both        both are warm

Processor time of the program and all that it starts; medians over rounds of paired ratios. Exit status: 0 every bar met,
1 one missed, 2 it could not run."""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import machine  # noqa: E402
import paired  # noqa: E402
from programs import chart  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARMS = ("cold", "cold+", "driver", "larder", "entries", "both")
BLUR = "format=yuv420p,hwupload,unsharp_opencl,avgblur_opencl,hwdownload,format=yuv420p"
CLIENTS = {
    "CLBlast, a test of XaxpyBatched": ("pocl", ["clblast_test_xaxpybatched"]),
    "FFmpeg, two filters": ("pocl", ["ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "opencl=one:0.0",
                                     "-filter_hw_device", "one", "-f", "lavfi", "-i",
                                     "testsrc2=size=320x240:rate=5:duration=1", "-vf", BLUR, "-f", "md5", "-"]),
    "clpeak, latency": ("pocl", ["clpeak", "-p", "0", "--kernel-latency"]),
    "glmark2, four scenes": ("mesa", ["xvfb-run", "-a", "-s", "-screen 0 640x480x24", "glmark2", "--off-screen",
                                      "--validate", "-s", "200x200", "-b", "shading:shading=phong", "-b", "texture",
                                      "-b", "bump:bump-render=normals", "-b", "ideas"]),
    "moderngl, one program": ("mesa", ["/usr/bin/python3", str(ROOT / "tests/e2e/stripes.py")]),
}
# The most that the first arm may take of the second.
BARS = {("larder", "driver"): 1.05, ("cold+", "cold"): 1.03}


class Client:
    """One program with a home of its own, and its state in each arm."""

    def __init__(self, name, driver, command, larder, folder):
        self.name, self.driver, self.command, self.larder, self.folder = name, driver, command, larder, folder
        self.folder.mkdir()
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("LARDER", "MESA", "POCL", "XDG_"))}
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.environment |= {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(runtime), "LIBGL_ALWAYS_SOFTWARE": "1"}
        icd = self.folder / "icd"
        icd.mkdir()
        for vendor in pathlib.Path("/etc/OpenCL/vendors").glob("pocl*.icd"):
            shutil.copy(vendor, icd)
        self.environment["OCL_ICD_VENDORS"] = str(icd)

    def missing(self):
        programs = [self.command[0]] + [word for word in self.command if word == "glmark2"]
        if any(shutil.which(program) is None for program in programs):
            return "not installed"
        if self.driver == "pocl" and not list((self.folder / "icd").iterdir()):
            return "no PoCL"
        probe = subprocess.run(self.command, env=self.environment, cwd=self.folder, capture_output=True,
                               stdin=subprocess.DEVNULL)
        return None if probe.returncode == 0 else f"it fails by itself: {probe.stderr.decode()[-200:]}"

    def caches(self, place):
        """Where the driver keeps its own."""
        return {"POCL_CACHE_DIR": str(place), "MESA_SHADER_CACHE_DIR": str(place)}

    def seconds(self, arm, once):
        """Of processor time; `once` names a place that no other trial uses."""
        own, store = self.folder / "own", self.folder / "store"
        environment, command = dict(self.environment), list(self.command)
        if arm in ("cold", "cold+"):
            own, store = self.folder / f"own-{once}", self.folder / f"store-{once}"
        if arm in ("cold", "driver"):
            own.mkdir(exist_ok=True)
            environment |= self.caches(own)
        else:
            if arm == "both":
                environment |= {"XDG_CACHE_HOME": str(self.folder / "own-at-home")}
            if arm == "entries":
                shutil.rmtree(store / "adopted", ignore_errors=True)
            environment["LARDER_DIR"] = str(store)
            command = [str(self.larder), "run", "--", *command]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # What was made is left where it is until all have been measured: ext4 is slow to find room for a file where many
        # have just been removed.
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}, {arm}: ended with {done.returncode}: {done.stderr.decode()[-300:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def warm(self):
        """Two starts each: what a driver still wrote when the first ended is there at the third."""
        subprocess.run(self.command, env=self.environment | {"XDG_CACHE_HOME": str(self.folder / "own-at-home")},
                       cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True)
        for arm in ("driver", "larder"):
            for turn in range(2):
                self.seconds(arm, f"warm-{turn}")

    def measure(self, rounds, progress):
        self.warm()
        times = {arm: [] for arm in ARMS}
        for turn in range(rounds):
            for shift in range(len(ARMS)):
                arm = ARMS[(turn + shift) % len(ARMS)]
                progress(f"{self.name}: round {turn + 1} of {rounds}, {arm}")
                times[arm].append(self.seconds(arm, turn))
        return times


def judge(name, times):
    rows = []
    for (ours, theirs), limit in BARS.items():
        ratio = paired.ratio(times[ours], times[theirs])
        rows.append({"client": name, "bar": f"{ours} of {theirs}", "limit": limit, "ratio": ratio,
                     "met": ratio["median"] <= limit})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="the tree that holds tool/larder")
    parser.add_argument("--results", type=pathlib.Path, help="a folder for programs.json and programs.svg")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--client", action="append", help="only clients whose names contain this")
    parser.add_argument("--quick", action="store_true", help="a smoke: two rounds, no verdict")
    arguments = parser.parse_args()
    larder = (arguments.build / "tool/larder").resolve()
    if not os.access(larder, os.X_OK):
        print(f"programs: there is no {larder}: build it first", file=sys.stderr)
        return 2
    rounds = 2 if arguments.quick else arguments.rounds
    is_terminal = sys.stderr.isatty()

    def progress(words):
        if is_terminal:
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)

    begin = time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-bench-"))
    results, bars = {}, []
    try:
        for number, (name, (driver, command)) in enumerate(CLIENTS.items()):
            if arguments.client and not any(part.lower() in name.lower() for part in arguments.client):
                continue
            client = Client(name, driver, command, larder, folder / str(number))
            if why := client.missing():
                print(f"{name}: left out: {why}")
                continue
            results[name] = client.measure(rounds, progress)
            bars += judge(name, results[name])
    except (OSError, RuntimeError) as error:
        print(f"programs: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    progress("")
    print(f"{'seconds of processor time':34}" + "".join(f"{arm:>9}" for arm in ARMS))
    for name, times in results.items():
        print(f"{name:34}" + "".join(f"{median(times[arm]):9.3f}" for arm in ARMS))
    print()
    for row in bars:
        ratio = row["ratio"]
        print(f"{row['client']:34}{row['bar']:18} {ratio['median']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]  at most "
              f"{row['limit']}: {'met' if row['met'] else 'NOT MET'}")
    report = {"schema": 1, "machine": machine.facts(), "rounds": rounds, "seconds": results, "bars": bars,
              "took_seconds": time.monotonic() - begin}
    print(machine.line(report["machine"]))
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "programs.json").write_text(json.dumps(report, indent=1) + "\n")
        (arguments.results / "programs.svg").write_text(chart.draw(report, ARMS))
    return 0 if arguments.quick or all(row["met"] for row in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
