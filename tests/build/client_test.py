#!/usr/bin/env python3
"""`larder build` as the client of a running `larder watch`, by the real command: what it is told, what it sees, and
that it builds for itself wherever the watch cannot do what it would do. Waits for what happens, two minutes at most.

  client_test.py LARDER
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LARDER = str(pathlib.Path(sys.argv[1]).resolve())
PATIENCE_S = 120
ASKED = "was asked"
ALONE = "a running watch does not build this: "
RULES = """\
rule r
  command = echo $out >>ran; cat $in >$out
rule t
  command = echo $out >>ran; grep -v '^#' $in >$out || :
rule go
  command = echo $out >>ran; until [ -e go ]; do sleep 0.01; done; cat $in >$out
rule must
  command = echo $out >>ran; echo it says so; cat $in && [ ! -e broken ] && touch $out
"""


class Failure(Exception):
    pass


def check(what, is_so, *more):
    if not is_so:
        raise Failure("\n".join([what, *map(str, more)]))


def until(what, is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        check(what, time.monotonic() < end)
        time.sleep(0.005)


class Project:
    """A directory with a manifest, and what runs in it; all of it is gone afterwards."""

    def __init__(self, manifest, **files):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-client-"))
        self.env = {name: value for name, value in os.environ.items()
                    if name not in ("MAKEFLAGS", "NINJA_STATUS", "LARDER_DISABLE")}
        self.env.update(HOME=str(self.folder / "home"), XDG_CACHE_HOME=str(self.folder / "home"))
        self.started = []
        self.write("build.ninja", RULES + manifest)
        self.write("ran", "")
        for name, text in files.items():
            self.write(name, text)
        self.watch = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else None

    def start_watch(self, *words):
        self.said = open(self.folder / "said", "ab")
        seen = self.read("said").count("larder: watching")
        self.watch = subprocess.Popen([LARDER, "watch", *words], cwd=self.folder, env=self.env, stdout=self.said,
                                      stderr=subprocess.STDOUT)
        self.started.append(self.watch)
        until("watch does not begin", lambda: self.read("said").count("larder: watching") > seen
              or self.watch.poll() is not None)
        check("watch has ended", self.watch.poll() is None, self.read("said"))
        return self

    def command(self, *words, larder=LARDER):
        return [larder, "build", "-d", "explain", *words]

    def start(self, *words, **more):
        process = subprocess.Popen(self.command(*words), cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, **more)
        self.started.append(process)
        return process

    def build(self, *words, env=None, code=0, larder=LARDER, **more):
        """What it said. It must end with `code`."""
        done = subprocess.run(self.command(*words, larder=larder), cwd=self.folder, env=dict(self.env, **(env or {})),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=PATIENCE_S, **more)
        check(f"exit code {done.returncode}, not {code}", done.returncode == code, done.stdout, self.read("said"))
        return done.stdout

    def asked(self, *words, **more):
        said = self.build(*words, **more)
        check("the watch was not asked", ASKED in said and ALONE not in said, said)
        return said

    def alone(self, why, *words, **more):
        said = self.build(*words, **more)
        check(f"it does not build alone because {why}", ASKED not in said and ALONE in said and why in said, said)
        return said

    def ran(self, *expected):
        did = sorted(self.read("ran").split())
        self.write("ran", "")
        check(f"ran {did}, not {sorted(expected)}", did == sorted(expected))

    def sockets(self):
        """Names of the watch's sockets, as the kernel lists them: the one it listens at, and one for each client."""
        status = self.folder.stat()
        part = f"@larder-watch-{os.geteuid()}-{status.st_dev}-{status.st_ino}-"
        lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
        return ["\0" + line[line.index("@larder") + 1:] for line in lines if part in line]

    def await_clients(self, count):
        until("a client does not come", lambda: len(self.sockets()) > count)


def what_was_written_before_is_seen():
    with Project("build x: r a\nbuild y: r dir/b\nbuild z: t x\n", a="0\n") as one:
        one.write("dir/b", "0\n")
        one.start_watch()
        check("not nothing to do", "no work to do" in one.asked())
        for i in range(100):
            one.write("a", f"{i}\n")
            one.asked()
            check(f"round {i}: z is stale", one.read("z") == f"{i}\n", one.read("z"))
            one.write("new", f"renamed {i}\n")
            os.rename(one.folder / "new", one.folder / "dir/b")
            one.asked("y")
            check(f"round {i}: y is stale", one.read("y") == f"renamed {i}\n", one.read("y"))
        one.write("x", "by hand\n")
        one.asked()
        check("an edited output stays", one.read("x") == "99\n")
        os.unlink(one.folder / "z")
        one.asked("z")
        check("a removed output stays away", one.read("z") == "99\n")
        with open(one.folder / "a", "w", encoding="ascii") as file:  # half written, for all that watch knows
            file.write("open\n")
            file.flush()
            one.asked()
            check("what is open still is not seen", one.read("z") == "open\n")


def it_tells_what_a_build_tells():
    with Project("build x: must a\nbuild y: r b\nbuild all: phony x y\ndefault all\n", a="one\n", b="two\n") as one:
        one.start_watch("-k", "0")
        one.write("broken", "")
        one.ran("x", "y")
        one.write("a", "three\n")
        said = one.asked(code=1)
        check("it does not say what failed", all(part in said for part in ("FAILED: [code=1] x", "it says so", "three",
                                                                          "larder: stopped: a command failed")), said)
        one.asked("x", code=1)  # tried again, as ever
        said = one.asked("y")
        check("what x came to is no matter of y's", "stopped" not in said, said)
        os.unlink(one.folder / "broken")
        one.asked()
        check("x is not made", one.read("x") is not None)
        check("not nothing to do", "larder: no work to do." in one.asked())
        check("it is not quiet", one.asked("--quiet").startswith("larder explain"))
        one.write("a", "four\n")
        said = one.asked("-v", env={"NINJA_STATUS": "<%f of %t> "})
        check("neither the command nor the status is as asked", "<1 of 1> echo x >>ran" in said
              or "no work" in said, said)


def tasks_run_each_time():
    with Project("rule task\n  command = echo task >>ran; echo tested\nbuild task: task | x\nbuild x: r a\n"
                 "build check: phony task\n", a="one\n") as one:
        one.start_watch("x", "check")
        one.ran("x", "task")
        for _ in range(2):
            check("the task does not speak", "tested" in one.asked("check"))
            one.ran("task")
        one.asked("x", "check")
        one.write("ran", "")
        one.write("a", "two\n")
        one.asked("x", "check")
        check("no task ran", "task" in one.read("ran"))


def what_the_watch_does_not_keep_is_built_alone():
    with Project("build x: r a\nbuild y: r b\ndefault x\n", a="one\n", b="two\n") as one:
        one.start_watch()
        one.ran("x")
        one.alone("it does not keep y up to date", "y")
        one.ran("y")
        said = one.alone("it knows no such target", "nothing", code=2)
        check("an unknown target is not told", "there is no target nothing" in said, said)
        check("not nothing to do after another's build", "no work to do" in one.asked())


def other_surroundings_are_built_alone():
    with Project("rule named\n  command = echo $out >>ran; echo \"$$CLIENT_TEST\" >$out\nbuild x: named\n"
                 "build y: r a\n", a="one\n") as one:
        one.env["CLIENT_TEST"] = "first"
        one.start_watch()
        one.ran("x", "y")
        one.asked(env={"NOBODY_NAMES": "this"})
        check("its own environment does not count", "x runs" in one.alone("CLIENT_TEST", env={"CLIENT_TEST": "second"}))
        one.alone("environment", env={"TZ": "Antarctica/Troll"})
        one.alone("environment", env={"PATH": f"{one.folder}/bin:{one.env['PATH']}"})
        one.alone("umask", preexec_fn=lambda: os.umask(0o077))
        one.alone("environment", "--env", "NOBODY_NAMES", env={"NOBODY_NAMES": "this"})
        del one.env["CLIENT_TEST"]
        one.alone("CLIENT_TEST")
        one.env["CLIENT_TEST"] = "first"
        one.asked()
        check("x is stale", one.read("x") == "first\n")
        copy = one.folder / "larder"
        shutil.copy(LARDER, copy)
        one.alone("it is another program", larder=str(copy))
        for flags in (["--no-watch"], ["-n"], ["--check"], ["-d", "keeprsp"], ["--root", "."]):
            one.alone("", *flags)
        os.mkfifo(one.folder / "tokens")
        tokens = os.open(one.folder / "tokens", os.O_RDWR | os.O_NONBLOCK)
        os.write(tokens, b"++")
        one.alone("jobserver", env={"MAKEFLAGS": f"-j --jobserver-auth=fifo:{one.folder}/tokens"})
        os.close(tokens)


def a_program_that_comes_first_is_seen():
    with Project("rule tool\n  command = client-test-tool $in $out\nbuild x: tool a\n", a="one\n") as one:
        first, second = one.folder / "first", one.folder / "second"
        for where in (first, second):
            where.mkdir()
        one.env["PATH"] = f"{first}:{second}:{one.env['PATH']}"
        one.write("second/client-test-tool", "#!/bin/sh\necho second >$2\n")
        (second / "client-test-tool").chmod(0o755)
        one.start_watch()
        check("x is odd", one.read("x") == "second\n")
        one.write("first/new", "#!/bin/sh\necho first >$2\n")
        (first / "new").chmod(0o755)
        os.rename(first / "new", first / "client-test-tool")
        one.asked()
        check("x is made by a program that is not found any more", one.read("x") == "first\n")


def manifests_change_and_break():
    with Project("build x: r a\n", a="one\n", b="two\n") as one:
        one.start_watch()
        one.write("build.ninja", RULES + "build x: r b\nbuild y: r a\n")
        one.asked()
        check("the new manifest is not built", (one.read("x"), one.read("y")) == ("two\n", "one\n"))
        one.write("build.ninja", RULES + "build x\n")
        said = one.build(code=2)
        check("a broken manifest is not told", "build.ninja:" in said, said)
        one.write("build.ninja", RULES + "build x: r a\n")
        until("the watch does not come back", lambda: one.read("x") == "one\n")
        one.asked()
        os.unlink(one.folder / "a")
        said = one.build(code=2)
        check("a missing source is not told", "a, needed by x, is missing" in said, said)


def two_at_once():
    with Project("build x: go a\nbuild y: r x\n", a="one\n", go="") as one:
        one.start_watch()
        one.ran("x", "y")
        os.unlink(one.folder / "go")
        one.write("a", "two\n")
        clients = [one.start() for _ in range(4)]
        until("x does not begin", lambda: "x" in one.read("ran"))
        one.write("go", "")
        for client in clients:
            said = client.communicate(timeout=PATIENCE_S)[0]
            check("a client failed", client.returncode == 0, said)
            check("a client built for itself", ASKED in said, said)
        check("y is stale", one.read("y") == "two\n")
        one.ran("x", "y")


def killed_while_it_builds():
    with Project("build x: go a\nbuild y: r x\n", a="one\n", go="") as one:
        one.start_watch()
        one.ran("x", "y")
        os.unlink(one.folder / "go")
        one.write("a", "two\n")
        client = one.start()
        until("x does not begin", lambda: "x" in one.read("ran"))
        one.await_clients(1)
        one.watch.kill()
        one.watch.wait()
        said = next((line for line in client.stdout if ALONE in line), "")
        check("the client says nothing of it", "it went away" in said, said)
        one.write("go", "")  # what the watch left running ends
        rest = client.communicate(timeout=PATIENCE_S)[0]
        check("the client failed", client.returncode == 0, rest)
        check("y is stale", one.read("y") == "two\n")
        check("a watch that is gone is asked", ASKED not in one.build())


def stopped():
    with Project("build x: r a\n", a="one\n") as one:
        one.start_watch()
        one.watch.send_signal(signal.SIGSTOP)
        one.write("a", "two\n")
        one.alone("it is stopped")
        check("x is stale", one.read("x") == "two\n")
        one.watch.send_signal(signal.SIGCONT)
        one.write("a", "three\n")
        one.asked()
        check("x is stale", one.read("x") == "three\n")


def interrupted():
    with Project("build x: go a\nbuild y: r b\n", a="one\n", b="b\n", go="") as one:
        one.start_watch()
        one.ran("x", "y")
        os.unlink(one.folder / "go")
        one.write("a", "two\n")
        served, queued = one.start(), one.start()
        until("x does not begin", lambda: "x" in one.read("ran"))
        one.await_clients(2)
        for client in (served, queued):
            client.send_signal(signal.SIGINT)
            said = client.communicate(timeout=PATIENCE_S)[0]
            check(f"exit code {client.returncode}", client.returncode == 130 and "interrupted" in said, said)
        check("the watch has ended with its client", one.watch.poll() is None)
        one.write("go", "")
        one.asked()
        check("x is stale", one.read("x") == "two\n")
        one.ran("x")


def junk_at_the_door():
    with Project("build x: r a\n", a="one\n") as one:
        one.start_watch()
        one.asked()
        address = one.sockets()[0]
        silent = [socket.socket(socket.AF_UNIX) for _ in range(8)]
        for one_socket in silent:
            one_socket.connect(address)
        silent[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
        silent[1].sendall(b"larder watch 1\n" + b"\xff" * 4)
        silent[2].sendall(b"larder watch 1\n" + b"\4\0\0\0junk")
        silent[3].sendall(b"larder watch 1\n" + b"\xff\0\0\0")  # and no more
        for one_socket in silent[:3]:
            check("junk is not shown out", one_socket.recv(1) == b"")
        one.write("a", "two\n")
        one.asked()
        check("x is stale", one.read("x") == "two\n")
        for one_socket in silent:
            one_socket.close()


def a_second_watch_is_no_trouble():
    with Project("build x: r a\n", a="one\n") as one:
        one.start_watch("-d", "explain")
        one.start_watch("-d", "explain")
        check("it is not told", "another watch is asked here" in one.read("said"))
        one.asked()


def a_strangers_socket():
    if os.geteuid() != 0:
        print("a stranger's socket: not tried, only root can be somebody else")
        return
    with Project("build x: r a\n", a="one\n") as one:
        one.start_watch()
        address = one.sockets()[0]
        one.watch.kill()
        one.watch.wait()
        ready, begin = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            door = socket.socket(socket.AF_UNIX)
            door.bind(address)
            door.listen()
            os.write(begin, b"x")
            time.sleep(1000)
            os._exit(0)
        try:
            os.read(ready, 1)
            one.write("a", "two\n")
            one.alone("its socket is that of another user, number 65534")
            check("x is stale", one.read("x") == "two\n")
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        # And the other way round: who is not the user is not heard.
        one.start_watch()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            door = socket.socket(socket.AF_UNIX)
            door.connect(address)
            os._exit(0 if door.recv(1) == b"" else 1)
        check("a stranger is heard", os.waitpid(child, 0)[1] == 0)


def main():
    scenarios = [what_was_written_before_is_seen, it_tells_what_a_build_tells, tasks_run_each_time,
                 what_the_watch_does_not_keep_is_built_alone, other_surroundings_are_built_alone,
                 a_program_that_comes_first_is_seen, manifests_change_and_break, two_at_once, killed_while_it_builds,
                 stopped, interrupted, junk_at_the_door, a_second_watch_is_no_trouble, a_strangers_socket]
    for scenario in scenarios:
        if len(sys.argv) > 2 and scenario.__name__ not in sys.argv[2:]:
            continue
        try:
            scenario()
        except (Failure, subprocess.TimeoutExpired) as failure:
            print(f"FAIL: {scenario.__name__.replace('_', ' ')}: {failure}")
            return 1
    print("every scenario holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
