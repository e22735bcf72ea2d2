#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""counts - the numbers of rocin-correctness(7), tools/docs/visibility.md and tests/rules.md are those of the source tree.

usage: counts [--write] SOURCE-DIRECTORY

An item of the page that begins with a number, the line of visibility.md about litmus tests and the last line of
rules.md are compared with what is counted here; --write puts the right numbers there.
"""
import pathlib
import re
import sys


def lines(path):
    """Those that say something: no comments, not empty."""
    return [x for x in path.read_text().splitlines() if x.strip() and not x.startswith("#")]


def worlds(path):
    """How many seeds the tests of sim play that are always run."""
    return sum(
        int(last)
        for test, last in re.findall(r"add_test\(NAME (\S+) COMMAND rocin sim .*?--seeds 1\.\.(\d+)", path.read_text())
        if not test.startswith("long.")
    )


def counted(tests):
    rules = (tests / "rules.md").read_text()
    return {
        "rules": len(set(re.findall(r"^\| ([A-Z]\d+[a-z]?) \|", rules, re.M))),
        "scenarios": len(list((tests / "sim/scenario").rglob("*.scn"))),
        "rules without a scenario": len(lines(tests / "sim/scenario/uncovered.txt")),
        "cells": len(lines(tests / "sim/scenario/cells.txt")),
        "broken transports": len(list((tests / "sim/scenario/broken").glob("*.patch"))),
        "captures": len(list((tests / "captures").glob("*.pcap"))),
        "worlds": worlds(tests / "sim/world/CMakeLists.txt"),
        "broken cores": len(list((tests / "sim/world/broken").glob("*.patch"))),
        "litmus tests": sum(
            len(re.findall(r"^RDMA ", x.read_text(), re.M)) for x in (tests / "sim/litmus").glob("*.litmus")
        ),
        "broken models": len(list((tests / "sim/litmus/broken").glob("*.patch"))),
        "tests of pyverbs": len(lines(tests / "e2e/suites/pyverbs-skips.txt")),
        "fuzz targets": len(list((tests / "fuzz").rglob("fuzz_*.c"))),
    }


def total(rules):
    """The last line of rules.md: how many rules each group has, and all of them."""
    groups = {}
    for rule in dict.fromkeys(re.findall(r"^\| ([A-Z]\d+[a-z]?) \|", rules, re.M)):
        groups[rule[0]] = groups.get(rule[0], 0) + 1
    return f"Total: {' '.join(f'{name}{count}' for name, count in groups.items())} = **{sum(groups.values())}**."


def correct_page(name, text, now, wrong):
    """The text with the right numbers; what was not right goes into the list."""
    seen = set()

    def put(match):
        number, what = int(match.group(1)), match.group(2)
        seen.add(what)
        if number != now.get(what):
            wrong.append(f"{name}: {number} {what}, counted: {now.get(what)}")
        return f'.It "{now.get(what, number)} {what}"'

    text = re.sub(r'^\.It "(\d+) (.*)"$', put, text, flags=re.M)
    wrong += [f"{name}: nothing about {what}" for what in now.keys() - seen]
    return text


def correct_line(name, text, pattern, right, wrong):
    """The same of a text in which one place says a number."""
    found = re.search(pattern, text, re.M)
    if not found:
        wrong.append(f"{name}: nothing like {right}")
        return text
    if found.group() != right:
        wrong.append(f"{name}: {found.group()}, counted: {right}")
    return text.replace(found.group(), right)


def main():
    is_writing = sys.argv[1] == "--write"
    root = pathlib.Path(sys.argv[-1])
    now, wrong = counted(root / "tests"), []
    page, guide, rules = (root / x for x in ("tools/man/rocin-correctness.7", "tools/docs/visibility.md", "tests/rules.md"))
    texts = {
        page: correct_page(page.name, page.read_text(), now, wrong),
        guide: correct_line(guide.name, guide.read_text(), r"\d+ small programs against",
                             f"{now['litmus tests']} small programs against", wrong),
        rules: correct_line(rules.name, rules.read_text(), r"^Total: .*$", total(rules.read_text()), wrong),
    }
    if is_writing:
        for path, text in texts.items():
            path.write_text(text)
        return 0
    print("\n".join(wrong) or f"{len(now) + 2} numbers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
