#!/usr/bin/env python3
"""Checks the plugin on the sources beside this file.

Usage: check.py CLANG PLUGIN RUNTIME_LIBRARY SOURCE...
A source says in its comments what must hold:
  FLAGS: ...       instead of -O2
  OPTIONS: ...     LARDER_REUSE_OPTIONS
  FILE name: ...   a file beside the output, a line for each directive; $DIR in OPTIONS leads there
  REMARK: ...      a text among what -Rpass, -Rpass-missed and -Rpass-analysis=larder-reuse print
  NO-REMARK: ...   one that is not there
  IR: ...          a regular expression in the rewritten code
  NO-IR: ...       one that is not there
  ERROR: ...       the compilation fails and says so
  RUN              runs with the plugin as without it: output and exit status
  SKIP-FOR: N      not with LLVM N
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DIRECTIVE = re.compile(r"^\s*(?://|;)\s*(FLAGS|OPTIONS|FILE \S+|REMARK|NO-REMARK|IR|NO-IR|ERROR|RUN|SKIP-FOR)(?::\s?(.*))?$")
REMARKS = [f"-Rpass{kind}=larder-reuse" for kind in ("", "-missed", "-analysis")]


def run(command, environment=None):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120,
                          env={**os.environ, **(environment or {})})


def check(clang, plugin, library, source, scratch):
    directives = {}
    for line in source.read_text().splitlines():
        match = DIRECTIVE.match(line)
        if match:
            directives.setdefault(match.group(1), []).append((match.group(2) or "").strip())
    if not any(kind in directives for kind in ("REMARK", "NO-REMARK", "IR", "NO-IR", "ERROR", "RUN")):
        return [f"{source}: asserts nothing"]
    version = re.search(r"\d+", pathlib.Path(plugin).stem).group()
    if version in directives.get("SKIP-FOR", []):
        return []
    driver = f"clang++-{version}" if source.suffix == ".cpp" else clang
    flags = " ".join(directives.get("FLAGS", ["-O2"])).split()
    for name, lines in directives.items():
        if name.startswith("FILE "):
            (scratch / name.split()[1]).write_text("".join(line.replace("\\t", "\t") + "\n" for line in lines))
    environment = {"LARDER_REUSE_OPTIONS": ",".join(directives.get("OPTIONS", [])).replace("$DIR", str(scratch))}
    base = [driver, *flags, "-w", str(source)]
    with_plugin = base + [f"-fpass-plugin={plugin}"]
    complaints = []

    ir_file = scratch / "out.ll"
    compiled = run(with_plugin + REMARKS + ["-fno-discard-value-names", "-S", "-emit-llvm", "-o", str(ir_file)], environment)
    if "ERROR" in directives:
        if compiled.returncode == 0:
            complaints.append("the compilation succeeded")
        complaints += [f"no error '{text}'" for text in directives["ERROR"]
                       if text.replace("$DIR", str(scratch)) not in compiled.stderr]
    elif compiled.returncode != 0:
        complaints.append(f"clang failed")
    complaints += [f"no remark '{text}'" for text in directives.get("REMARK", []) if text not in compiled.stderr]
    complaints += [f"a remark '{text}'" for text in directives.get("NO-REMARK", []) if text in compiled.stderr]
    code = ir_file.read_text() if ir_file.exists() else ""
    complaints += [f"no code like '{text}'" for text in directives.get("IR", [])
                   if not re.search(text, code, re.M)]
    complaints += [f"code like '{text}'" for text in directives.get("NO-IR", []) if re.search(text, code, re.M)]

    if "RUN" in directives and not complaints:
        results = []
        for command, kind in ((base, "plain"), (with_plugin, "with")):
            program = scratch / kind
            linked = run(command + [library, "-lm", "-lpthread", "-ldl", "-o", str(program)], environment)
            if linked.returncode != 0:
                return [f"{source}: does not link: {linked.stderr}"]
            ran = run([str(program)])
            results.append((ran.returncode, ran.stdout))
            if ran.returncode < 0 or ran.returncode > 1:
                complaints.append(f"{kind}: exit status {ran.returncode}: {ran.stderr}")
        if results[0] != results[1]:
            complaints.append(f"plain: {results[0]}; with the plugin: {results[1]}")
    if complaints:
        complaints.append(compiled.stderr.strip())
    return [f"{source.name}: {complaint}" for complaint in complaints if complaint]


def main():
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    clang, plugin, library, *sources = sys.argv[1:]
    if clang == "missing":
        print(f"SKIP: {plugin} or its clang is not installed")
        return 77
    failed = 0
    for source in sources:
        with tempfile.TemporaryDirectory() as scratch:
            complaints = check(clang, plugin, library, pathlib.Path(source), pathlib.Path(scratch))
        failed += bool(complaints)
        for complaint in complaints:
            print(complaint)
    print(f"{len(sources) - failed} of {len(sources)} as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
