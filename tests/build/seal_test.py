#!/usr/bin/env python3
"""Whether `larder build` with a seal does what it does without one: after random changes a dry run, which never looks
at the seal, says whether there is something to do, and the build must be of the same mind.

  seal_test.py LARDER [SEED]
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

LARDER = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 6
ROUNDS = 250
MANIFEST = """\
rule copy
  command = cat $in >$out
rule named
  command = echo "$$SEALED_VALUE" >$out
rule tool
  command = sealed-tool $in >$out
rule deps
  command = cat $in h.h >$out && echo "$out: h.h" >$out.d
  depfile = $out.d
build mid: copy a
build top: copy mid | listed
build named: named
build tool: tool b
build compiled: deps c
build all: phony top named tool
build d: phony
build late: copy d || all
include more.ninja
"""
MORE = "build more: copy a b\n"


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.env = dict(os.environ, PATH=f"{folder}/bin-first:{folder}/bin:{os.environ['PATH']}", SEALED_VALUE="1")
        self.words = []
        for name in ("a", "b", "c", "d", "h.h"):
            self.write(name, name)
        for name in ("bin", "bin-first", "listed"):
            (folder / name).mkdir()
        self.program("bin")
        self.write("build.ninja", MANIFEST)
        self.write("more.ninja", MORE)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def program(self, where):
        path = self.folder / where / "sealed-tool"
        path.write_text(f"#!/bin/sh\n# {where}\ncat $1\n")
        path.chmod(0o755)

    def larder(self, *words):
        done = subprocess.run([LARDER, "build", "--no-restore", *words, *self.words], cwd=self.folder, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def seal(self):
        path = self.folder / ".larder/build.ninja.seal"
        return path.stat().st_ino if path.exists() else None


def forge(path):
    """Other bytes, of the same size and time of modification."""
    before = path.stat()
    path.write_bytes(bytes(random.randrange(97, 122) for _ in range(before.st_size)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def change(project):
    """Does something at random; a word for it."""
    sources = ("a", "b", "c", "d", "h.h")
    outputs = ("mid", "top", "named", "tool", "compiled", "late", "more")
    folder = project.folder
    what = random.choice(("nothing", "edit", "forge", "touch", "delete output", "edit output", "variable", "program",
                          "manifest", "included", "list", "words", "seal", "log", "flag", "link"))
    if what == "edit":
        project.write(random.choice(sources), random.choice(("x", "yy", "zz")))
    elif what == "forge":
        forge(folder / random.choice(sources))
    elif what == "touch":
        os.utime(folder / random.choice(sources + ("build.ninja",)))
    elif what == "delete output":
        (folder / random.choice(outputs)).unlink(missing_ok=True)
    elif what == "edit output":
        project.write(random.choice(outputs), "by hand")
    elif what == "variable":
        project.env["SEALED_VALUE"] = random.choice("12")
    elif what == "program":
        found = folder / "bin-first/sealed-tool"
        if found.exists():
            found.unlink()
        else:
            project.program("bin-first")
    elif what == "manifest":
        project.write("build.ninja", MANIFEST + random.choice(("", "build extra: copy c\n", "# a remark\n")))
    elif what == "included":
        project.write("more.ninja", random.choice((MORE, "build more: copy b a\n")))
    elif what == "list":
        entry = folder / "listed/entry"
        if entry.exists():
            entry.unlink()
        else:
            entry.write_text("")
    elif what == "words":
        project.words = random.choice(([], ["all"], ["mid", "more"]))
    elif what == "seal":
        path = folder / ".larder/build.ninja.seal"
        if path.exists():
            data = bytearray(path.read_bytes())
            data[random.randrange(len(data))] ^= 1
            path.write_bytes(data)
    elif what == "log":
        path = folder / ".larder/build.ninja.log"
        os.truncate(path, random.randrange(path.stat().st_size))
    elif what == "flag":
        (folder / "a").chmod(random.choice((0o644, 0o755)))
    elif what == "link":
        path = folder / "b"
        text = path.read_text()
        path.unlink()
        if random.random() < 0.5:
            (folder / "b.real").write_text(text)
            path.symlink_to("b.real")
        else:
            path.write_text(text)
    return what


def main():
    random.seed(SEED)
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-seal-test-"))
    taken = idle = 0
    try:
        project = Project(top)
        code, said = project.larder()
        assert code == 0, said
        for number in range(ROUNDS):
            what = " and ".join(change(project) for _ in range(random.choice((1, 1, 2, 3))))
            _, foretold = project.larder("-n")
            before = project.seal()
            code, said = project.larder()
            assert code == 0, f"round {number}, {what}: {said}"
            has_work = "no work to do" not in foretold
            did_work = "no work to do" not in said
            _, behind = project.larder("-n")
            assert "no work to do" in behind, f"seed {SEED}, round {number}, {what}: left undone\n{said}\n{behind}"
            assert has_work == did_work, f"seed {SEED}, round {number}, {what}: foretold\n{foretold}\nbut\n{said}"
            idle += not did_work
            taken += not did_work and before is not None and before == project.seal()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{ROUNDS} changes, {idle} times nothing to do, {taken} times by the seal")
    assert taken >= 10, "the seal was hardly ever of use"


main()
