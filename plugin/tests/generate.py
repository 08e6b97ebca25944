#!/usr/bin/env python3
"""Random programs, pure and impure, that print the same with the plugin as without it.

Usage: generate.py CLANG PLUGIN RUNTIME_LIBRARY FIRST COUNT [--every-level]   (seeds FIRST to FIRST + COUNT - 1)
A program is compiled at one level of optimisation, the seed's, or at each of the four.
       generate.py --print SEED
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

LEVELS = ["-O1", "-O2", "-O3", "-Os"]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []  # name, result type, parameter types, depth parameter?
        self.lines = ['#include <stdio.h>', '#include <math.h>', '#include <errno.h>',
                      'struct point { int x; short tag; double w; };',
                      'static int changing = 3; static long written; static int calls;',
                      'static const int constants[8] = {3, 1, 4, 1, 5, 9, 2, 6};',
                      'static int filled[8];',
                      'static __attribute__((noinline)) void effect(int n) { calls += n; written ^= calls * 7L; }']

    def pick(self, *choices):
        return self.random.choice(choices)

    def expression(self, names, depth):
        r = self.random
        if depth == 0 or r.random() < 0.15:
            return self.pick(*names, str(r.randrange(-9, 60)), "constants[(unsigned)%s & 7]" % r.choice(names),
                             "filled[(unsigned)%s & 7]" % r.choice(names) if r.random() < 0.1 else "1",
                             "changing" if r.random() < 0.15 else r.choice(names))
        a, b = self.expression(names, depth - 1), self.expression(names, depth - 1)
        return self.pick(f"({a} + {b})", f"({a} - {b})", f"((unsigned){a} * (unsigned){b})", f"({a} ^ {b})",
                         f"({a} / (({b} & 15) + 1))", f"({a} % (({b} & 7) + 2))", f"({a} < {b} ? {a} : {b})",
                         f"((unsigned){a} >> ({b} & 7))", f"(int)sqrt(({a} & 255) + 0.5)",
                         f"(pow(({a} & 15) - 2, 0.5) > 1.5 ? {a} : 7)" if r.random() < 0.3 else f"({a} | 1)")

    def function(self, i):
        r = self.random
        name = f"f{i}"
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
            body.append(self.pick("effect(n);", "if (n == 5) effect(n);", "written += n;",
                                  "if ((n & 3) == 1) filled[n & 7]++;", 'if (n == 4) printf("%d ", n);',
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
        r = self.random
        for i in range(r.randrange(4, 9)):
            self.function(i)
        self.lines.append("int main(void) {\n  double sum = 0;\n  for (int round = 0; round < 260; ++round) {")
        for name, _, kinds, has_point in self.functions:
            given = [f"(round * {r.randrange(1, 5)}) % {r.randrange(5, 11)}"]
            given += [f"({kind})(round % {r.randrange(1, 9)} * {r.choice(['1', '0.25', '3'])})" for kind in kinds]
            if has_point:
                given.append("(struct point){round % 3, (short)(round % 2), round % 4 * 0.5}")
            self.lines.append(f"    sum = sum * 0.5 + (double){name}({', '.join(given)});")
        self.lines.append("    if (round % 50 == 49) { changing += round; filled[round & 7] += 2; "
                          'printf("%.17g %ld %d\\n", sum, written, calls); }')
        self.lines.append('  }\n  printf("%.17g %ld %d\\n", sum, written, calls);\n  return 0;\n}')
        return "\n".join(self.lines) + "\n"


def build_and_run(command, program):
    built = subprocess.run(command + ["-o", str(program)], capture_output=True, text=True)
    if built.returncode != 0:
        return f"does not compile: {built.stderr}"
    try:
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "takes too long"
    return f"{ran.returncode}\n{ran.stdout}"


def main():
    if sys.argv[1:2] == ["--print"]:
        print(Program(int(sys.argv[2])).text())
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
    failed = memoized = compared = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for seed in range(first, first + count):
            source = scratch / f"{seed}.c"
            source.write_text(Program(seed).text())
            # Half of the programs memoize all that is pure.
            os.environ["LARDER_REUSE_OPTIONS"] = "all=on" if seed % 2 else ""
            has_failed = has_tables = False
            for level in LEVELS if has_every_level else [LEVELS[seed % 4]]:
                # Signed overflow must be the same in both: -fwrapv.
                base = [clang, level, "-fwrapv", "-w", str(source), library, "-lm", "-lpthread"]
                plain = build_and_run(base, scratch / "plain")
                with_plugin = build_and_run(base + [f"-fpass-plugin={plugin}"], scratch / "with")
                compared += 1
                has_tables |= b"larder_reuse_slow" in (scratch / "with").read_bytes()
                if plain != with_plugin:
                    has_failed = True
                    print(f"seed {seed} {level}: {plain[:400]!r}\nbut with the plugin {with_plugin[:400]!r}")
            failed += has_failed
            memoized += has_tables
    print(f"{count - failed} of {count} programs print the same in {compared} comparisons; {memoized} have tables")
    # A generator whose programs the plugin leaves alone would show nothing.
    return 1 if failed or memoized * 2 < count else 0


if __name__ == "__main__":
    sys.exit(main())
