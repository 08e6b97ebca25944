"""The forum of examples/forum under tools that are run after each edit: ninja with the manifest as it is, make and tup
with the same rules in their own words. tup is told that a title which comes out the same ends the matter (^o^), which its
documentation has for the purpose; make has no such words, and the manifest has none for ninja."""
import os
import pathlib
import shutil
import statistics
import subprocess
import time

NAMES = ("ninja", "make", "tup")


def write_make(forum, render, posts):
    titles = " ".join(f"titles/{post}" for post in range(1, posts + 1))
    pages = " ".join(f"site/{post}.html" for post in range(1, posts + 1))
    for folder in ("titles", "site"):
        (forum / folder).mkdir()
    (forum / "Makefile").write_text(
        f"all: {pages}\n.DELETE_ON_ERROR:\n.SECONDARY:\n"
        f"titles/%: posts/%\n\t{render} title $< $@\n"
        f"sidebar.html: {titles}\n\t{render} sidebar list $@\n"
        f"site/%.html: posts/% sidebar.html\n\t{render} page $^ $@\n")


def write_tup(forum, render, posts):
    (forum / "build.ninja").unlink()
    subprocess.run(["tup", "init"], cwd=forum, check=True, capture_output=True)
    (forum / "Tupfile").write_text(
        f": foreach posts/* |> ^o^ {render} title %f %o |> titles/%b\n"
        f": list | titles/* |> ^o^ {render} sidebar list %o |> sidebar.html\n"
        f": foreach posts/* | sidebar.html |> {render} page %f sidebar.html %o |> site/%b.html\n")


def is_there(name):
    return shutil.which(name) is not None and (name != "tup" or os.path.exists("/dev/fuse"))


def measure(name, forum, render, posts, text_of, times=3):
    """Medians in ms of a comment and of a title under the tool, and how many pages are stale at the end."""
    words = {"ninja": ["ninja"], "make": ["make", "-s", "-j", str(len(os.sched_getaffinity(0)))], "tup": ["tup"]}[name]
    (forum / "list").write_text("".join(f"titles/{post}\n" for post in range(1, posts + 1)))
    if name == "make":
        write_make(forum, render, posts)
    elif name == "tup":
        write_tup(forum, render, posts)

    def run():
        subprocess.run(words, cwd=forum, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run()
    took = {"comment": [], "title": []}
    for i in range(times):
        for kind, title in (("comment", None), ("title", f"Title {i}")):
            time.sleep(1.1)  # longer than the clock that make and tup go by stands still
            was = (forum / "posts/2").read_text().split("\n", 1)[0]
            (forum / "posts/2").write_text(text_of(2, title or was, 2 * i + (title is None)))
            begin = time.perf_counter()
            run()
            took[kind].append((time.perf_counter() - begin) * 1000)
    pages = [pathlib.Path(forum / f"site/{post}.html").read_text() for post in range(1, posts + 1)]
    stale = sum(f">Title {times - 1}</a>" not in page for page in pages)
    return statistics.median(took["comment"]), statistics.median(took["title"]), stale
