#!/usr/bin/env python3
"""What larder's layer for OpenGL gains and costs beside Mesa's own cache: bench/programs/opengl/run.py BUILD [ROUNDS [PROGRAMS [WHAT]]].

Processor time of a program that links PROGRAMS programs, 100 of them unless told (and draws with each; WHAT is link,
draw or both), in milliseconds; the arms of a round run one
after the other, in an order that turns; medians over the rounds. Mesa gives no binaries with its own cache switched off,
so that where it is to be of no use its directory is empty at each start.
  cold      nothing is known, without larder
  cold+     nothing is known, under `larder run --gl-layer`: linked and kept
  driver    Mesa's own cache is warm, without larder
  layer     what the layer keeps is warm, Mesa's own cache is empty
  both      both are warm
  adopted   `larder run` without the layer: Mesa's cache as larder keeps it, warm
  disabled  the layer preloaded with LARDER_DISABLE=1, Mesa's own cache warm
"""
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from statistics import median

HERE = os.path.dirname(os.path.abspath(__file__))
ARMS = ("cold", "cold+", "driver", "layer", "both", "adopted", "disabled")


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    programs = sys.argv[3] if len(sys.argv) > 3 else "100"
    whats = ("link", "draw") if len(sys.argv) < 5 or sys.argv[4] == "both" else (sys.argv[4],)
    larder = os.path.join(build, "tool/larder")
    layer = os.path.join(build, "layers/opengl/larder_opengl_layer.so")
    work = tempfile.mkdtemp(prefix="larder-bench-")
    try:
        client = os.path.join(work, "client")
        subprocess.run(["cc", "-O2", os.path.join(HERE, "client.c"), "-o", client, "-ldl"], check=True)
        runtime = os.path.join(work, "run")
        os.mkdir(runtime, 0o700)
        numbers = itertools.count()
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("LARDER", "MESA", "XDG_", "LD_PRELOAD"))}
        plain |= {"HOME": work, "XDG_RUNTIME_DIR": runtime, "LIBGL_ALWAYS_SOFTWARE": "1"}

        def start(arm, what):
            """Processor milliseconds in all, then of linking and of drawing."""
            own, store = os.path.join(work, what + "-own"), os.path.join(work, what + "-store")
            # New ones each time: ext4 is slow to find room for a file where many have just been removed.
            if arm in ("cold", "cold+", "layer"):
                own += f"-{next(numbers)}"
            if arm == "cold+":
                store += f"-{next(numbers)}"
            env = {**plain, "LARDER_DIR": store, "MESA_SHADER_CACHE_DIR": own}
            command = [client, programs, what]
            if arm in ("cold+", "layer", "both"):
                command = [larder, "run", "--gl-layer", "--", *command]
            if arm == "adopted":
                env.pop("MESA_SHADER_CACHE_DIR")
                env["LARDER_DIR"] += "-adopted"
                command = [larder, "run", "--", *command]
            if arm == "disabled":
                env |= {"LD_PRELOAD": layer, "LARDER_DISABLE": "1"}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, env=env, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode != 0:
                sys.exit(f"{arm}: the client ended with {done.returncode}: {done.stderr[-300:]}")
            link, draw, picture = done.stdout.split()
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return (spent * 1e3, float(link), float(draw)), picture

        for what in whats:
            pictures = set()
            for arm in ("driver", "layer", "adopted"):
                for _ in range(2):
                    pictures.add(start(arm, what)[1])
            times = {arm: [] for arm in ARMS}
            for turn in range(rounds):
                for shift in range(len(ARMS)):
                    arm = ARMS[(turn + shift) % len(ARMS)]
                    spent, picture = start(arm, what)
                    times[arm].append(spent)
                    pictures.add(picture)
            if len(pictures) != 1:
                sys.exit(f"the arms draw {len(pictures)} different pictures")
            print(f"{programs} programs, {what}: median of {rounds}, processor ms (all, linking, drawing)")
            for arm in ARMS:
                print(f"  {arm:9}" + "".join(f" {median(each[i] for each in times[arm]):9.1f}" for i in range(3)))
            for one, other in (("layer", "driver"), ("both", "driver"), ("cold+", "cold"), ("disabled", "driver")):
                ratios = [a[0] / b[0] for a, b in zip(times[one], times[other])]
                print(f"  {one} / {other}: {median(ratios):.3f}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
