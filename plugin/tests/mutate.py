#!/usr/bin/env python3
"""Takes each soundness rule away from a copy of the plugin, and sees its test fail.

Usage: mutate.py CLANG LLVM_VERSION [RULE...]   (CLANG is also what compiles the copy)
Fails when a test passes without its rule, or when a rule of docs/reuse.md has no mutation.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from mutations import MUTATIONS

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
PLUGIN = ["mark", "options", "plugin", "purity", "rewrite", "shape"]
RUNTIME = ["table", "threads", "strategies", "profile"]
TEST_SECONDS_MAX = 120  # a test that hangs without its rule has failed


def run(*command, seconds_max=None):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          timeout=seconds_max)


def must(*command):
    result = run(*command)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr[-4000:]}")


class Workshop:
    """A copy of the sources and of what was built of them; only what a mutation touches is built again."""

    def __init__(self, folder, version, compiler):
        self.compiler = compiler
        self.source = folder / "plugin"
        self.sound = folder / "sound"  # what was built with every rule in place
        self.build = folder / "build"
        self.build.mkdir()
        shutil.copytree(SOURCE, self.source)
        include = f"/usr/lib/llvm-{version}/include"
        self.plugin = [compiler, "-std=c++17", "-fPIC", "-fno-rtti", "-O0", "-w", "-I", self.source, "-I", SOURCE.parent / "src",
                       "-isystem", include]
        self.runtime = [compiler, "-std=c++20", "-fPIC", "-fno-exceptions", "-fno-rtti", "-O2", "-w", "-I",
                        self.source / "runtime"]
        # LLVM's headers are most of the work: read once.
        headers = set()
        for name in PLUGIN:
            headers |= set(re.findall(r"#include <llvm/[^>]*>", (SOURCE / f"{name}.cpp").read_text()))
        headers = sorted(header for header in headers if "Triple" not in header)  # its place depends on the version
        (self.source / "llvm.hpp").write_text("\n".join(headers) + "\n")
        must(*self.plugin, "-fpch-instantiate-templates", "-x", "c++-header", self.source / "llvm.hpp", "-o",
             self.source / "llvm.pch")
        for name in PLUGIN + RUNTIME:
            self.compile(name)
        must(compiler, "-std=c++20", "-O1", "-w", "-I", self.source / "runtime", "-c",
             self.source / "runtime" / "runtime_test.cpp", "-o", self.build / "runtime_test.o")
        self.link(PLUGIN + RUNTIME)
        shutil.copytree(self.build, self.sound)

    def compile(self, name):
        if name in PLUGIN:
            must(*self.plugin, "-include-pch", self.source / "llvm.pch", "-c", self.source / f"{name}.cpp", "-o",
                 self.build / f"{name}.o")
        else:
            must(*self.runtime, "-c", self.source / "runtime" / f"{name}.cpp", "-o", self.build / f"{name}.o")

    def link(self, names):
        objects = lambda names: [self.build / f"{name}.o" for name in names]
        if set(names) & set(PLUGIN):
            must(self.compiler, "-shared", "-o", self.build / "plugin.so", *objects(PLUGIN))
        if set(names) & set(RUNTIME):
            library = self.build / "liblarder_reuse.a"
            library.unlink(missing_ok=True)
            must("ar", "rcs", library, *objects(RUNTIME))
            must(self.compiler, "-o", self.build / "runtime_test", self.build / "runtime_test.o", library, "-lgtest",
                 "-lgtest_main", "-lpthread", "-ldl")

    def with_edits(self, edits):
        """Builds what they change; the sources are as before when it returns."""
        before = {}
        for file, text, other in edits:
            path = self.source / file
            content = path.read_text()
            before.setdefault(path, content)
            if content.count(text) != 1:
                sys.exit(f"{file}: {content.count(text)} times, not once: {text}")
            path.write_text(content.replace(text, other))
        names = [path.stem for path in before]
        for name in names:
            self.compile(name)
        for path, content in before.items():
            path.write_text(content)
        self.link(names)

    def repair(self):
        shutil.rmtree(self.build)
        shutil.copytree(self.sound, self.build)

    def passes(self, clang, version, test):
        parts = [clang, self.build / "plugin.so", self.build / "liblarder_reuse.a"]
        if "." not in test:
            command = [sys.executable, HERE / "generate.py", *parts, 1, 12]
        elif not test.startswith("rule_"):
            command = [self.build / "runtime_test", f"--gtest_filter={test}"]
        else:
            named = self.build / f"plugin_{version}.so"  # check.py reads the version off the name
            shutil.copy(self.build / "plugin.so", named)
            parts[1] = named
            command = [sys.executable, HERE / "check.py", *parts, HERE / test]
        try:
            return run(*command, seconds_max=TEST_SECONDS_MAX).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    clang, version, *rules = sys.argv[1:]
    if clang == "missing":
        print(f"SKIP: {version} or its clang is not installed")
        return 77
    missing = {str(rule) for rule in range(1, 29)} - {mutation[0] for mutation in MUTATIONS}
    if missing:
        sys.exit(f"no mutation for rules {', '.join(sorted(missing, key=int))}")
    for _, what, edits, _ in MUTATIONS:
        for file, text, _ in edits:
            if (SOURCE / file).read_text().count(text) != 1:
                sys.exit(f"'{what}': {file} does not have this once: {text}")
    survived = count = 0
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(pathlib.Path(folder), version, re.sub(r"clang(?=-\d+$)", "clang++", clang))
        tests = {test for mutation in MUTATIONS for test in mutation[3] if not rules or mutation[0] in rules}
        for test in sorted(tests):
            if not workshop.passes(clang, version, test):
                sys.exit(f"{test} fails with every rule in place")
        for rule, what, edits, tests in MUTATIONS:
            if rules and rule not in rules:
                continue
            workshop.with_edits(edits)
            passing = [test for test in tests if workshop.passes(clang, version, test)]
            workshop.repair()
            count += 1
            survived += bool(passing)
            print(f"rule {rule} without '{what}': " + (f"{', '.join(passing)} PASSES" if passing else "its test fails"),
                  flush=True)
    print(f"{count - survived} of {count} mutations are seen")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
