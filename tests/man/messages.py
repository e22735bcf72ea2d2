#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""messages - rocin-troubleshooting(7) has every sentence that users are told, and no other.

usage: messages SOURCE-DIRECTORY

The sentences are the formats of rn_fail(), and of rn_log() for warnings and errors, where
programs and rocind speak; "..." on the page stands for what a format fills in.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
PAGE = ROOT / "tools/man/rocin-troubleshooting.7"
SPEAKERS = ("provider", "sim/kernel", "tools/rocind", "transport/io")
CALL = re.compile(r"\b(?:rn_fail|rn_log)\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A format may begin with a macro that is a string.
FORMAT = re.compile(r'(?:\b([A-Z_]+)\s*)?"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')
DIRECTIVE = re.compile(r"%[-+ #0]*[0-9*]*(?:\.[0-9*]+)?(?:hh|h|ll|l|z)?[a-zA-Z]")
FOREIGN = "What the standard programs say"


def call_text(source, start):
    """The arguments of the call whose "(" ends at @start."""
    depth, at = 1, start
    while depth:
        if source[at] == '"':
            at = STRING.match(source, at).end()
            continue
        depth += {"(": 1, ")": -1}.get(source[at], 0)
        at += 1
    return source[start : at - 1]


def plain(text):
    """As a page has it, with one "..." for what is filled in, spaces as they come."""
    text = DIRECTIVE.sub("...", text).replace("%%", "%").replace('\\"', '"')
    return re.sub(r"\.{3,}", "...", text).strip()


def told():
    """{sentence: file} of the sources."""
    found = {}
    for speaker in SPEAKERS:
        for path in sorted((ROOT / speaker).rglob("*.c")):
            source = path.read_text()
            for call in CALL.finditer(source):
                args = call_text(source, call.end())
                level = re.match(r"\s*RN_LOG_(\w+)", args)
                literal = FORMAT.search(args)
                if literal and (not level or level.group(1) in ("WARN", "ERROR")):
                    macro = "..." if literal.group(1) else ""
                    text = plain(macro + "".join(STRING.findall(literal.group())))
                    if text.strip('. "'):
                        found.setdefault(text, path.relative_to(ROOT))
    return found


def described():
    """Sentences of the page but for those of other programs."""
    found, section = set(), ""
    for line in PAGE.read_text().splitlines():
        if line.startswith(".Ss "):
            section = line[4:]
        item = re.fullmatch(r'\.It "(.*)"', line)
        if item and section != FOREIGN:
            text = item.group(1)
            for escape, char in ((r"\(dq", '"'), (r"\(ga", "`"), (r"\(aq", "'")):
                text = text.replace(escape, char)
            found.add(text)
    return found


def main():
    sources, page = told(), described()
    missing = sorted(set(sources) - page)
    for text in missing:
        print(f"{sources[text]}: not on the page: {text}")
    unknown = sorted(page - set(sources))
    for text in unknown:
        print(f"{PAGE.name}: nobody says: {text}")
    print(f"{len(sources)} sentences")
    return bool(missing or unknown)


if __name__ == "__main__":
    sys.exit(main())
