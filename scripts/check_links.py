#!/usr/bin/env python3
"""Fails on every link of a page below FOLDER to a file that is not there. Usage: check_links.py [FOLDER]"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def pages(folder):
    if folder != ROOT:
        return sorted(folder.rglob("*.md"))
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], check=True, capture_output=True, text=True)
    return [ROOT / name for name in tracked.stdout.split()]


def main():
    folder = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    dangling = 0
    found = pages(folder)
    for page in found:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for target in LINK.findall(line):
                if "://" not in target and not (page.parent / target).exists():
                    print(f"{page.relative_to(folder)}:{number}: there is no {target}")
                    dangling += 1
    if not found:
        print(f"check_links: there is no page in {folder}")
    return 1 if dangling or not found else 0


if __name__ == "__main__":
    sys.exit(main())
