#!/usr/bin/env python3
"""Manifests that CMake, Meson and GN write of projects that nobody here wrote: `larder build` makes of them what ninja makes,
to the byte, its tools print what ninja's print, then nothing is to do, and after an edit it makes what ninja makes of it.

  run_manifests.py LARDER [--only NAME]

fortran is what CMake has to look at compilers (modules found while building: dyndep), double-conversion is configured
for several configurations (includes, response files, pools), dav1d by Meson (thin archives, commands that write only what
differs, pools), and gn is GN's own example (subninja) with an action, a copy and a set of sources beside it (empty
outputs). Two come from Debian's source packages. Exits 77 where one of them could not be had and nothing failed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

APT_PATIENCE = 60
LEFT_OUT = re.compile(r"\.ninja_|\.larder|\.ninja$|compile_commands|\.log$|meson-(logs|info|private)|CMakeCache|\.cmake$|"
                      r"CMakeFiles/(\d|CMake[A-Z]|Check)|\.d$|\.rsp$|vcs_version|build\.ninja\.stamp")


class Failure(Exception):
    pass


def call(words, folder, fails=False):
    process = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if (process.returncode != 0) != fails:
        raise Failure(f"{' '.join(map(str, words))}: exit {process.returncode}: {(process.stdout + process.stderr)[-1500:]}")
    return process.stdout


def sums(folder):
    """Everything that was made, by its digest; not what tools write for themselves."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.is_symlink() and not LEFT_OUT.search(name):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def differences(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def numbered(graph):
    """A graph with its nodes numbered as they come: ninja names them by addresses."""
    numbers = {}
    return re.sub(r'^"(?:0x)?\w+"|(?<=-> )"(?:0x)?\w+"', lambda name: f"n{numbers.setdefault(name[0], len(numbers))}", graph,
                  flags=re.M)


class Debian:
    """Source packages, from the machine's own package sources, without changing them."""

    def __init__(self, top):
        self.top, self.is_ready = top, False

    def apt(self, *words):
        command = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={self.top}/parts",
                   "-o", f"Dir::State::Lists={self.top}/lists", "-o", f"APT::Sandbox::User={pwd.getpwuid(os.getuid()).pw_name}",
                   "-o", "Acquire::Retries=2", *words]
        subprocess.run(command, cwd=self.top, check=True, timeout=APT_PATIENCE, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def unpack(self, name, folder):
        """False when it is not to be had."""
        try:
            if not self.is_ready:
                (self.top / "lists/partial").mkdir(parents=True)
                (self.top / "parts").mkdir()
                modern, old = pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list")
                if modern.exists():
                    text = re.sub("^Types:.*", "Types: deb-src", modern.read_text(), flags=re.M)
                    (self.top / "parts/sources.sources").write_text(text)
                if old.exists():
                    lines = [f"deb-src {line[4:]}\n" for line in old.read_text().splitlines() if line.startswith("deb ")]
                    (self.top / "parts/sources.list").write_text("".join(lines))
                self.apt("update")
                self.is_ready = True
            self.apt("source", "--download-only", name)
        except (subprocess.SubprocessError, OSError):
            return False
        archive = next(path for path in self.top.glob(f"{name}_*.orig.tar.*") if path.suffix != ".asc")
        folder.mkdir()
        call(["tar", "-xf", archive, "--strip-components=1", "-C", folder], self.top)
        return True


class Project:
    features = ()  # texts that its manifests must hold, or this test looks at less than it says
    words = []  # for either tool
    needs = []

    def __init__(self, folder, debian):
        self.source, self.out, self.debian = folder / "src", folder / "out", debian

    def configure(self):
        raise NotImplementedError

    def manifests(self):
        return "".join(path.read_text(errors="replace") for path in self.out.rglob("*.ninja"))


class Fortran(Project):
    needs = ["cmake", "gfortran"]
    features = ["dyndep = ", "pool = link", "restat = 1", "deps = gcc", "depfile = ", "generator = 1", "include "]

    def fetch(self):
        found = sorted(pathlib.Path("/usr/share").glob("cmake-*/Modules/FortranCInterface"))
        if found:
            shutil.copytree(found[0], self.source)
        return bool(found)

    def configure(self):
        call(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.out, "-DCMAKE_C_FLAGS=-frandom-seed=1",
              "-DCMAKE_Fortran_FLAGS=-frandom-seed=1", "-DCMAKE_JOB_POOLS=link=1", "-DCMAKE_JOB_POOL_LINK=link"], self.source)

    def edit(self):
        """One module takes another: what comes before what is known only when the files were looked at."""
        path = self.source / "my_module.f90"
        path.write_text(path.read_text().replace("module my_module\n", "module my_module\n  use mymodule\n", 1))


class DoubleConversion(Project):
    needs = ["cmake"]
    features = ["rspfile = ", "pool = link", "pool = console", "restat = 1", "include ", "default ", "deps = gcc"]
    words = ["-f", "build-Debug.ninja"]

    def fetch(self):
        return self.debian.unpack("double-conversion", self.source)

    def configure(self):
        call(["cmake", "-G", "Ninja Multi-Config", "-S", self.source, "-B", self.out, "-DBUILD_TESTING=OFF",
              "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=ON", "-DCMAKE_JOB_POOLS=link=1", "-DCMAKE_JOB_POOL_LINK=link"], self.source)

    def edit(self):
        path = self.source / "double-conversion/bignum.cc"
        path.write_text(path.read_text() + "\nint edited_here(void);\nint edited_here(void) { return 7; }\n")


class Dav1d(Project):
    needs = ["meson"]
    features = ["csrDT", "restat = 1", "pool = link_pool", "pool = console", "depfile = ", "deps = gcc", "||"]

    def fetch(self):
        return self.debian.unpack("dav1d", self.source)

    def configure(self):
        call(["meson", "setup", self.out, self.source, "-Denable_asm=false", "-Dbitdepths=8", "-Denable_tests=false",
              "-Doptimization=0", "-Ddebug=false", "-Dbackend_max_links=1"], self.source)

    def edit(self):
        """A number: object and archive stay as long as they are, so a thin archive comes out the same."""
        path = self.source / "src/tables.c"
        text = path.read_text()
        edited = re.sub(r"(dav1d_dr_intra_derivative\[44\] = \{.*?)1023", r"\g<1>1022", text, count=1, flags=re.S)
        if edited == text:
            raise Failure("dav1d has no such table any more")
        path.write_text(edited)


class Gn(Project):
    needs = ["gn"]
    features = ["subninja ", "touch ", "pool = ", "rspfile = ", "default all", "generator = 1", "depfile = ", "||"]
    BESIDE = """
pool("one_at_a_time") {
  depth = 1
}
action("number") {
  script = "number.py"
  inputs = [ "number.txt" ]
  outputs = [ "$target_gen_dir/number.h" ]
  args = [ rebase_path("number.txt", root_build_dir), rebase_path(outputs[0], root_build_dir) ]
  pool = ":one_at_a_time"
}
copy("copied") {
  sources = [ "number.txt" ]
  outputs = [ "$root_out_dir/copied.txt" ]
}
source_set("numbers") {
  sources = [ "numbers.cc" ]
  include_dirs = [ target_gen_dir ]
  deps = [ ":number" ]
}
group("both") {
  deps = [ ":copied", ":numbers" ]
}
action("summary") {
  script = "summary.py"
  outputs = [ "$root_out_dir/summary.txt" ]
  args = [ "copied.txt", "summary.txt" ]
  deps = [ ":both" ]
}
"""

    def fetch(self):
        example = pathlib.Path("/usr/share/doc/generate-ninja/examples")
        if not (example / "BUILD.gn").exists():
            return False
        shutil.copytree(example, self.source)
        with open(self.source / "BUILD.gn", "a", encoding="ascii") as file:
            file.write(self.BESIDE)
        (self.source / "number.txt").write_text("7\n")
        (self.source / "number.py").write_text(
            "import sys\nopen(sys.argv[2], 'w').write('#define NUMBER ' + open(sys.argv[1]).read())\n")
        (self.source / "summary.py").write_text(
            "import sys\nopen(sys.argv[2], 'w').write('copied: ' + open(sys.argv[1]).read())\n")
        (self.source / "numbers.cc").write_text('#include "number.h"\nint number() { return NUMBER; }\n')
        return True

    def configure(self):
        call(["gn", "gen", self.out, f"--root={self.source}", f"--script-executable={sys.executable}"], self.source)

    def edit(self):
        """The summary reads a file that only empty outputs stand before."""
        (self.source / "number.txt").write_text("8\n")


PROJECTS = {"fortran": Fortran, "gn": Gn, "double-conversion": DoubleConversion, "dav1d": Dav1d}


def compare_tools(project, larder):
    """How many questions ninja and larder answer alike."""
    ninja = ["ninja", *project.words]
    ours = [larder, "build", *project.words]
    made = [line.split(": ", 1)[0] for line in call([*ninja, "-t", "targets", "all"], project.out).splitlines()]
    some = made[:: max(1, len(made) // 25)]
    questions = [["targets"], ["targets", "all"], ["targets", "rule"], ["targets", "depth", "3"], ["commands"], ["compdb"],
                 ["commands", *some[:5]], ["query", *some], ["graph"], ["graph", *some[:3]]]
    rules = sorted({line.rsplit(": ", 1)[1] for line in call([*ninja, "-t", "targets", "all"], project.out).splitlines()})
    questions += [["targets", "rule", rule] for rule in rules] + [["compdb", *rules[:3]]]
    for question in questions:
        expected, got = (call([*tool, "-t", *question], project.out) for tool in (ninja, ours))
        if question[0] == "graph":
            expected, got = numbered(expected), numbered(got)
        if expected != got:
            lines = [f"{a!r} is {b!r}" for a, b in zip(expected.splitlines(), got.splitlines()) if a != b]
            raise Failure(f"-t {' '.join(question)}: {lines[:3] or 'one is longer'}")
        if question[0] == "compdb":
            json.loads(got)
    return len(questions)


def build(larder, project, *words):
    return call([larder, "build", *project.words, *words], project.out)


def examine(name, project, larder):
    began = time.monotonic()

    configured = project.out.with_name("configured")  # once: it takes longer than building some of them

    def anew(tool):
        shutil.rmtree(project.out, ignore_errors=True)
        if configured.exists():
            shutil.copytree(configured, project.out, symlinks=True)
        else:
            project.configure()
            shutil.copytree(project.out, configured, symlinks=True)
        call([*tool, *project.words], project.out)
        return sums(project.out)

    by_ninja = anew(["ninja"])
    missing = [feature for feature in project.features if feature not in project.manifests()]
    if missing:
        raise Failure(f"the manifests hold no {missing}")
    by_larder = anew([larder, "build"])
    if not by_ninja or by_ninja != by_larder:
        raise Failure(f"other outputs than ninja's: {differences(by_ninja, by_larder)[:10]}")
    answers = compare_tools(project, larder)
    build(larder, project)  # what is meant to run each time does
    said = build(larder, project)
    if "no work to do" not in said and "vcs_version" not in said:
        raise Failure(f"there is something to do: {said[-500:]}")
    for path in [*project.source.rglob("*"), *project.out.rglob("*")]:
        if path.is_file() and ".larder" not in path.parts:
            os.utime(path)
    said = build(larder, project)
    ran = [line for line in said.splitlines() if line.startswith("[") and "vcs_version" not in line and "Re-checking" not in line]
    if ran:
        raise Failure(f"touching has something run: {ran[:5]}")
    project.edit()
    build(larder, project)
    edited = sums(project.out)
    expected = anew(["ninja"])
    if edited == by_larder or edited != expected:
        raise Failure(f"after an edit other outputs than ninja's: {differences(edited, expected)[:10] or 'nothing was made'}")
    print(f"{name}: {len(by_ninja)} files as ninja's, {answers} answers of tools as ninja's, nothing to do when touched, right "
          f"after an edit; {time.monotonic() - began:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("larder", type=pathlib.Path)
    parser.add_argument("--only", choices=PROJECTS)
    arguments = parser.parse_args()
    larder = arguments.larder.resolve()
    for name in ("MAKEFLAGS", "NINJA_STATUS", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "LARDER_DISABLE", "CFLAGS"):
        os.environ.pop(name, None)
    os.environ["CCACHE_DISABLE"] = "1"
    if shutil.which("ninja") is None:
        print("SKIP: no ninja")
        return 77
    left_out = []
    with tempfile.TemporaryDirectory(prefix="larder-manifests-") as place:
        top = pathlib.Path(place)
        os.environ.update(HOME=place, XDG_RUNTIME_DIR=f"{place}/run")
        debian = Debian(top)
        for name, kind in PROJECTS.items():
            if arguments.only not in (None, name):
                continue
            (top / name).mkdir()
            project = kind(top / name, debian)
            absent = [tool for tool in kind.needs if shutil.which(tool) is None]
            if absent or not project.fetch():
                left_out.append(f"{name} ({'no ' + absent[0] if absent else 'its sources are not to be had'})")
                continue
            try:
                examine(name, project, larder)
            except Failure as failure:
                print(f"FAIL: {name}: {failure}", file=sys.stderr)
                return 1
    if left_out:
        print(f"SKIP: {', '.join(left_out)}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
