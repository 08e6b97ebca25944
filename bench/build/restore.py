#!/usr/bin/env python3
"""What restoring costs and saves: C++ files compiled by `larder build` with and without the store, beside ninja with ccache.

  restore.py --build build/bench [--results FOLDER] [--quick] [--dir FOLDER] [--files N] [--larder FILE]

N files that include parts of the standard library and headers of their own. For each tool: all compiled with nothing
kept, all compiled and kept, and all brought back after the outputs and the tool's own records were removed; for larder,
a second checkout too. Turns alternate; figures are medians of seconds of wall time and of processor time. No bars: the
figures are ratios to be read beside each other. Exits 2 when something could not run or was not restored.
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

HEADERS = 20


def write(folder, files, launcher):
    (folder / "inc").mkdir(parents=True)
    (folder / ".git").mkdir()
    for i in range(HEADERS):
        (folder / "inc" / f"h{i}.hpp").write_text(f"#pragma once\n#include <vector>\ninline int h{i}() {{ return {i}; }}\n")
    includes = "".join(f'#include "h{i}.hpp"\n' for i in range(HEADERS))
    lines = [f"rule cxx\n  command = {launcher}c++ -O1 -Iinc -MD -MF $out.d -o $out -c $in\n"
             "  depfile = $out.d\n  deps = gcc\n"]
    for i in range(files):
        (folder / f"f{i}.cpp").write_text(f"{includes}#include <string>\nstd::string f{i}(std::vector<int> v) "
                                          f"{{ return std::to_string(v.size() + h1() + {i}); }}\n")
        lines.append(f"build f{i}.o: cxx f{i}.cpp\n")
    (folder / "build.ninja").write_text("".join(lines))


def forget(folder):
    shutil.rmtree(folder / ".larder", ignore_errors=True)
    for path in list(folder.glob("*.o")) + list(folder.glob(".ninja_*")):
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--results")
    parser.add_argument("--dir")
    parser.add_argument("--files", type=int)
    parser.add_argument("--larder")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    files = arguments.files or (8 if arguments.quick else 60)
    larder = str(pathlib.Path(arguments.larder or f"{arguments.build}/tool/larder").resolve())
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-restore-bench-", dir=arguments.dir))
    environment = {**os.environ, "LARDER_DIR": str(top / "store"), "CCACHE_DIR": str(top / "ccache_store")}
    environment.pop("CCACHE_DISABLE", None)
    times = {}

    def run(what, words, folder):
        begin = time.perf_counter()
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{what}: exit {process.returncode}: {said.decode(errors='replace')}")
        if "restored" in what and said.count(b"(restored)") != files:
            raise RuntimeError(f"{what}: {said.count(b'(restored)')} of {files} were restored")
        times.setdefault(what, []).append((time.perf_counter() - begin, usage.ru_utime + usage.ru_stime))

    has_ccache = shutil.which("ccache") is not None and shutil.which("ninja") is not None
    try:
        for name, launcher in (("larder", ""), ("second", ""), ("ninja", ""), ("ccache", "ccache ")):
            write(top / name, files, launcher)
        for _ in range(1 if arguments.quick else 3):
            for store in ("store", "ccache_store"):
                shutil.rmtree(top / store, ignore_errors=True)
            for name in ("larder", "second", "ninja", "ccache"):
                forget(top / name)
            run("larder, nothing kept", [larder, "build", "--no-restore"], top / "larder")
            forget(top / "larder")
            run("larder, kept", [larder, "build"], top / "larder")
            forget(top / "larder")
            run("larder, restored", [larder, "build"], top / "larder")
            run("larder, restored elsewhere", [larder, "build"], top / "second")
            if not has_ccache:
                continue
            run("ninja, nothing kept", ["ninja"], top / "ninja")
            run("ninja with ccache, kept", ["ninja"], top / "ccache")
            forget(top / "ccache")
            run("ninja with ccache, found", ["ninja"], top / "ccache")
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if not has_ccache:
        print("ccache or ninja is not installed: no peer")
    rows = [{"what": what, "files": files, "seconds": statistics.median(wall for wall, _ in each),
             "processor_s": statistics.median(processor for _, processor in each)} for what, each in times.items()]
    for row in rows:
        print(f"{row['what']}, {files} files: {row['seconds']:.3f} s, {row['processor_s']:.3f} s of processor")
    machine.keep(arguments.results, "build_restore.json", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
