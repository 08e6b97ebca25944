#!/usr/bin/env python3
"""Dependencies point down: fails on every #include that a folder's .deps does not allow, and on a header of src/ that no
file includes.

A .deps file stands in each folder that is checked: src/*/, and layers, plug-in, tool and the like when they
have one. Its lines:
  floor N          the folder's floor; what it includes must stand on a lower one, unless listed `beside`
  name             a folder of src/ it may include from
  beside name      a folder of src/ on the same floor it may include from
  larder/x.hpp     a public header it may include; `larder/*` allows all of them
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
# Headers that cost seconds to compile live in one source file each.
HEAVY = ("CLI/", "nlohmann/", "httplib.h")


class Rules:
    def __init__(self, folder):
        self.folder = folder
        self.floor = None
        self.allowed = set()
        self.beside = set()
        self.public = set()
        for line in (folder / ".deps").read_text().splitlines():
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] == "floor":
                self.floor = int(words[1])
            elif words[0] == "beside":
                self.beside.add(words[1])
            elif words[0].startswith("larder/"):
                self.public.add(words[0])
            else:
                self.allowed.add(words[0])


def sources(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".hpp", ".cpp", ".h", ".c") and path.is_file():
            yield path


# Folders besides src/ whose files may include what stands there.
USERS = ("src", "include", "tool", "plugin", "layers", "tests", "bench", "fuzz")


def unused_headers():
    included = set()
    for top in USERS:
        for path in sources(ROOT / top) if (ROOT / top).is_dir() else []:
            for line in path.read_text(errors="replace").splitlines():
                match = INCLUDE.match(line)
                if match:
                    included.add(pathlib.PurePath(match.group(2)).name)
    return [path for path in sources(ROOT / "src") if path.suffix == ".hpp" and path.name not in included]


def main():
    complaints = [f"{path.relative_to(ROOT)}: no file includes it" for path in unused_headers()]
    floors = {}
    for folder in sorted((ROOT / "src").iterdir()):
        if not folder.is_dir():
            continue
        if not (folder / ".deps").exists():
            complaints.append(f"{folder.relative_to(ROOT)}: no .deps: which floors may it stand on?")
            continue
        floors[folder.name] = Rules(folder)
        if floors[folder.name].floor is None:
            complaints.append(f"{folder.relative_to(ROOT)}/.deps: no line 'floor N'")
    checked = dict(floors)
    for top in ("tool", "plugin", "layers"):
        for deps in sorted((ROOT / top).rglob(".deps")) if (ROOT / top).is_dir() else []:
            checked[str(deps.parent.relative_to(ROOT))] = Rules(deps.parent)

    for name, rules in sorted(checked.items()):
        for other in rules.allowed | rules.beside:
            if other not in floors:
                complaints.append(f"{name}/.deps names {other}, which is no folder of src/")
            elif rules.floor is not None and floors[other].floor is not None:
                above = floors[other].floor
                if other in rules.allowed and above >= rules.floor:
                    complaints.append(f"{name}/.deps: {other} does not stand below it")
                if other in rules.beside and above != rules.floor:
                    complaints.append(f"{name}/.deps: {other} does not stand beside it")
    # `beside` must not make a ring.
    for name in floors:
        seen, to_see = set(), set(floors[name].beside)
        while to_see:
            other = to_see.pop()
            if other == name:
                complaints.append(f"{name}/.deps: includes itself in a ring of 'beside'")
                break
            if other not in seen and other in floors:
                seen.add(other)
                to_see |= floors[other].beside

    heavy_users = {}
    for name, rules in sorted(checked.items()):
        for path in sources(rules.folder):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                place = f"{path.relative_to(ROOT)}:{number}"
                target = match.group(2)
                if not path.stem.endswith("_test"):
                    for heavy in HEAVY:
                        if target.startswith(heavy):
                            heavy_users.setdefault(heavy, {})[path.relative_to(ROOT)] = place
                if target.startswith("larder/"):
                    detail = target.startswith("larder/detail/")
                    if not detail and target not in rules.public and "larder/*" not in rules.public:
                        complaints.append(f"{place}: {target} is not in {name}/.deps")
                    continue
                first = target.split("/")[0]
                if match.group(1) == "<" or "/" not in target:
                    continue
                if first in floors and first != name and first not in rules.allowed | rules.beside:
                    complaints.append(f"{place}: {target}: {first} is not in {name}/.deps")
    for path in sources(ROOT / "include"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"' and not match.group(2).startswith("larder/"):
                complaints.append(f"{path.relative_to(ROOT)}:{number}: a public header includes {match.group(2)}")
    for heavy, users in heavy_users.items():
        if len(users) > 1:
            complaints.append(f"{heavy} is included by more than one source file: {', '.join(users.values())}")

    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        return 1
    print(f"floors: {len(checked)} folders, every include points down")
    return 0


if __name__ == "__main__":
    sys.exit(main())
