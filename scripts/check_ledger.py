#!/usr/bin/env python3
"""The ledger, docs/acceptance.tsv, tells the truth: a row marked done names tests that exist, run and assert.

Usage: check_ledger.py BUILD_DIR   (a build with the tests in it, as `make test` makes)
Also: every test named in docs/peer-scenarios.md (in backticks, Suite.Case or a ctest name) must exist.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = ["clause", "contract", "tests", "bar", "figure", "state"]
STATES = {"done", "open"}
ASSERTS = re.compile(r"\b(EXPECT_|ASSERT_|RC_ASSERT|FAIL\(|CHECK|assert|exit 1|fail\b|SUCCEED\()|rc::check")
CASE = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)")


def normal(name):
    """Inst/Suite.Case/0, Suite/0.Case and Suite.Case<Type> are instances of Suite.Case."""
    suite, dot, case = name.partition(".")
    if not dot:
        return name
    parts = [part for part in suite.split("/") if not part.isdigit()]
    return f"{parts[-1]}.{re.split('[/<]', case)[0]}"


def ctest_tests(build):
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                             check=True, capture_output=True, text=True).stdout
    tests = {}
    for test in json.loads(listing)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        disabled = bool(properties.get("DISABLED"))
        command = test.get("command", [])
        tests[normal(test["name"])] = (disabled, command)
    return tests


def asserting_cases():
    """Suite.Case -> does its body, or a function of the same file, assert anything?"""
    cases = {}
    for path in ROOT.glob("**/*.cpp"):
        if path.relative_to(ROOT).parts[0] == "build":
            continue
        text = path.read_text(errors="replace")
        found = list(CASE.finditer(text))
        if not found:
            continue
        # What stands outside the cases may be a shared checker that asserts on their behalf.
        for match, following in zip(found, found[1:] + [None]):
            body = text[match.end():following.start() if following else len(text)]
            asserts = bool(ASSERTS.search(body))
            if not asserts:
                # A function or class of the same file may assert on the case's behalf.
                words = set(re.findall(r"\b[A-Za-z_]\w+", body))
                asserts = any(ASSERTS.search(definition) for word in words
                              for definition in re.findall(rf"\b{word}\b[^;{{}}]*{{(.*?)\n}}", text, re.S))
            cases[f"{match.group(1)}.{match.group(2)}"] = asserts
    return cases


def command_asserts(command):
    """A test that is a script or a plain program: does one of its files assert anything?"""
    for word in command:
        path = pathlib.Path(word)
        if path.suffix in (".sh", ".py", ".cmake", ".c", ".cpp") and path.exists():
            return bool(ASSERTS.search(path.read_text(errors="replace"))) or "sys.exit" in path.read_text()
    names = [pathlib.Path(word).name for word in command]
    for suffix in (".c", ".cpp"):
        for path in ROOT.glob(f"tests/**/*{suffix}"):
            # A noun of the C ABI is tested by capi_NOUN_test, made from NOUN_test.c.
            if path.stem in names or f"capi_{path.stem}" in names:
                return bool(ASSERTS.search(path.read_text(errors="replace")))
    return False


def main():
    if len(sys.argv) != 2:
        print("usage: check_ledger.py BUILD_DIR", file=sys.stderr)
        return 2
    tests = ctest_tests(pathlib.Path(sys.argv[1]))
    cases = asserting_cases()
    complaints = []
    counts = {state: 0 for state in STATES}

    def check_test(place, name):
        if name not in tests:
            complaints.append(f"{place}: no test {name}")
            return
        disabled, command = tests[name]
        if disabled:
            complaints.append(f"{place}: test {name} is disabled")
        elif not (cases[name] if name in cases else command_asserts(command)):
            complaints.append(f"{place}: test {name} asserts nothing")

    ledger = ROOT / "docs/acceptance.tsv"
    lines = ledger.read_text().splitlines()
    if lines[:1] != ["\t".join(COLUMNS)]:
        complaints.append(f"{ledger.name}:1: the header must read {' '.join(COLUMNS)}")
    seen = set()
    for number, line in enumerate(lines[1:], 2):
        place = f"{ledger.name}:{number}"
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            complaints.append(f"{place}: {len(fields)} fields, not {len(COLUMNS)}")
            continue
        row = dict(zip(COLUMNS, (field.strip() for field in fields)))
        if row["clause"] in seen:
            complaints.append(f"{place}: the clause stands twice: {row['clause']}")
        seen.add(row["clause"])
        if row["state"] not in STATES:
            complaints.append(f"{place}: state {row['state']!r} is none of {sorted(STATES)}")
            continue
        counts[row["state"]] += 1
        if row["state"] != "done":
            continue
        for contract in filter(None, (c.strip() for c in row["contract"].split(","))):
            if contract != "-" and not (ROOT / contract).exists():
                complaints.append(f"{place}: no file {contract}")
        named = [t.strip() for t in row["tests"].split(",") if t.strip() and t.strip() != "-"]
        if not named and row["bar"] in ("", "-"):
            complaints.append(f"{place}: done, but neither a test nor a command shows it")
        if row["bar"] not in ("", "-") and row["figure"] in ("", "-") and not named:
            complaints.append(f"{place}: done, but no figure was written down")
        for name in named:
            check_test(place, name)

    scenarios = ROOT / "docs/peer-scenarios.md"
    if scenarios.exists():
        for number, line in enumerate(scenarios.read_text().splitlines(), 1):
            for name in re.findall(r"`([A-Z]\w*\.[A-Z]\w*|[a-z]+(?:_[a-z0-9]+)+)`", line):
                check_test(f"{scenarios.name}:{number}", name)

    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        return 1
    print(f"ledger: {counts['done']} done, {counts['open']} open; every test named exists and asserts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
