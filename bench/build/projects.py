#!/usr/bin/env python3
"""Builds real projects from Debian's source packages, unmodified, with ninja and with `larder build`, and shows what things
that happen to a checkout cost with either.

  projects.py --build build/release [--results FOLDER] [--only NAME]

json-c and double-conversion are configured by CMake, jsoncpp by Meson. Events, one after the other: a cold build, after
which the project's own tests must pass; a comment in a header that much includes; a touch of every file; a checkout of
another tag, in which that header and a source say more, and back; a second checkout elsewhere. A row has seconds of wall
time and how many commands ran, which excludes what larder restored. After each event all objects, libraries and programs
must be those that ninja made, to the byte. Exits 0 when they are, 1 when not, 2 when something could not run.
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402

CMAKE = ["cmake", "-G", "Ninja", "-S", ".", "-B", "out"]
PROJECTS = {  # source package: how it is configured, its tests, a header, a source
    "json-c": (CMAKE, ["ctest", "--test-dir", "out"], "json_object.h", "json_util.c"),
    "double-conversion": (CMAKE + ["-DBUILD_TESTING=ON"], ["ctest", "--test-dir", "out"], "double-conversion/utils.h",
                          "double-conversion/bignum.cc"),
    "libjsoncpp": (["meson", "setup", "out"], ["meson", "test", "-C", "out", "--no-rebuild"], "include/json/value.h",
                   "src/lib_json/json_value.cpp"),
}
EVENTS = ["cold", "comment in a header", "touch of everything", "checkout of a tag", "checkout back", "second checkout"]
TOLD = re.compile(r"^\[\d+/\d+\] ")


class Failure(Exception):
    pass


def call(words, folder, environment=None):
    process = subprocess.run(words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if process.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: exit {process.returncode}: {process.stdout[-2000:]}")
    return process.stdout


def fetch(top):
    """The machine's own package sources, asked for source packages, without changing them."""
    parts, lists = top / "apt/parts", top / "apt/lists"
    (lists / "partial").mkdir(parents=True)
    parts.mkdir()
    modern, old = pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list")
    if modern.exists():
        text = re.sub("^Types:.*", "Types: deb-src", modern.read_text(), flags=re.M)
        (parts / "sources.sources").write_text(text)
    if old.exists():
        text = "".join("deb-src " + line[4:] + "\n" for line in old.read_text().splitlines() if line.startswith("deb "))
        (parts / "sources.list").write_text(text)
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}",
           "-o", f"Dir::State::Lists={lists}", "-o", f"APT::Sandbox::User={call(['id', '-un'], top).strip()}"]
    call(apt + ["update"], top)
    call(apt + ["source", "--download-only", *PROJECTS], top)


def import_into_git(top, name, header, source):
    """A repository with the package's sources as tag `one`, and as tag `two` with more in one header and one source."""
    origin = top / "origin" / name
    origin.mkdir(parents=True)
    call(["tar", "-xf", next(top.glob(f"{name}_*.orig.tar.*")), "--strip-components=1", "-C", origin], top)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    call(git + ["init", "-q"], origin)
    for tag in ("one", "two"):
        if tag == "two":
            with open(origin / header, "a") as file:
                file.write("\n#define TAG_TWO 2\n")
            with open(origin / source, "a") as file:
                file.write("\nint tag_two(void);\nint tag_two(void) { return TAG_TWO; }\n")
        call(git + ["add", "-A", "-f"], origin)
        call(git + ["commit", "-q", "-m", tag], origin)
        call(git + ["tag", tag], origin)
    return origin


def sums(checkout):
    found = {}
    for path in sorted((checkout / "out").rglob("*")):
        if path.is_file() and not path.is_symlink() and ".larder" not in path.parts and (
                path.suffix in (".o", ".a") or ".so" in path.name or os.access(path, os.X_OK)):
            found[str(path.relative_to(checkout))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def events_of(name, top, origin, tool, environment):
    """Seconds, commands run and outputs' digests after each event. Both tools work at the same places: paths can stand in
    what compilers make."""
    configure, test, header, _ = PROJECTS[name]
    rows = []

    def build(checkout):
        begin = time.perf_counter()
        said = call(tool + ["-C", "out"], checkout, environment)
        seconds = time.perf_counter() - begin
        ran = [line for line in said.splitlines() if TOLD.match(line) and not line.endswith("(restored)")]
        rows.append({"seconds": round(seconds, 3), "commands": len(ran), "outputs": sums(checkout)})

    checkouts = [top / "work" / name, top / "work" / f"{name}-elsewhere"]
    for checkout in checkouts:
        shutil.rmtree(checkout, ignore_errors=True)
    for checkout in checkouts:
        call(["git", "clone", "-q", "-b", "one", origin, checkout], top)
        call(configure, checkout, environment)
        if checkout == checkouts[1]:
            build(checkout)
            break
        build(checkout)
        call(test, checkout, environment)
        with open(checkout / header, "a") as file:
            file.write("\n/* a comment */\n")
        build(checkout)
        for path in checkout.rglob("*"):
            if path.is_file() and not {".git", ".larder"} & set(path.parts):
                path.touch()
        build(checkout)
        call(["git", "checkout", "-q", header], checkout)
        call(tool + ["-C", "out"], checkout, environment)
        for tag in ("two", "one"):
            call(["git", "checkout", "-q", tag], checkout)
            build(checkout)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--results")
    parser.add_argument("--only", choices=list(PROJECTS))
    arguments = parser.parse_args()
    larder = pathlib.Path(arguments.build).resolve() / "tool/larder"
    for tool in ("cmake", "ninja", "meson", "git", "apt-get"):
        if shutil.which(tool) is None:
            print(f"projects: {tool} is missing", file=sys.stderr)
            return 2
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-projects-"))
    environment = {name: value for name, value in os.environ.items()
                   if not name.endswith("_COMPILER_LAUNCHER") and name not in ("MAKEFLAGS", "NINJA_STATUS")}
    environment.update(HOME=str(top), LARDER_DIR=str(top / "store"), CCACHE_DISABLE="1")
    table, differ = {}, []
    try:
        fetch(top)
        for name, (_, _, header, source) in PROJECTS.items():
            if arguments.only not in (None, name):
                continue
            origin = import_into_git(top, name, header, source)
            rows = {tool: events_of(name, top, origin, words, environment)
                    for tool, words in (("ninja", ["ninja"]), ("larder", [str(larder), "build"]))}
            print(f"{name}: {len(rows['ninja'][0]['outputs'])} outputs")
            for event, ninja, ours in zip(EVENTS, rows["ninja"], rows["larder"]):
                if ninja["outputs"] != ours["outputs"] or not ours["outputs"]:
                    names = ninja["outputs"].items() ^ ours["outputs"].items()
                    differ.append(f"{name}, {event}: {sorted({path for path, _ in names})}")
                print(f"  {event:22} ninja {ninja['seconds']:8.2f} s {ninja['commands']:4} commands   "
                      f"larder {ours['seconds']:8.2f} s {ours['commands']:4} commands", flush=True)
                del ninja["outputs"], ours["outputs"]
            table[name] = rows
    except Failure as failure:
        print(f"projects: {failure}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(machine.line())
    machine.keep(arguments.results, "projects.json", table)
    for one in differ:
        print(f"another output than ninja's: {one}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
