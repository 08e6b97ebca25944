#!/usr/bin/env python3
"""`larder serve` by the real command and by raw sockets: what is sent, when it changes, and what clients cannot do.
Nothing sleeps: a test waits, at most a minute, for a line, an event or an answer. Usage: serve_test.py LARDER"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

LARDER = str(pathlib.Path(sys.argv[1]).resolve())
PATIENCE = 60
MANIFEST = """
rule page
  command = echo $out >>ran; sh render $in >$out
build site/index.html: page index.txt | render
build site/sub/index.html: page sub.txt | render
build site/style.css: page style.txt | render
build site/big.txt: page big.txt | render
"""
RENDER = 'while [ -e hold ]; do : half >&1; printf "half of it"; timeout 0.01 cat nothing; done; cat "$@"; [ ! -e broken ]\n'


class Serve:
    def __init__(self, *words):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-serve-"))
        self.write("build.ninja", MANIFEST)
        self.write("render", RENDER)
        os.mkfifo(self.folder / "nothing")
        self.write("index.txt", "<html><body>one</body></html>\n")
        self.write("sub.txt", "sub\n")
        self.write("style.txt", "p {}\n")
        self.write("big.txt", "x" * 3_000_000)
        self.write("secret.txt", "no product\n")
        self.start(*words)

    def write(self, name, text):
        """In one step: nobody sees half of it."""
        beside = self.folder.with_suffix(".put")
        beside.write_text(text)
        beside.rename(self.folder / name)

    def start(self, *words):
        environment = dict(os.environ, HOME=str(self.folder))
        self.process = subprocess.Popen([LARDER, "serve", "--port", "0", "--site", "site", *words], cwd=self.folder,
                                        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.news = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        self.port = int(self.until("larder: serving ").rsplit(":", 1)[1].strip("/\n"))

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.lines.append(None)
            self.news.notify_all()

    def until(self, part, times=1):
        with self.news:
            found = lambda: [line for line in self.lines if line and part in line]
            assert self.news.wait_for(lambda: len(found()) >= times or None in self.lines, PATIENCE), (part, self.lines)
            assert len(found()) >= times, (part, self.lines)
            return found()[-1]

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), body

    def raw(self, data):
        """All that the server sends until it ends the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.sendall(data)
            got = b""
            try:
                while piece := client.recv(65536):
                    got += piece
            except ConnectionResetError:
                pass
            return got

    def events(self, query=""):
        return Events(self.port, query)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        shutil.rmtree(self.folder)
        assert code == 0, code


class Events:
    def __init__(self, port, query):
        self.client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.client.sendall(b"GET /.larder/events" + query.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.file = self.client.makefile("rb")
        while self.file.readline() != b"\r\n":
            continue
        assert self.file.readline() == b"retry: 1000\n"

    def next(self):
        name = None
        while True:
            line = self.file.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                return name, json.loads(line[6:])


def is_served_with_etag_and_304(serve):
    serve.until("larder: watching")
    status, headers, body = serve.ask("/")
    assert status == 200 and b"one" in body and b"/.larder/live.js" in body, (status, body)
    assert body.index(b"live.js") < body.index(b"</body>")
    assert headers["Content-Type"].startswith("text/html")
    etag = headers["ETag"]
    assert serve.ask("/", If_None_Match=etag)[0] == 304
    assert serve.ask("/", If_None_Match='"other"')[0] == 200
    status, headers, body = serve.ask("/", "HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 30
    status, headers, _ = serve.ask("/sub")
    assert status == 301 and headers["Location"] == "/sub/"
    assert serve.ask("/sub/")[0] == 200
    assert serve.ask("/style.css")[2] == b"p {}\n"
    assert len(serve.ask("/big.txt")[2]) == 3_000_000
    assert serve.ask("/.larder/live.js")[0] == 200


def what_no_step_makes_is_not_there(serve):
    serve.until("larder: watching")
    for path in ("/none", "/secret.txt", "/build.ninja", "/../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd",
                 "/sub/../../secret.txt", "/.larder/build.ninja.log", "/..%2fsecret.txt"):
        assert serve.ask(path)[0] == 404, path
    os.remove(serve.folder / "site/big.txt")
    os.symlink("/etc/passwd", serve.folder / "site/big.txt")
    assert b"root:" not in serve.ask("/big.txt")[2]
    status, headers, _ = serve.ask("/", "POST")
    assert status == 405 and headers["Allow"] == "GET, HEAD"
    for stranger in ("evil.example", "127.evil.example", "[::1].evil.example", "localhost.evil.example", "evil.example:80"):
        assert serve.ask("/", Host=stranger)[0] == 421, stranger
    for own in ("127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "a.localhost", "localhost:1"):
        assert serve.ask("/", Host=own)[0] == 200, own


def bad_input_is_refused(serve):
    serve.until("larder: watching")
    assert serve.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert serve.raw(b"GET / HTTP/1.1\nHost: x\n\n").startswith(b"HTTP/1.1 400 ")
    assert serve.raw(b"GET /" + b"x" * 20000).startswith(b"HTTP/1.1 414 ")
    assert serve.raw(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello").startswith(b"HTTP/1.1 413 ")
    assert serve.raw(b"\x16\x03\x01\x02\x00\x01\x00\n").startswith(b"HTTP/1.1 400 ")
    # Three at once in one packet are answered in their order.
    get = b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /sub/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = serve.raw(get + get + last)
    assert answer.count(b"p {}\n") == 2 and answer.rstrip().endswith(b"</script>"), answer


def connections_are_bounded(serve):
    serve.until("larder: watching")
    held = [socket.create_connection(("127.0.0.1", serve.port), timeout=PATIENCE) for _ in range(256)]
    held[0].sendall(b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n")  # it and those before were accepted
    assert held[0].recv(1000).startswith(b"HTTP/1.1 200 ")
    held[-1].sendall(b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert held[-1].recv(1000).startswith(b"HTTP/1.1 200 ")
    assert serve.raw(b"") .startswith(b"HTTP/1.1 503 ")
    for one in held:
        one.close()
    for _ in range(PATIENCE * 100):  # until it has seen that they are gone
        if serve.raw(b"GET /style.css HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421"):
            break
        if serve.raw(b"GET /style.css HTTP/1.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200"):
            break
    else:
        raise AssertionError("places do not become free")


def only_what_differs_is_told(serve):
    serve.until("larder: watching")
    etag = serve.ask("/")[1]["ETag"].strip('"s')
    events = serve.events("?page=/index.html&etag=" + etag)
    serve.write("index.txt", "<html><body>one</body></html>\n")
    serve.write("style.txt", "p { color: red }\n")
    assert events.next() == ("changed", ["/style.css"])
    serve.write("index.txt", "<html><body>two</body></html>\n")
    assert events.next() == ("changed", ["/index.html"])
    assert b"two" in serve.ask("/")[2]
    # Who was away hears of it at once.
    assert serve.events("?page=/index.html&etag=" + etag).next() == ("changed", ["/index.html"])


def never_half_of_it(serve):
    serve.until("larder: watching")
    events = serve.events()
    serve.write("hold", "")
    serve.write("index.txt", "<html><body>new</body></html>\n")
    for _ in range(PATIENCE * 1000):
        if "half" in (serve.folder / "site/index.html").read_text():
            break
    else:
        raise AssertionError("the command does not begin")
    for _ in range(20):
        status, _, body = serve.ask("/")
        assert status == 200 and b"one" in body and b"half" not in body, body
    os.remove(serve.folder / "hold")
    assert events.next() == ("changed", ["/index.html"])
    assert b"new" in serve.ask("/")[2]


def errors_are_shown_in_pages(serve):
    serve.until("larder: watching")
    events = serve.events()
    serve.write("broken", "")
    serve.write("index.txt", "<html><body>bad</body></html>\n")
    name, text = events.next()
    assert name == "trouble" and "FAILED: site/index.html" in text, text
    assert b"one" in serve.ask("/")[2]  # what was whole
    serve.write("index.txt", "<html><body>still bad</body></html>\n")
    serve.until("larder: waiting for a change", 2)  # the same trouble: not told again, below
    assert serve.events().next()[0] == "trouble"
    os.remove(serve.folder / "broken")
    serve.write("index.txt", "<html><body>good</body></html>\n")
    told = sorted(events.next()[0] for _ in range(2))
    assert told == ["changed", "mended"], told
    assert b"good" in serve.ask("/")[2]


def what_was_never_built_waits_or_says_why(serve):
    serve.until("larder: watching")
    serve.process.send_signal(signal.SIGTERM)
    assert serve.process.wait(PATIENCE) == 0
    shutil.rmtree(serve.folder / "site")
    shutil.rmtree(serve.folder / ".larder")
    serve.write("hold", "")
    serve.start("-k", "0")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(serve.ask("/")))
    thread.start()
    serve.ask("/none")  # the one before is taken in by now, and waits
    serve.write("broken", "")
    os.remove(serve.folder / "hold")
    thread.join(PATIENCE)
    assert answers[0][0] in (200, 503), answers
    serve.until("larder: waiting for a change")
    status, _, body = serve.ask("/")
    assert status == 503 and b"FAILED" in body and b"live.js" in body, body


def pages_can_be_left_alone(serve):
    serve.until("larder: watching")
    serve.process.send_signal(signal.SIGTERM)
    serve.process.wait(PATIENCE)
    serve.start("--no-script")
    serve.until("larder: watching")
    assert serve.ask("/")[2] == b"<html><body>one</body></html>\n"


for scenario in (is_served_with_etag_and_304, what_no_step_makes_is_not_there, bad_input_is_refused,
                 connections_are_bounded, only_what_differs_is_told, never_half_of_it, errors_are_shown_in_pages,
                 what_was_never_built_waits_or_says_why, pages_can_be_left_alone):
    one = Serve()
    try:
        scenario(one)
    except BaseException:
        print(f"FAIL: {scenario.__name__}", *(line for line in one.lines if line), sep="\n", file=sys.stderr)
        one.process.kill()
        raise
    one.end()
    print(f"{scenario.__name__}: ok", flush=True)
