#!/usr/bin/env python3
"""Random programs, pure and impure, that print the same with the plugin as without it.

Usage: generate.py CLANG PLUGIN RUNTIME_LIBRARY FIRST COUNT [--every-level]   (seeds FIRST to FIRST + COUNT - 1)
Ten programs share a source, for the compiler's start and the linker take longer than they do; each has functions and
variables of its own. A source is compiled at one level of optimisation, or at each of the four.
       generate.py --print SEED
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LEVELS = ["-O1", "-O2", "-O3", "-Os"]
TOGETHER = 10
PROLOGUE = """#include <stdio.h>
#include <math.h>
#include <errno.h>
struct point { int x; short tag; double w; };
static const int constants[8] = {3, 1, 4, 1, 5, 9, 2, 6};
"""


class Program:
    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.functions = []  # name, result type, parameter types, has it a struct point?
        self.lines = [f'static int changing_{seed} = 3, calls_{seed}, filled_{seed}[8]; static long written_{seed};',
                      f'static __attribute__((noinline)) void effect_{seed}(int n) '
                      f'{{ calls_{seed} += n; written_{seed} ^= calls_{seed} * 7L; }}']

    def pick(self, *choices):
        return self.random.choice(choices)

    def expression(self, names, depth):
        r, s = self.random, self.seed
        if depth == 0 or r.random() < 0.15:
            return self.pick(*names, str(r.randrange(-9, 60)), "constants[(unsigned)%s & 7]" % r.choice(names),
                             f"filled_{s}[(unsigned){r.choice(names)} & 7]" if r.random() < 0.1 else "1",
                             f"changing_{s}" if r.random() < 0.15 else r.choice(names))
        a, b = self.expression(names, depth - 1), self.expression(names, depth - 1)
        return self.pick(f"({a} + {b})", f"({a} - {b})", f"((unsigned){a} * (unsigned){b})", f"({a} ^ {b})",
                         f"({a} / (({b} & 15) + 1))", f"({a} % (({b} & 7) + 2))", f"({a} < {b} ? {a} : {b})",
                         f"((unsigned){a} >> ({b} & 7))", f"(int)sqrt(({a} & 255) + 0.5)",
                         f"(pow(({a} & 15) - 2, 0.5) > 1.5 ? {a} : 7)" if r.random() < 0.3 else f"({a} | 1)")

    def function(self, i):
        r, s = self.random, self.seed
        name = f"f{i}_{s}"
        result = self.pick("int", "long", "unsigned", "short", "double", "unsigned char")
        kinds = [self.pick("int", "int", "long", "unsigned char", "short", "double", "float")
                 for _ in range(r.randrange(1, 4))]
        # Integer views of the parameters.
        names = ["n"] + [f"(int)p{k}" if kind not in ("double", "float") else f"(int)(p{k} * 4)"
                         for k, kind in enumerate(kinds)]
        has_point = r.random() < 0.25
        parameters = ["int n"] + [f"{kind} p{k}" for k, kind in enumerate(kinds)]
        if has_point:
            parameters.append(self.pick("struct point q", "struct point q"))
            names += ["q.x", "(int)q.tag", "(int)q.w"]
        body = []
        arguments = lambda step: ", ".join([f"n - {step}"] + [f"p{k}" if r.random() < 0.7 else f"({kind})(p{k} + 1)"
                                                             for k, kind in enumerate(kinds)] +
                                           (["q"] if has_point else []))
        if r.random() < 0.35:
            body.append(self.pick(f"effect_{s}(n);", f"if (n == 5) effect_{s}(n);", f"written_{s} += n;",
                                  f"if ((n & 3) == 1) filled_{s}[n & 7]++;", 'if (n == 4) printf("%d ", n);',
                                  "errno = n;"))
        if r.random() < 0.5:
            body.append(f"int local[8]; for (int i = 0; i < 8; ++i) local[i] = {self.expression(names + ['i'], 2)};")
            names.append("local[n & 7]")
        shape = self.pick("leaf", "linear", "tree", "tree", "calls", "loop")
        plain = self.expression(names, 3)
        cast = f"({result})"
        if shape in ("linear", "tree"):
            body.append(f"if (n < {r.randrange(1, 3)}) return {cast}{plain};")
            calls = [f"{name}({arguments(1)})"]
            if shape == "tree":
                calls.append(f"{name}({arguments(self.pick(1, 2, 2))})")
            value = f" {self.pick('+', '-', '+')} ".join(f"(long)({call} * 1)" for call in calls)
            if shape == "linear" and r.random() < 0.4:
                body.append(f"return {cast}{calls[0]};")
            else:
                body.append(f"return {cast}((unsigned long)({value}) % 100003 + (unsigned)({plain}));")
        elif shape == "loop":
            body.append(f"unsigned long s = {r.randrange(9)}; for (int i = 0; i < (n & 31) + {r.randrange(4, 40)}; ++i) "
                        f"s = s * 31 + (unsigned long)({self.expression(names + ['i', '(int)s'], 3)});")
            body.append(f"return {cast}(s % 1000003);")
        else:
            extra = ""
            if self.functions and shape == "calls":
                for other, _, types, other_point in r.sample(self.functions, min(2, len(self.functions))):
                    given = ", ".join(["(n & 7)"] + [f"({kind})({r.choice(names)} % 5)" for kind in types] +
                                      (["((struct point){n & 3, 1, 0.5})"] if other_point else []))
                    extra += f" + (long)({other}({given}))"
            body.append(f"return {cast}((unsigned long)((long)({plain}){extra}) % 999983);")
        prefix = self.pick("static ", "", "static inline ", "__attribute__((noinline)) ")
        self.lines.append(f"{prefix}{result} {name}({', '.join(parameters)}) {{ {' '.join(body)} }}")
        self.functions.append((name, result, kinds, has_point))

    def text(self):
        """Its functions, and program_SEED(), which calls them and prints."""
        r, s = self.random, self.seed
        for i in range(r.randrange(4, 9)):
            self.function(i)
        self.lines.append(f"static void program_{s}(void) {{\n  double sum = 0;\n  for (int round = 0; round < 260; ++round) {{")
        for name, _, kinds, has_point in self.functions:
            given = [f"(round * {r.randrange(1, 5)}) % {r.randrange(5, 11)}"]
            given += [f"({kind})(round % {r.randrange(1, 9)} * {r.choice(['1', '0.25', '3'])})" for kind in kinds]
            if has_point:
                given.append("(struct point){round % 3, (short)(round % 2), round % 4 * 0.5}")
            self.lines.append(f"    sum = sum * 0.5 + (double){name}({', '.join(given)});")
        self.lines.append(f"    if (round % 50 == 49) {{ changing_{s} += round; filled_{s}[round & 7] += 2; "
                          f'printf("%.17g %ld %d\\n", sum, written_{s}, calls_{s}); }}')
        self.lines.append(f'  }}\n  printf("%.17g %ld %d\\n", sum, written_{s}, calls_{s});\n}}')
        return "\n".join(self.lines) + "\n"


def source_of(seeds):
    """Each program prints behind a line that names its seed."""
    calls = "".join(f'  puts("seed {seed}");\n  program_{seed}();\n  fflush(stdout);\n' for seed in seeds)
    programs = "".join(Program(seed).text() for seed in seeds)
    return f"{PROLOGUE}{programs}int main(void) {{\n{calls}  return 0;\n}}\n"


def build_and_run(command, program):
    """What is wrong, or None; what each seed printed; what the compiler said."""
    built = subprocess.run(command + ["-o", str(program)], capture_output=True, text=True)
    if built.returncode != 0:
        return f"does not compile: {built.stderr}", {}, built.stderr
    try:
        ran = subprocess.run([str(program)], capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        return "takes too long", {}, built.stderr
    parts = re.split(r"^seed (\d+)\n", ran.stdout, flags=re.M)
    printed = dict(zip(map(int, parts[1::2]), parts[2::2]))
    return f"ends with {ran.returncode}" if ran.returncode else None, printed, built.stderr


def main():
    if sys.argv[1:2] == ["--print"]:
        print(source_of([int(sys.argv[2])]))
        return 0
    has_every_level = sys.argv[6:] == ["--every-level"]
    if len(sys.argv) != 6 + has_every_level:
        print(__doc__, file=sys.stderr)
        return 2
    clang, plugin, library = sys.argv[1:4]
    if clang == "missing":
        print(f"SKIP: {plugin} or its clang is not installed")
        return 77
    first, count = int(sys.argv[4]), int(sys.argv[5])
    seeds = list(range(first, first + count))
    # Half of the programs memoize all that is pure.
    halves = [[seed for seed in seeds if seed % 2 == half] for half in (0, 1)]
    batches = [half[i:i + TOGETHER] for half in halves for i in range(0, len(half), TOGETHER)]
    failed, memoized = set(), set()
    compared = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        source = scratch / "programs.c"
        for number, batch in enumerate(batches):
            source.write_text(source_of(batch))
            os.environ["LARDER_REUSE_OPTIONS"] = "all=on" if batch[0] % 2 else ""
            for level in LEVELS if has_every_level else [LEVELS[number % 4]]:
                # Signed overflow must be the same in both: -fwrapv.
                base = [clang, level, "-fwrapv", "-w", str(source), library, "-lm", "-lpthread"]
                fault, plain, _ = build_and_run(base, scratch / "plain")
                other_fault, with_plugin, remarks = build_and_run(
                    base + [f"-fpass-plugin={plugin}", "-Rpass=larder-reuse"], scratch / "with")
                memoized.update(map(int, re.findall(r"\bf\d+_(\d+)\S*: memoized", remarks)))
                for seed in batch:
                    compared += 1
                    one, other = plain.get(seed, fault), with_plugin.get(seed, other_fault)
                    if one == other and fault is None and other_fault is None:
                        continue
                    failed.add(seed)
                    print(f"seed {seed} {level}: {(fault, one)!r:.400}\nbut with the plugin {(other_fault, other)!r:.400}")
    print(f"{count - len(failed)} of {count} programs print the same in {compared} comparisons; "
          f"{len(memoized)} have tables")
    # A generator whose programs the plugin leaves alone would show nothing.
    return 1 if failed or len(memoized) * 2 < count else 0


if __name__ == "__main__":
    sys.exit(main())
