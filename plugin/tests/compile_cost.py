#!/usr/bin/env python3
"""What value reuse costs in compile time: each source is compiled plain and by larder cc, in turn, all of them again and
again; the median of the rounds' ratios counts. Processor time of the compilers and of what they start, so that other
work on the machine weighs on both alike.

Usage: compile_cost.py ROUNDS LARDER CLANG [FLAG...] SOURCE.c...
Prints the ratio with its 95 % interval and the seconds of a round.
"""
import os
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import paired  # noqa: E402


def seconds(command):
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return spent() - before


def main():
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    rounds, larder, clang = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    flags = [word for word in sys.argv[4:] if word.startswith("-")]
    sources = [word for word in sys.argv[4:] if not word.startswith("-")]
    kinds = {"plain": [clang], "with": [larder, "cc", clang]}
    series = {kind: [] for kind in kinds}
    for number in range(rounds):
        spent = dict.fromkeys(kinds, 0.0)
        for place, source in enumerate(sources):
            for kind in list(kinds) if (number + place) % 2 else reversed(kinds):
                spent[kind] += seconds(kinds[kind] + flags + ["-c", source, "-o", os.devnull])
        for kind in kinds:
            series[kind].append(spent[kind])
    cost = paired.ratio(series["with"], series["plain"])
    shortest = {kind: min(of) for kind, of in series.items()}
    print(f"{cost['median'] - 1:+.1%} ({cost['low'] - 1:+.1%} to {cost['high'] - 1:+.1%} in {rounds} rounds; "
          f"{shortest['plain']:.2f} s -> {shortest['with']:.2f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
