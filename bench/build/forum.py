#!/usr/bin/env python3
"""Measures the forum of examples/forum: from an edit to the product and to the line that announces it, under `larder
serve`; beside ninja, make and tup, which are run after each edit, in the same run; and how long requests take under a
load of edits.

  forum.py --build build/release --results FOLDER [--quick] [--posts N] [--edits N] [--picture FILE]

A comment must announce its own page and no other. Bar: that page is announced after at most 20 ms, nothing is stale.
Exits 0 when it holds, 1 when it does not.
"""
import argparse
import http.client
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402
import forum_chart  # noqa: E402
import forum_peers  # noqa: E402

COMMENT_MAX_MS = 20


def text_of(post, title, comments):
    return f"{title}\nWhat post {post} says.\n" + "".join(f"Comment {i}.\n" for i in range(comments))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--results")
    parser.add_argument("--posts", type=int)
    parser.add_argument("--edits", type=int)
    parser.add_argument("--picture")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    posts = arguments.posts or (50 if arguments.quick else 1000)
    edits = arguments.edits or (5 if arguments.quick else 31)
    build = pathlib.Path(arguments.build).resolve()
    top = pathlib.Path(tempfile.mkdtemp(prefix="larder-forum-bench-"))
    row = {"posts": posts}
    serve = None
    try:
        def lay_out(name):
            subprocess.run([ROOT / "examples/forum/make_forum.sh", build / "examples/forum_render", top / name,
                            str(posts)], check=True)
            return top / name

        forum = lay_out("larder")
        serve = subprocess.Popen([build / "tool/larder", "serve", "--port", "0", "--site", "site", "--quiet"],
                                 cwd=forum, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        announced = []  # pages

        def until(part):
            for line in serve.stdout:
                if line.startswith("larder: changed site/"):
                    announced.append(line)
                if part in line:
                    return line
            raise RuntimeError("serve has ended")

        port = int(until("larder: serving ").rsplit(":", 1)[1].strip("/\n"))
        until("larder: watching ")
        announced.clear()  # the first build announces all
        waits = []
        stop = threading.Event()

        def ask():
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            i = 0
            while not stop.is_set():
                i = i % posts + 1
                begin = time.perf_counter()
                client.request("GET", f"/{i}.html")
                client.getresponse().read()
                waits.append((time.perf_counter() - begin) * 1000)
                time.sleep(0.001)

        def comment(i):
            post = i % posts + 1
            begin = time.perf_counter()
            (forum / f"posts/{post}").write_text(text_of(post, f"Title of post {post}", i + 1))
            until(f"larder: changed site/{post}.html")
            return (time.perf_counter() - begin) * 1000

        def title(i):
            begin = time.perf_counter()
            had = len(announced)
            (forum / "posts/1").write_text(text_of(1, f"Title {i}", 1))
            while len(announced) < had + posts:
                until("larder: changed site/")
            took = (time.perf_counter() - begin) * 1000
            pages = [(forum / f"site/{n}.html").read_text() for n in range(1, posts + 1)]
            row["stale"] = row.get("stale", 0) + sum(f">Title {i}</a>" not in page for page in pages)
            return took

        comments = []
        for i in range(edits):
            time.sleep(0.12)  # a person's pace
            comments.append(comment(i))
        row["comment_ms"] = statistics.median(comments)
        row["announced_by_comment"] = len(announced) / edits
        row["title_ms"] = statistics.median(title(i) for i in range(3))
        asker = threading.Thread(target=ask)
        asker.start()
        for i in range(edits):
            comment(edits + i)
        title(99)
        stop.set()
        asker.join()
        waits.sort()
        row["request_p50_ms"], row["request_p99_ms"] = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
        row["requests"] = len(waits)
        serve.terminate()
        serve.wait()
        render = build / "examples/forum_render"
        for name in filter(forum_peers.is_there, forum_peers.NAMES):
            comment_ms, title_ms, stale = forum_peers.measure(name, lay_out(name), render, posts, text_of)
            row |= {f"{name}_comment_ms": comment_ms, f"{name}_title_ms": title_ms, f"{name}_stale": stale}
    finally:
        if serve is not None and serve.poll() is None:
            serve.terminate()
            serve.wait()
        shutil.rmtree(top, ignore_errors=True)
    print(json.dumps(row))
    machine.keep(arguments.results, "forum.json", row)
    if arguments.picture:
        pathlib.Path(arguments.picture).write_text(forum_chart.draw(row))
    is_slow = not arguments.quick and row["comment_ms"] > COMMENT_MAX_MS
    missed = row["stale"] != 0 or row["announced_by_comment"] != 1 or is_slow
    if missed:
        print("bar missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
