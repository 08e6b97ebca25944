#!/usr/bin/env python3
"""The forum: a comment on a post makes and announces that post's page only; a new title makes the sidebar and all pages,
and leaves nothing stale; pages are answered meanwhile. Nothing sleeps. Usage: forum_test.py LARDER RENDER"""
import http.client
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
POSTS = 1000
PATIENCE = 200


def main():
    larder, render = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="larder-forum-") as name:
        forum = pathlib.Path(name)
        subprocess.run([HERE / "make_forum.sh", render, forum, str(POSTS)], check=True)
        serve = subprocess.Popen([larder, "serve", "--port", "0", "--site", "site", "-d", "explain", "--quiet"],
                                 cwd=forum, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        watchdog = threading.Timer(PATIENCE, serve.kill)
        watchdog.start()

        def until(part):
            """Lines up to the one that holds `part`."""
            lines = []
            for line in serve.stdout:
                lines.append(line)
                if part in line:
                    return lines
            raise AssertionError(f"no {part!r} in {lines[-20:]}")

        def change(post, text):
            """Which products are announced, and which steps ran."""
            (forum / "beside").write_text(text)
            (forum / "beside").rename(forum / "posts" / str(post))
            lines = until(": done, ")
            changed = {line.split()[2] for line in lines if line.startswith("larder: changed ")}
            ran = {line.split()[2] for line in lines if " runs: " in line}
            return changed, ran

        try:
            port = int(until("larder: serving ")[-1].rsplit(":", 1)[1].strip("/\n"))
            until("larder: watching ")
            changed, ran = change(7, "Title of post 7\nWhat post 7 says.\nA comment.\n")
            assert changed == {"site/7.html"}, changed
            assert ran == {"titles/7", "site/7.html"}, ran
            answers = []

            def ask():
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                while not stop.is_set():
                    client.request("GET", "/500.html")
                    body = client.getresponse().read()
                    assert body.count(b"<li>") == POSTS and b"</body>" in body, "half a page"
                    answers.append(body)

            stop = threading.Event()
            asker = threading.Thread(target=ask)
            asker.start()
            changed, ran = change(7, "Another title\nWhat post 7 says.\nA comment.\n")
            stop.set()
            asker.join(PATIENCE)
            assert len(answers) > 1, "nobody was answered meanwhile"
            assert changed == {f"site/{i}.html" for i in range(1, POSTS + 1)}, len(changed)
            assert ran == changed | {"titles/7", "sidebar.html"}, len(ran)
            stale = [i for i in range(1, POSTS + 1)
                     if "Another title</a>" not in (forum / f"site/{i}.html").read_text()]
            assert not stale, f"{len(stale)} stale sidebars"
        finally:
            watchdog.cancel()
            serve.terminate()
            serve.wait()
    print("every page is as it should be")


main()
