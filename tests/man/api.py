#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""api - every public call has a page of section 3, with the prototypes and types of the headers.

usage: api [--write] SOURCE-DIRECTORY [BUILD-DIRECTORY]

The public headers are those that define what librocin-gpu and librocin-device export. What stands
in SYNOPSIS follows from the headers: the prototypes of the calls that NAME has, and the types that
the comment `.\\" types:' lists, with their comments. --write puts that into the pages. With
BUILD-DIRECTORY the libraries, too, export what the headers declare and no more.
"""
import pathlib
import re
import subprocess
import sys

HEADERS = {"pcie": "rocin-gpu", "gpu": "rocin-gpu", "storage": "rocin-gpu", "device": "rocin-device"}
# Exported for the plugin, by no public header.
PRIVATE = {"rn_host_api"}
SECTIONS = ["NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "ERRORS", "SEE ALSO"]


class Header:
    def __init__(self, name, text):
        self.name = name
        self.text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.M | re.S)
        bare = re.sub(r"/\*.*?\*/", "", self.text, flags=re.S)
        bare = re.sub(r"^#.*(?:\\\n.*)*\n", "", bare, flags=re.M)
        self.calls, depth, statement = {}, 0, ""
        for char in bare:
            statement += char
            depth += {"{": 1, "}": -1}.get(char, 0)
            if char == ";" and depth == 0:
                self.add(" ".join(statement.split()))
                statement = ""

    def add(self, statement):
        """Only of functions and variables: types are found as they stand in the text."""
        if statement.startswith("typedef") or "{" in statement:
            return
        found = re.match(r"(.*?)\b(rn_\w+)\s*(?:\((.*)\)|\[\]);$", statement)
        if found:
            self.calls[found.group(2)] = (found.group(1).strip(), found.group(3))

    def types(self):
        """{name: its text with the comment above it}; an enum without a name is called by its first constant."""
        comment = r"(?:^/\*(?! -{4})(?:(?!\*/).)*?\*/\n)?"
        kinds = (r"^(?P<n>(?:struct|enum) \w+) \{\n.*?^\};\n", r"^enum \{\n(?:\t/\*.*?\*/\n)?\t(?P<n>\w+).*?^\};\n",
                 r"^typedef [^;]*?\b(?P<n>rn_\w+)(?:\([^;]*\))?;\n", r"^#define (?P<n>RN_\w+)(?:\(\w+\))? .*?\n")
        return {found.group("n"): found.group() for kind in kinds
                for found in re.finditer(comment + kind, self.text, re.M | re.S)
                if not found.group("n").endswith("_H")}


def arguments(text):
    """Of a prototype, split at the commas that are in no brackets."""
    depth, args = 0, [""]
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            args.append("")
        else:
            args[-1] += char
    return [arg.strip() for arg in args]


def escaped(line):
    return re.sub(r"^([.'])", r"\\&\1", line.replace("\\", r"\e"))


def synopsis(page, headers):
    """The section as the headers want it."""
    names = re.findall(r"^\.Nm (rn_\w+)", page, re.M)
    listed = re.search(r'^\.\\" types: (.*)$', page, re.M)
    types = listed.group(1).split(", ") if listed else []
    out = [listed.group()] if listed else []
    for header in headers:
        mine = [name for name in names if name in header.calls]
        shown = [text for name, text in header.types().items() if name in types]
        if not mine and not shown:
            continue
        out.append(f".In rocin/{header.name}.h")
        for text in shown:
            out += [".Bd -literal", *(escaped(line) for line in text.rstrip().splitlines()), ".Ed"]
        for name in mine:
            returns, args = header.calls[name]
            if args is None:
                out.append(f'.Vt "{returns} {name}[]" ;')
            else:
                out += [f'.Ft "{returns}"', f".Fo {name}", *(f'.Fa "{arg}"' for arg in arguments(args)), ".Fc"]
    return "\n".join(out) + "\n"


def written(page, headers):
    return re.sub(r"(?<=^\.Sh SYNOPSIS\n).*?(?=^\.Sh )", lambda _: synopsis(page, headers), page, count=1, flags=re.M | re.S)


def complaints(path, page, headers):
    if written(page, headers) != page:
        yield "SYNOPSIS is not what the headers say (--write)"
    sections = re.findall(r"^\.Sh (.*)$", page, re.M)
    for section in SECTIONS:
        if section not in sections:
            yield f"no section {section}"
    if not re.search(r"^\.Ss Threads$", page, re.M):
        yield "no section about threads"
    body = page[page.find(".Sh DESCRIPTION"):]
    names = re.findall(r"^\.Nm (rn_\w+)", page, re.M)
    if path.stem not in names:
        yield "its name is none of its calls"
    for name in names:
        if not re.search(rf"\b{name}\b", body):
            yield f"DESCRIPTION has nothing about {name}"


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {name for name in re.findall(r"\b(rn_\w+)", out)} - PRIVATE


def main():
    write = "--write" in sys.argv
    root, *build = (pathlib.Path(arg) for arg in sys.argv[1:] if arg != "--write")
    headers = [Header(name, (root / f"include/rocin/{name}.h").read_text()) for name in HEADERS]
    calls = {name for header in headers for name in header.calls}
    types = {name for header in headers for name in header.types()}
    wrong, named, shown = [], [], []
    for path in sorted((root / "tools/man/api").glob("rn_*.3")):
        page = path.read_text()
        if write:
            path.write_text(page := written(page, headers))
        wrong += [f"{path.name}: {what}" for what in complaints(path, page, headers)]
        named += re.findall(r"^\.Nm (rn_\w+)", page, re.M)
        for listed in re.findall(r'^\.\\" types: (.*)$', page, re.M):
            shown += listed.split(", ")
    wrong += [f"no page has {name}" for name in sorted((calls - set(named)) | (types - set(shown)))]
    wrong += [f"no public header has {name}" for name in sorted((set(named) - calls) | (set(shown) - types))]
    wrong += [f"more than one page has {name}" for name in sorted(set(named + shown)) if (named + shown).count(name) > 1]
    if build:
        have = {name for library in set(HEADERS.values()) for name in exported(build[0] / f"lib/rocin/lib{library}.so")}
        wrong += [f"no library exports {name}" for name in sorted(calls - have)]
        wrong += [f"exported, but in no public header: {name}" for name in sorted(have - calls)]
    print("\n".join(wrong) or f"{len(calls)} calls and {len(types)} types of {len(headers)} headers have their pages")
    sys.exit(bool(wrong))


main()
