#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""calls - the table of the calls that the stand-ins of the CUDA libraries have.

usage: calls [--write] SOURCE-DIRECTORY BUILD-DIRECTORY

The table is tools/docs/cuda.md. It follows from sim/cuda/driver/calls.def, sim/cuda/differences.txt and from
what the libraries export; --write writes it. Every call that is named is exported, and every call of the
driver that is exported is named.
"""
import pathlib
import re
import subprocess
import sys

args = [arg for arg in sys.argv[1:] if arg != "--write"]
root, build = map(pathlib.Path, args)
page = root / "tools/docs/cuda.md"
folder = build / "lib/rocin/cuda"

HEAD = """# Calls of CUDA on the stand-ins

What `rocin run --gpu=N` puts into a program's library path (rocin-gpu(7)), call by call. "As documented" means that
the call does what the public reference says, with its error codes; the programs of `tests/gpu/programs` print the same
on the stand-ins as on a real driver. A call that is not in this table is not there: `cuGetProcAddress()` answers
`CUDA_ERROR_NOT_FOUND`, and a program that is linked with it does not start.
"""


def exported(library):
    path = next(iter(sorted(folder.glob(f"lib{library}.so.*"))))
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2].split("@")[0] for line in out.splitlines() if line.split()[1] == "T"}


def strings(text):
    return [part.replace('\\"', '"') for part in re.findall(r'"((?:[^"\\]|\\.)*)"', text)]


def driver():
    """(rows, symbols): the table's lines, and what the library has to export."""
    text = (root / "sim/cuda/driver/calls.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    out, absent, symbols = [], [], {"rn_cuda_register_kernel"}
    for kind, body in re.findall(r"^(TOPIC|CALL|ABSENT)\((.*?)\)$", text, re.M | re.S):
        if kind == "TOPIC":
            out += ["", f"### {strings(body)[0]}", "", "| call | from CUDA | symbol | |", "| --- | --- | --- | --- |"]
        elif kind == "CALL":
            name, version, symbol, per_thread = [part.strip() for part in body.split(",")[:4]]
            note = "".join(strings(body)) or "as documented"
            extra = f", `{per_thread}`" if per_thread != symbol else ""
            release = f"{int(version) // 1000}.{int(version) % 1000 // 10}"
            out.append(f"| `{name}` | {release} | `{symbol}`{extra} | {note} |")
            symbols |= {symbol, per_thread}
        else:
            absent.append("| " + " | ".join(strings(body)) + " |")
    return out + ["", "### Not there", "", "| topic | calls | what would do |", "| --- | --- | --- |"] + absent, symbols


def differences(library):
    notes, absent = {}, []
    for line in (root / "sim/cuda/differences.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        of, names, note = [part.strip() for part in line.split("|")]
        if of != library:
            continue
        if names.startswith("-"):
            absent.append((names[1:], note))
        else:
            notes.update(dict.fromkeys(names.split(), note))
    return notes, absent


def plain(library):
    """Of a library whose calls are as documented unless differences.txt says more."""
    have = exported(library)
    notes, absent = differences(library)
    for name in sorted(set(notes) - have):
        yield f"MISSING {name}"
    same = sorted(name for name in have if name not in notes and not re.search(r"_pt[ds][sz]?$", name)
                  and not name.startswith("__"))
    yield f"As documented: {', '.join(f'`{name}`' for name in same)}."
    yield from ["", "| call | |", "| --- | --- |"]
    yield from (f"| `{name}` | {note} |" for name, note in notes.items())
    if absent:
        yield from ["", "| not there | what would do |", "| --- | --- |"]
        yield from (f"| {names} | {note} |" for names, note in absent)


def main():
    rows, symbols = driver()
    have = {name for name in exported("cuda") if not name.startswith("rn_cuda_")} | {"rn_cuda_register_kernel"}
    # Other names of the same call, for programs that were linked long ago.
    aliases = {name for name in have if name + "_v2" in symbols}
    wrong = [f"calls.def names {name}, which libcuda.so.1 does not export" for name in sorted(symbols - have)]
    wrong += [f"libcuda.so.1 exports {name}, which calls.def does not name" for name in sorted(have - symbols - aliases)]
    text = HEAD + "\n## The driver (`libcuda.so.1`)\n" + "\n".join(rows) + "\n"
    for title, library in (("The runtime (`libcudart.so.12`, `libcudart.so.13`)", "cudart"),
                           ("NVML (`libnvidia-ml.so.1`)", "nvidia-ml"), ("GDRCopy (`libgdrapi.so.2`)", "gdrapi")):
        lines = list(plain(library))
        wrong += [f"differences.txt names {line[8:]}, which {library} does not export"
                  for line in lines if line.startswith("MISSING ")]
        text += f"\n## {title}\n\n" + "\n".join(lines) + "\n"
    if "--write" in sys.argv:
        page.write_text(text)
    elif page.read_text() != text:
        wrong.append(f"{page} is not what follows from the libraries: tests/gpu/programs/calls.py --write {root} {build}")
    print("\n".join(wrong) or f"{len(symbols)} symbols of the driver are in the table")
    sys.exit(bool(wrong))


main()
