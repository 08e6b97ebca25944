#!/usr/bin/env python3
"""Says on what machine, how busy, and at which commit a benchmark ran; keeps its results."""
import json
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def processor():
    """The model; where a virtual machine hides its name, with family and model number."""
    facts = dict(re.findall(r"^(model name|cpu family|model|cache size)\s*:\s*(.*)$", read("/proc/cpuinfo"), re.M))
    name = facts.get("model name", platform.machine())
    if "cpu family" in facts:
        name += f" (family {facts['cpu family']} model {facts['model']})"
    return name


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + (" with local changes" if git("status", "--porcelain") else "")


def facts():
    chosen = re.search(r"\[(\w+)\]", read("/sys/kernel/mm/transparent_hugepage/enabled"))
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "unknown",
        "huge_pages": chosen.group(1) if chosen else "unknown",
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "commit": commit(),
    }


def line(known=None):
    known = known or facts()
    return ("{processor}, {cores} cores, governor {governor}, transparent huge pages {huge_pages}, "
            "Linux {kernel}, load {load}, commit {commit}").format(**known)


def keep(folder, name, result):
    """Writes `result` into `folder`, which is made where there is none; nothing where no folder was asked for."""
    if not folder:
        return
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    print(line())
