#!/usr/bin/env python3
"""Whether a `larder watch` that begins from a seal misses nothing: files change while no watch runs, while one starts and
while it runs, and in the end every product is what its sources say. Where nothing changed nothing runs.

  restart_test.py LARDER [SEED]
"""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LARDER = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 6
ROUNDS = 40
STEPS = 400
RULES = """\
rule copy
  command = echo $out >>ran && cat $in >$out
rule deps
  command = echo $out >>ran && cat $in $$(cat which) >$out && echo "$out: which $$(cat which)" >$out.d
  depfile = $out.d
"""


class Project:
    """Sources, and what is to come of them."""

    def __init__(self, folder):
        self.folder = folder
        self.has_more = False
        for name in ("real", "elsewhere", "src"):
            (folder / name).mkdir()
        for i in range(STEPS):
            self.write(self.source(i), f"{i}")
        for name in ("real/1", "elsewhere/2", "h1", "h2", "sentinel"):
            self.write(name, name)
        self.write("which", "h1")
        (folder / "link").symlink_to("real/1")
        self.write_manifest()

    @staticmethod
    def source(i):
        return f"src/{i // 150}/{i}"

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_manifest(self):
        lines = [RULES]
        lines += [f"build out/{i // 90}/{i}: copy {self.source(i)}\n" for i in range(STEPS)]
        lines += [f"build joined/{i}: copy {' '.join(f'out/{(i + j) // 90}/{i + j}' for j in range(3))}\n"
                  for i in range(0, STEPS - 3, 50)]
        lines.append("build linked: copy link\nbuild found: deps link\nbuild quiet: copy sentinel\n")
        if self.has_more:
            lines.append(f"build more: copy {self.source(0)}\n")
        aside = self.folder / "aside"
        aside.write_text("".join(lines))
        aside.rename(self.folder / "build.ninja")

    def read(self, name):
        try:
            return (self.folder / name).read_text()
        except OSError:
            return None

    def stale(self):
        """A product that is not what it should be; None: there is none."""
        sources = [self.read(self.source(i)) for i in range(STEPS)]
        wanted = {f"out/{i // 90}/{i}": sources[i] for i in range(STEPS)}
        wanted |= {f"joined/{i}": "".join(sources[i:i + 3]) for i in range(0, STEPS - 3, 50)}
        wanted["linked"] = self.read("link")
        wanted["found"] = self.read("link") + self.read(self.read("which"))
        wanted["more"] = sources[0] if self.has_more else None
        return next((name for name, text in wanted.items() if self.read(name) != text), None)

    def change(self, is_starting=False):
        """Does something at random; a word for it. A watch that starts ends where a source is missing."""
        folder = self.folder
        i = random.randrange(STEPS)
        text = random.choice("xyz") * random.randrange(1, 4)
        output = folder / random.choice((f"out/{i // 90}/{i}", "joined/50", "linked"))
        what = random.choice(("edit", "edit", "replace", "forge", "touch", "delete", "by hand", "link", "behind link",
                              "header", "which", "manifest", "edit" if is_starting else "folder"))
        if what == "edit":
            self.write(self.source(i), text)
        elif what == "replace":
            self.write("aside", text)
            (folder / "aside").rename(folder / self.source(i))
        elif what == "forge":
            path = folder / self.source(i)
            before = path.stat()
            path.write_bytes(bytes(random.randrange(97, 122) for _ in range(before.st_size)))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif what == "touch":
            os.utime(folder / self.source(i))
        elif what == "delete":
            output.unlink(missing_ok=True)
        elif what == "by hand":
            self.write(output, "by hand")
        elif what == "link":
            (folder / "aside").symlink_to(random.choice(("real/1", "elsewhere/2")))
            (folder / "aside").rename(folder / "link")
        elif what == "behind link":
            self.write(random.choice(("real/1", "elsewhere/2")), text)
        elif what == "header":
            self.write(random.choice(("h1", "h2")), text)
        elif what == "which":
            self.write("which", random.choice(("h1", "h2")))
        elif what == "manifest":
            self.has_more = not self.has_more
            self.write_manifest()
        elif what == "folder":
            (folder / "src/1").rename(folder / "src/gone")
            shutil.copytree(folder / "src/gone", folder / "src/1")
            shutil.rmtree(folder / "src/gone")
        return what


class Watch:
    def __init__(self, folder):
        self.process = subprocess.Popen([LARDER, "watch", "--quiet", "-d", "explain"], cwd=folder, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = []
        self.is_ready = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("larder: watching "):
                self.is_ready.set()

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait()
        self.reader.join()
        return code


def main():
    random.seed(SEED)
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-restart-test-"))
    sealed = idle = 0
    did = []
    try:
        project = Project(top)
        has_ended_well = False
        for number in range(ROUNDS):
            did = [project.change() for _ in range(random.choice((0, 0, 1, 2)))] if number != 0 else []
            is_idle = not did and has_ended_well and number % 2 == 0
            (top / "ran").write_text("")
            watch = Watch(top)
            if not is_idle:
                time.sleep(random.random() * random.choice((0.004, 0.02, 0.06)))
                did += ["|"] + [project.change(True) for _ in range(random.choice((1, 2)))]
            told = f"seed {SEED}, round {number}, {did}"
            assert watch.is_ready.wait(60), f"{told}: it does not begin\n{''.join(watch.said)}"
            if not is_idle and random.random() < 0.5:
                did += ["|", project.change()]
            until = time.monotonic() + 60
            stale = project.stale()
            while stale is not None and time.monotonic() < until:
                time.sleep(0.02)
                stale = project.stale()
            said = "".join(watch.said)
            assert stale is None, f"{told}: {stale} is {project.read(stale)!r}\n{said}"
            if is_idle:
                idle += 1
                assert project.read("ran") == "", f"{told}: ran {project.read('ran')}\n{said}"
            # What is right already may be made once more; the last that was heard of is told last.
            count = watch.said.count("larder: changed quiet\n")
            project.write("aside", str(number))
            (top / "aside").rename(top / "sentinel")
            while watch.said.count("larder: changed quiet\n") == count:
                assert time.monotonic() < until + 60, f"{told}: it hears of nothing any more\n{''.join(watch.said)}"
                time.sleep(0.01)
            sealed += "begins from a seal" in said
            how = random.choice((signal.SIGTERM, signal.SIGTERM, signal.SIGTERM, signal.SIGKILL))
            has_ended_well = watch.end(how) == 0
            assert has_ended_well or how == signal.SIGKILL, f"{told}: it ended badly\n{said}"
            assert not re.search("warning|FAILED", said), f"{told}: {said}"
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{ROUNDS} starts, {sealed} from a seal, {idle} with nothing to do")
    assert sealed >= 10, "the seal was hardly ever of use"
    assert idle >= 3, "nothing was ever left as it was"


main()
