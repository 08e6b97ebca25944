#!/usr/bin/env python3
"""Twenty-two things that happen to files, before `larder build` and the peers that are installed: make, ninja, tup.

  scenarios.py --build build/bench [--larder FILE] [--results FOLDER] [--dir FOLDER] [--only NAME]

Each scenario is a small project, built by each tool in a folder of its own with a manifest in its own language, then
something done to it, then built again; what is asked is whether the outputs are what a build from nothing would make,
and whether no more ran than had to. Every tool gets the manifest that its documentation advises for the purpose:
.DELETE_ON_ERROR is no default of make, so it is not given; restat and ^o^ are given where the scenario says so.
larder is told to trace (--trace, --strict) in the two scenarios of undeclared accesses, which only who sees what a command
opens can pass. A cell is `ok`, or what went wrong. Exits 0 when larder passes all, 1 when it does not, 2 when it could not
run. A peer that is missing is left out, and tup where FUSE is.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402

PATIENCE = 60


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


class Step:
    """One build line: `command` is for a shell; {in} and {out} stand for the files."""

    def __init__(self, outs, ins, command, restat=False):
        self.outs, self.ins, self.command, self.restat = outs.split(), ins.split(), command, restat

    def text(self):
        return self.command.replace("{in}", " ".join(self.ins)).replace("{out}", " ".join(self.outs))


class Tool:
    def __init__(self, name, words):
        self.name, self.words = name, words
        self.tick_s = 1.1 if name == "tup" else 0.02  # longer than the clock that it goes by stands still

    def write(self, folder, steps):
        getattr(self, "write_" + ("ninja" if self.name in ("ninja", "larder") else self.name))(folder, steps)

    @staticmethod
    def write_ninja(folder, steps):
        lines = []
        for i, step in enumerate(steps):
            command = step.text().replace("$", "$$")
            lines.append(f"rule r{i}\n  command = {command}\n" + ("  restat = 1\n" if step.restat else ""))
            lines.append(f"build {' '.join(step.outs)}: r{i} {' '.join(step.ins)}\n")
        (folder / "build.ninja").write_text("".join(lines))

    @staticmethod
    def write_make(folder, steps):
        outs = [out for step in steps for out in step.outs]
        lines = [f".PHONY: all\nall: {' '.join(outs)}\n"]
        for step in steps:
            command = step.text().replace("$", "$$")
            lines.append(f"{' '.join(step.outs)} {'&' if len(step.outs) > 1 else ''}: {' '.join(step.ins)}\n\t{command}\n")
        (folder / "Makefile").write_text("".join(lines))

    @staticmethod
    def write_tup(folder, steps):
        if not (folder / ".tup").exists():
            subprocess.run(["tup", "init"], cwd=folder, check=True, capture_output=True)
        lines = ["export MODE\n"]
        for step in steps:
            lines.append(f": {' '.join(step.ins)} |> {'^o^ ' if step.restat else ''}{step.text()} |> {' '.join(step.outs)}\n")
        (folder / "Tupfile").write_text("".join(lines))

    def start(self, folder, *words, **environment):
        return subprocess.Popen([*self.words, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, **environment), start_new_session=True)


class Project:
    """One scenario's folder for one tool. Commands log themselves to `log`, outside of the folder: tup forbids it inside."""

    def __init__(self, tool, top):
        self.tool, self.folder = tool, top / "project"
        self.log = top / "log"
        self.folder.mkdir(parents=True)
        self.folder.joinpath("a").write_text("one\n")
        self.folder.joinpath("b").write_text("two\n")

    def steps(self, *steps):
        self.tool.write(self.folder, steps)

    def logged(self, outs, ins, command, restat=False):
        """A step that says that it ran; undeclared, so outside of the folder."""
        return Step(outs, ins, f"echo {outs.split()[0]} >>{self.log}; {command}", restat)

    def copy(self, out, ins, restat=False):
        return self.logged(out, ins, "cat {in} >{out}", restat)

    def build(self, *words, fails=False, ticks=True, **environment):
        """What ran, sorted. Then some time passes, unless the scenario is about that."""
        self.log.write_text("")
        process = self.tool.start(self.folder, *words, **environment)
        said, _ = process.communicate(timeout=PATIENCE)
        check((process.returncode != 0) == fails, f"exit {process.returncode}: {said[-300:]}")
        if ticks:
            time.sleep(self.tool.tick_s)
        return sorted(self.log.read_text().split())

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def text(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else None

    def is_there(self, name):
        return (self.folder / name).exists()

    def until(self, name):
        end = time.monotonic() + PATIENCE
        while not self.is_there(name):
            check(time.monotonic() < end, f"{name} does not come")
            time.sleep(0.002)


def immediate_edit(p):
    p.steps(p.copy("x", "a"))
    p.build()
    for i in range(20):
        p.write("a", f"{i}\n")
        p.build(ticks=False)
        check(p.text("x") == f"{i}\n", f"stale at {i}")


def replaced_by_old(p, text):
    """Builds, then again with another `a` of long ago."""
    p.steps(p.copy("x", "a"))
    p.build()
    p.write("a", text)
    os.utime(p.folder / "a", (1e9, 1e9))
    p.build()
    check(p.text("x") == text, "stale")


def same_size_and_time(p):
    os.utime(p.folder / "a", (1e9, 1e9))
    replaced_by_old(p, "ONE\n")


def time_goes_back(p):
    replaced_by_old(p, "from a backup\n")


def edited_while_it_runs(p):
    p.steps(Step("x", "a", f"cat {{in}} >{p.log}.read; touch {p.log}.begun; sleep 0.4; cat {p.log}.read >{{out}}", restat=True))
    process = p.tool.start(p.folder)
    p.until(f"{p.log}.begun")
    p.write("a", "edited\n")
    process.communicate(timeout=PATIENCE)
    p.build()
    check(p.text("x") == "edited\n", "stale after the next build")


def killed_with_half(p):
    p.steps(Step("x", "a", f"echo half >{{out}}; touch {p.log}.half; [ -e {p.log}.go ] || sleep 30; cat {{in}} >{{out}}"))
    process = p.tool.start(p.folder)
    p.until(f"{p.log}.half")
    os.killpg(process.pid, signal.SIGKILL)
    # The session may have groups of its own: as the machine going down, all of it ends.
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == process.pid:
                os.kill(int(entry), signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.communicate()
    pathlib.Path(f"{p.log}.go").touch()
    p.build()
    check(p.text("x") == "one\n", "the half counts as made")


def fails_after_it_wrote(p):
    p.steps(Step("x", "a", f"echo half >{{out}}; [ -e {p.log}.go ] && cat {{in}} >{{out}}"))
    p.build(fails=True)
    pathlib.Path(f"{p.log}.go").touch()
    p.build()
    check(p.text("x") == "one\n", "the half counts as made")


def command_changes(p):
    p.steps(p.logged("x", "a", "cat {in} >{out}"))
    p.build()
    p.steps(p.logged("x", "a", "cat {in} {in} >{out}"))
    p.build()
    check(p.text("x") == "one\none\n", "stale")


def environment_changes(p):
    p.steps(p.logged("x", "a", "cat {in} >{out}; echo $MODE >>{out}"))
    p.build(MODE="debug")
    p.build(MODE="release")
    check(p.text("x") == "one\nrelease\n", "stale")


def touched(p):
    p.steps(p.copy("x", "a"), p.copy("y", "x"))
    p.build()
    os.utime(p.folder / "a")
    check(p.build() == [], "runs")


def cut_off_with_help(p):
    filtered = "grep -v '^#' {in} >tmp.x; cmp -s tmp.x {out} || cp tmp.x {out}; rm tmp.x"
    if p.tool.name == "tup":
        filtered = "grep -v '^#' {in} >{out}"  # ^o^ compares
    p.steps(p.logged("x", "a", filtered, restat=True), p.copy("y", "x"))
    p.build()
    p.write("a", "# comment\none\n")
    check("y" not in p.build(), "y runs")


def cut_off_plain(p):
    p.steps(p.logged("x", "a", "grep -v '^#' {in} >{out}"), p.copy("y", "x"))
    p.build()
    p.write("a", "# comment\none\n")
    check("y" not in p.build(), "y runs")


def output_deleted(p):
    p.steps(p.copy("x", "a"))
    p.build()
    (p.folder / "x").unlink()
    p.build()
    check(p.text("x") == "one\n", "not made again")


def output_edited(p):
    p.steps(p.copy("x", "a"))
    p.build()
    p.write("x", "mine\n")
    p.build()
    check(p.text("x") == "one\n", "not made again")


def stale_output(p):
    p.steps(p.copy("x", "a"), p.copy("y", "b"))
    p.build()
    p.steps(p.copy("x", "a"))
    p.build()
    check(not p.is_there("y"), "left behind")


def undeclared_input(p):
    words = ["--trace"] if p.tool.name == "larder" else []
    p.steps(p.logged("x", "a", "cat {in} b >{out}"))
    p.build(*words)
    p.write("b", "three\n")
    p.build(*words)
    check(p.text("x") == "one\nthree\n", "stale")


def undeclared_output(p):
    p.steps(p.logged("x", "a", "cat {in} >{out}; echo side >side"))
    words = ["--strict"] if p.tool.name == "larder" else []
    process = p.tool.start(p.folder, *words)
    said, _ = process.communicate(timeout=PATIENCE)
    check(process.returncode != 0 and "side" in said, "nobody says so")


def output_not_made(p):
    p.steps(p.logged("x", "a", ":"))
    p.build(fails=True)


def cycle(p):
    p.steps(p.copy("x", "y"), p.copy("y", "x"), p.copy("z", "x"))
    p.log.write_text("")
    process = p.tool.start(p.folder)
    said, _ = process.communicate(timeout=PATIENCE)
    says_so = any(word in said.lower() for word in ("cycle", "circular", "need each other"))
    check(says_so and (process.returncode != 0 or p.tool.name == "make"), f"not told: {said[-200:]}")


def keep_going(p):
    p.steps(p.logged("x", "a", "false"), p.copy("y", "b"))
    words = {"make": ["-k"], "ninja": ["-k", "0"], "larder": ["-k", "0"], "tup": ["-k"]}[p.tool.name]
    p.build(*words, fails=True)
    check(p.text("y") == "two\n", "y was not made")


def interrupted(p):
    p.steps(Step("x", "a", f"echo half >{{out}}; echo $$ >{p.log}.pid; touch {p.log}.half; [ -e {p.log}.go ] || sleep 30; cat {{in}} >{{out}}"))
    process = p.tool.start(p.folder)
    p.until(f"{p.log}.half")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    check(process.returncode != 0, "it says that all went well")
    pid = pathlib.Path(f"{p.log}.pid").read_text().strip()
    check(not os.path.exists(f"/proc/{pid}") or "Z" in pathlib.Path(f"/proc/{pid}/stat").read_text(), "the command runs on")
    pathlib.Path(f"{p.log}.go").touch()
    p.build()
    check(p.text("x") == "one\n", "the half counts as made")


def two_at_once(p):
    p.steps(p.logged("x", "a", "sleep 0.4; cat {in} >{out}"))
    p.log.write_text("")
    both = [p.tool.start(p.folder), p.tool.start(p.folder)]
    for process in both:
        process.communicate(timeout=PATIENCE)
    ran = p.log.read_text().split()
    check([process.returncode for process in both] == [0, 0] and ran == ["x"], f"ran {len(ran)} times")


def output_without_log(p):
    p.write("x", "somebody's\n")
    os.utime(p.folder / "x", (4e9, 4e9))
    p.steps(p.copy("x", "a"))
    p.build()
    check(p.text("x") == "one\n", "what was there counts as made")


SCENARIOS = {
    "35 edited at once, 20 times": immediate_edit,
    "36 same size, same time": same_size_and_time,
    "37 time goes back": time_goes_back,
    "38 edited while it runs": edited_while_it_runs,
    "40 killed with a half": killed_with_half,
    "41 fails after it wrote": fails_after_it_wrote,
    "46 command changes": command_changes,
    "46 environment changes": environment_changes,
    "45 touched": touched,
    "cut-off with the rule's help": cut_off_with_help,
    "cut-off, plain command": cut_off_plain,
    "47 output deleted": output_deleted,
    "48 output edited": output_edited,
    "50 stale output": stale_output,
    "53 undeclared input": undeclared_input,
    "53 undeclared output": undeclared_output,
    "56 output not made": output_not_made,
    "11 cycle": cycle,
    "64 keep going": keep_going,
    "42 interrupted": interrupted,
    "67 two at once": two_at_once,
    "output without a log": output_without_log,
}


def run(tool, scenario, top):
    folder = top / tool.name / scenario.__name__
    folder.mkdir(parents=True)
    try:
        scenario(Project(tool, folder))
    except Failure as failure:
        return str(failure).strip().replace("\n", " ")[:120]
    except subprocess.TimeoutExpired:
        return "does not end"
    return "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/bench"))
    parser.add_argument("--larder")
    parser.add_argument("--results")
    parser.add_argument("--dir")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    larder = str(pathlib.Path(arguments.larder or f"{arguments.build}/tool/larder").resolve())
    for name in ("MAKEFLAGS", "NINJA_STATUS", "LARDER_DISABLE"):
        os.environ.pop(name, None)
    if not os.access(larder, os.X_OK):
        print(f"{larder} is not there: build it, or name it with --larder", file=sys.stderr)
        return 2
    tools = [Tool("larder", [larder, "build"])] + [Tool(name, [name]) for name in ("make", "ninja", "tup")]
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-scenarios-", dir=arguments.dir))
    os.environ["HOME"] = str(top)
    absent = {tool.name: "it is not installed" for tool in tools[1:] if shutil.which(tool.name) is None}
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or shutil.which("fusermount3") is None:
        absent.setdefault("tup", "no FUSE")
    table = {}
    try:
        for title, scenario in SCENARIOS.items():
            if arguments.only and arguments.only not in title:
                continue
            table[title] = {tool.name: absent.get(tool.name) or run(tool, scenario, top) for tool in tools}
    finally:
        for mount in pathlib.Path("/proc/mounts").read_text().splitlines():  # of a tup that was killed
            if mount.split()[1].startswith(f"{top}/"):
                subprocess.run(["fusermount3", "-uz", mount.split()[1]], capture_output=True)
        shutil.rmtree(top, ignore_errors=True)
    width = max(map(len, table))
    print(f"{'':{width}}  " + "  ".join(f"{tool.name:7}" for tool in tools))
    for title, row in table.items():
        print(f"{title:{width}}  " + "  ".join(f"{'ok' if row[t.name] == 'ok' else '-' if t.name in absent else 'FAIL':7}" for t in tools))
    passed = {tool.name: sum(row[tool.name] == "ok" for row in table.values()) for tool in tools}
    print(f"{'passed':{width}}  " + "  ".join(f"{'-' if t.name in absent else passed[t.name]!s:7}" for t in tools))
    for title, row in table.items():
        for name, what in row.items():
            if what != "ok" and name not in absent:
                print(f"{name}: {title}: {what}")
    for name, why in absent.items():
        print(f"{name}: not run: {why}")
    machine.keep(arguments.results, "build-scenarios.json", {"machine": machine.facts(), "table": table})
    return 1 if any(row["larder"] != "ok" for row in table.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
