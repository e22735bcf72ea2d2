#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sizes - how much a folder and a file of code may hold.

usage: sizes

A folder holds at most FILES files of code, tests included: who looks for a thing reads a list that
fits into a glance, and topics are folders of their own. A file of the product has at most LINES lines:
one that is longer has more than one idea. What is data (scenarios, litmus tests, patches, captures, corpora of
fuzzers, pages) is not counted. FOLDERS lists the folders that may hold more, and why.
"""
import collections
import os
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TOPS = "include", "transport", "provider", "sim", "tools", "tests"
FILES, LINES = 16, 900
CODE = {".c", ".h", ".def", ".sh", ".py", ".awk", ".map"}
FOLDERS = {
    "include/rocin": "each header is a contract between folders, and #include names it by one word",
}


def code():
    """All files of code, and those that run as programs."""
    for top in TOPS:
        for path in sorted((SOURCE / top).rglob("*")):
            name = str(path.relative_to(SOURCE))
            if path.is_file() and not name.startswith("tests/fuzz/corpus/") and (
                    path.suffix in CODE or path.name == "CMakeLists.txt" or os.access(path, os.X_OK)):
                yield path, name


def wrong():
    files = collections.Counter()
    for path, name in code():
        files[os.path.dirname(name)] += 1
        lines = path.read_bytes().count(b"\n")
        if lines > LINES and not name.startswith("tests/"):
            yield f"{name} has {lines} lines: cut it where one idea ends, {LINES} are enough for one"
    for folder, count in sorted(files.items()):
        if count > FILES and folder not in FOLDERS:
            yield f"{folder} has {count} files of code: give its topics folders, {FILES} are enough for one"
    for folder in sorted(FOLDERS):
        if files[folder] <= FILES:
            yield f"{folder} has {files[folder]} files and is no exception any more: take it out of sizes.py"


def main():
    found = list(wrong())
    print("\n".join(found) or "folders and files are as large as they may be")
    sys.exit(bool(found))


main()
