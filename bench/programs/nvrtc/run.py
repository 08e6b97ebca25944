#!/usr/bin/env python3
"""What larder's shim for NVRTC gains and costs: bench/programs/nvrtc/run.py BUILD [ROUNDS].

Each figure is the time from nvrtcCreateProgram to the last result, in a process of its own. The arms of a round run
one after the other, so that whatever else the machine does falls on all of them; medians over the rounds.
  plain      without larder
  cold       with larder and an empty store: compiled and kept
  disabled   with larder preloaded and LARDER_DISABLE=1
  warm       found again; stamps prove that the headers are as they were
  re-hashed  found again after every header was touched: each one is read
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SAXPY = 'extern "C" __global__ void saxpy(float a, float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + ' \
        'threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }\n'
CUB = '''#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
template <int B> __global__ void k(int* in, int* out) {
  typedef cub::BlockReduce<int, B> Reduce; __shared__ typename Reduce::TempStorage r;
  typedef cub::BlockRadixSort<int, B, 1> Sort; __shared__ typename Sort::TempStorage s;
  int one[1] = {Reduce(r).Sum(in[threadIdx.x])}; Sort(s).Sort(one); out[threadIdx.x] = one[0]; }
template __global__ void k<128>(int*, int*);
template __global__ void k<256>(int*, int*);
'''


def find_library():
    for pattern in ("/usr/local/cuda*/lib*/libnvrtc.so.*", "/usr/lib/*-linux-gnu/libnvrtc.so.*"):
        for path in sorted(glob.glob(pattern)):
            return path
    sys.exit("no libnvrtc on this machine")


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    shim = os.path.join(build, "layers/nvrtc/larder_nvrtc_shim.so")
    library = find_library()
    work = tempfile.mkdtemp(prefix="larder-bench-")
    try:
        client = os.path.join(work, "client")
        folder = os.path.dirname(library)
        subprocess.run(["cc", "-O2", os.path.join(HERE, "client.c"), "-o", client, library, f"-Wl,-rpath,{folder}"],
                       check=True)
        store = os.path.join(work, "store")

        def run(words, larder, **more):
            env = {**os.environ, "XDG_RUNTIME_DIR": work, "LARDER_DIR": store, **more}
            env.pop("LD_PRELOAD", None)
            if larder:
                env["LD_PRELOAD"] = shim
            return float(subprocess.run([client, *words], env=env, check=True, capture_output=True).stdout)

        programs = {"saxpy": (SAXPY, ["--gpu-architecture=sm_90"], [])}
        include = os.path.join(os.path.dirname(folder), "include")
        if os.path.exists(os.path.join(include, "cccl/cub/cub.cuh")):
            copy = os.path.join(work, "include")
            shutil.copytree(include, copy, symlinks=True)
            headers = [os.path.join(at, name) for at, _, names in os.walk(copy) for name in names]
            programs["CUB"] = (CUB, ["--gpu-architecture=sm_90", "-std=c++17", f"-I{copy}", f"-I{copy}/cccl"], headers)
        else:
            print(f"without CUB: its headers are not beside {library}")
        print(f"{library}, {rounds} rounds, milliseconds (median, least)")
        for name, (source, options, headers) in programs.items():
            path = os.path.join(work, name + ".cu")
            with open(path, "w", encoding="ascii") as file:
                file.write(source)
            words = [path, *options]
            arms = {"plain": [], "cold": [], "disabled": [], "warm": [], "re-hashed": []}
            for turn in range(rounds):
                shutil.rmtree(store, ignore_errors=True)
                compiled = [("plain", False, {}), ("cold", True, {}), ("disabled", True, {"LARDER_DISABLE": "1"})]
                # Who goes first changes, so that no arm always finds the machine as another one left it.
                for arm, larder, more in compiled[turn % 3:] + compiled[:turn % 3]:
                    arms[arm].append(run(words, larder, **more))
                for _ in range(2):
                    run(words, True)
                for header in headers:
                    os.utime(header)
                if headers:
                    arms["re-hashed"].append(run(words, True))
                    for header in headers:
                        os.utime(header, (1e9, 1e9))
                # Its stamps prove something when they are no longer news.
                subprocess.run(["sleep", "2.1"], check=True)
                run(words, True)
                arms["warm"].append(run(words, True))
            for arm, times in arms.items():
                if times:
                    print(f"  {name:6} {arm:10} {statistics.median(times):10.3f} {min(times):10.3f}")
            pairs = [b / a for a, b in zip(arms["plain"], arms["cold"])]
            print(f"  {name:6} cold : plain, median of the pairs {statistics.median(pairs):.3f}")
            pairs = [b / a for a, b in zip(arms["plain"], arms["disabled"])]
            print(f"  {name:6} disabled : plain, median of the pairs {statistics.median(pairs):.3f}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
