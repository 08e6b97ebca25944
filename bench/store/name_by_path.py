#!/usr/bin/env python3
"""Has a 64-bit program name a library by its path: name_by_path.py PROGRAM SONAME PATH.

PATH must be the program's run path, so that its text is there already: the entry that needs SONAME then points to it,
and the run path goes. Unlike a tool that makes room for a longer name, this adds no segment that would be mapped at
every start.
"""
import struct
import sys

DT_NULL, DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH, DT_VERNEED, DT_VERNEEDNUM = 0, 1, 5, 15, 29, 0x6ffffffe, 0x6fffffff
PT_LOAD, PT_DYNAMIC = 1, 2
DT_OF_NOBODY = 0x60000fff  # a tag that no loader knows


def main():
    program, soname, path = sys.argv[1:]
    with open(program, "rb") as file:
        elf = bytearray(file.read())
    if elf[:5] != b"\x7fELF\x02":
        sys.exit(f"name_by_path.py: {program} is no 64-bit ELF file")
    order = "<" if elf[5] == 1 else ">"

    def get(form, at):
        return struct.unpack_from(order + form, elf, at)

    headers_at, = get("Q", 32)
    size, count = get("HH", 54)
    headers = [get("IIQQQQQQ", headers_at + i * size) for i in range(count)]

    def place(address):
        for kind, _, offset, at, _, in_file, _, _ in headers:
            if kind == PT_LOAD and at <= address < at + in_file:
                return address - at + offset
        sys.exit(f"name_by_path.py: {program} has nothing at {address:#x}")

    at = next(header[2] for header in headers if header[0] == PT_DYNAMIC)
    entries = []
    while not entries or entries[-1][1] != DT_NULL:
        entries.append((at, *get("QQ", at)))
        at += 16
    values = {tag: value for _, tag, value in entries}
    strings = place(values[DT_STRTAB])

    def text(offset):
        return elf[strings + offset:elf.index(b"\0", strings + offset)].decode()

    run_path = next((e for e in entries if e[1] in (DT_RPATH, DT_RUNPATH) and text(e[2]) == path), None)
    needed = next((e for e in entries if e[1] == DT_NEEDED and text(e[2]) == soname), None)
    if run_path is None or needed is None:
        sys.exit(f"name_by_path.py: {program} does not need {soname}, or its run path is not {path}")
    struct.pack_into(order + "Q", elf, needed[0] + 8, run_path[2])
    struct.pack_into(order + "Q", elf, run_path[0], DT_OF_NOBODY)
    at = place(values[DT_VERNEED]) if DT_VERNEED in values else 0
    for _ in range(values.get(DT_VERNEEDNUM, 0)):
        _, _, file_name, _, following = get("HHIII", at)
        if text(file_name) == soname:
            struct.pack_into(order + "I", elf, at + 4, run_path[2])
        at += following
    with open(program, "wb") as file:
        file.write(elf)


if __name__ == "__main__":
    main()
