#!/usr/bin/env python3
"""What `larder build` shows, on a terminal of 40 columns, on a dumb one, and in a pipe. A test waits, at most a minute, for
what is shown. Usage: status_test.py LARDER ODD_SYSTEM_LIBRARY"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

LARDER, ODD = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
PATIENCE = 60
COLUMNS = 40
RULES = """
rule r
  command = cat $in >$out
  description = MAKE $what $out
rule hold
  command = until [ -e go ]; do timeout 0.01 cat nothing; done; cat $in >$out
  description = HOLD $out
rule say
  command = cat $in >$out; echo a warning
  description = SAY $out
rule fail
  command = false
  description = FAIL $out
rule talk
  command = [ -t 1 ] && echo it is a terminal && touch $out
  description = TALK $out
  pool = console
"""


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Terminal:
    """A build on a terminal; `shown` is every byte that it wrote there."""

    def __init__(self, folder, *words, columns=COLUMNS, **environment):
        self.fd, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen([LARDER, "build", "--no-restore", *words], cwd=folder, stdin=side, stdout=side, stderr=side,
                                        env={**os.environ, "HOME": str(folder), "TERM": "xterm", **environment}, start_new_session=True)
        os.close(side)
        self.shown = b""

    def read(self):
        """False at its end."""
        if not select.select([self.fd], [], [], PATIENCE)[0]:
            raise AssertionError(("nothing comes", self.shown))
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            return False
        self.shown += data
        return bool(data)

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition(self.shown.decode(errors="ignore")):
            assert self.read() and time.monotonic() < end, self.shown

    def end(self, code=0):
        while self.read():
            continue
        os.close(self.fd)
        assert self.process.wait(PATIENCE) == code, (self.process.returncode, self.shown)
        return self.shown.decode().replace("\r\n", "\n")

    def lefts(self, shown):
        return re.findall(r", (\d+) s left\)", shown)


class Screen:
    """What a terminal without lines that wrap makes of it."""

    def __init__(self, shown):
        self.lines, self.drawn, at = [""], [], 0
        for part in re.split(r"(\r|\n|\x1b\[K)", shown):
            if part == "\n":
                self.lines.append("")
                at = 0
            elif part == "\r":
                self.drawn.append(self.lines[-1])
                at = 0
            elif part == "\x1b[K":
                self.lines[-1] = self.lines[-1][:at]
            else:
                self.lines[-1] = self.lines[-1][:at] + part + self.lines[-1][at + len(part):]
                at += len(part)
        self.drawn.append(self.lines[-1])


def is_one_line_on_a_terminal(folder, write):
    write("build x: r a\nbuild y: r x\nbuild z: r y\n")
    lines = Screen(Terminal(folder).end()).lines
    assert lines == ["[3/3] MAKE  z", ""], lines
    assert Screen(Terminal(folder).end()).lines == ["larder: no work to do.", ""]


def is_cut_to_the_width(folder, write):
    texts = ("x" * 100, "\u00e4" * 100, "\u4e2d" * 100, "e\u0301" * 100)
    write("".join(f"build x{ord(what[0])}: r a\n  what = {what}\n" for what in texts))
    for what in texts:
        screen = Screen(Terminal(folder, f"x{ord(what[0])}").end())
        assert all(width(line) < COLUMNS for line in screen.drawn), screen.drawn
        assert screen.lines[0].startswith("[1/1] MAKE ") and "..." in screen.lines[0], screen.lines
        assert screen.lines[0].endswith(f" x{ord(what[0])}") and width(screen.lines[0]) > COLUMNS - 5, screen.lines
    os.remove(folder / "x120")
    assert "x" * 100 in Screen(Terminal(folder, "x120", columns=120).end()).lines[0]


def leaves_what_commands_say_and_what_fails(folder, write):
    write("build x: r a\nbuild s: say x\nbuild f: fail s\n")
    lines = Screen(Terminal(folder).end(1)).lines
    assert lines == ["[2/3] SAY s", "a warning", "[3/3] FAIL f", "FAILED: [code=1] f", "false", "larder: stopped: a command failed",
                     ""], lines


def gives_the_console_away(folder, write):
    write("build x: r a\nbuild t: talk x\n")
    lines = Screen(Terminal(folder).end()).lines
    assert lines == ["[1/2] TALK t", "it is a terminal", ""], lines


def is_plain_lines_elsewhere(folder, write):
    write("build x: r a\n  what = " + "x" * 100 + "\nbuild y: r x\n")
    plain = ["[1/2] MAKE " + "x" * 100 + " x", "[2/2] MAKE  y"]
    said = subprocess.run([LARDER, "build", "--no-restore"], cwd=folder, capture_output=True, text=True)
    assert said.stdout.splitlines() == plain, said.stdout
    shutil.rmtree(folder / ".larder")
    assert Terminal(folder, TERM="dumb").end().splitlines() == plain


def names_slow_steps_and_what_is_left(folder, write):
    haste = {"LD_PRELOAD": ODD, "LARDER_TEST_HASTE": "20"}
    os.mkfifo(folder / "nothing")
    write("build x: hold a\nbuild y: hold x\n")
    first = Terminal(folder, "-j1", **haste)
    first.until(lambda shown: re.search(r"\[0/2\] HOLD x \([4-8]\d s\)", shown))
    (folder / "go").touch()
    assert "left" not in first.end()
    # By what it took then; the longer it takes, the less is left.
    (folder / "go").unlink()
    (folder / "a").write_text("other\n")
    second = Terminal(folder, "-j1", **haste)
    second.until(lambda shown: len(set(second.lefts(shown))) > 1)
    (folder / "go").touch()
    lefts = [int(left) for left in second.lefts(second.end())]
    assert lefts == sorted(lefts, reverse=True), lefts


def does_not_flood(folder, write):
    write("".join(f"build out{i}: r a\n" for i in range(300)))
    shown = Terminal(folder, "-j4").end()
    screen = Screen(shown)
    assert screen.lines[0].startswith("[300/300] ") and len(screen.lines) == 2, screen.lines
    assert len(screen.drawn) < 300, len(screen.drawn)  # of 600 that begin or end


for scenario in (is_one_line_on_a_terminal, is_cut_to_the_width, leaves_what_commands_say_and_what_fails, gives_the_console_away,
                 is_plain_lines_elsewhere, names_slow_steps_and_what_is_left, does_not_flood):
    place = pathlib.Path(tempfile.mkdtemp(prefix="larder-status-"))
    (place / "a").write_text("one\n")
    for variable in ("NINJA_STATUS", "MAKEFLAGS", "LARDER_DISABLE"):
        os.environ.pop(variable, None)
    scenario(place, lambda text: (place / "build.ninja").write_text(RULES + text))
    shutil.rmtree(place)
    print(f"{scenario.__name__}: ok", flush=True)
