#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""mutation - what tools/mutate makes of lines of a bank, right and wrong ones.

usage: mutation.py SOURCE-DIRECTORY
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools"))
from mutation import bank, box, build, coverage, judge, report  # noqa: E402  pylint: disable=wrong-import-position

CODE = """
/* limit() is of a(), too. */
#define LIMIT 5
static const int table[] = { 1, 2 };

static int limit(int a, int b)
{
	if (a + b * 2 > LIMIT && /* both */
	    !b)
		return a;
	else
		a++;
	for (int i = 0; i < a; i++)
		b += table[i & 1];
	return b;
}

int twice(int a, int b)
{
	int c = limit(a,
		      b);

	c = -a + b;
	c += limit(b, a);
	return limit(a, b) + c;
}
"""

# What a line says is wrong, by words of the sentence; None for a line that is right.
LINES = [
    ("x.c limit :: a + b * 2 > LIMIT :: a + b * 2 >= LIMIT :: b", None),
    ("x.c limit :: b * 2 :: b * 3 :: b", None),
    ("x.c limit :: a++; :: ; :: b", None),
    ("x.c :: 5 :: 6 :: b", None),
    ("x.c twice #2 :: limit(a, b) :: 0 :: b", None),
    ("x.c twice :: c += limit(b, a); return limit(a, b) + c; :: return c; :: b", None),
    ("x.c twice :: -a :: a :: b", None),
    ("x.c limit :: a + b :: a - b :: b", "binds tighter"),
    ("x.c limit :: b * 2 > LIMIT :: false :: b", "binds as tightly"),
    ("x.c twice :: a + b :: b :: b", "binds tighter: take it in"),
    ("x.c limit :: > LIMIT :: > 6 :: b", "lost what it works on"),
    ("x.c :: { 1, 2 } :: { 2 } :: b", "table"),
    ("x.c :: return a; :: return b; :: b :: equal: no", "wants FILE"),
    ("x.c twice :: limit(a, b) :: 0 :: b", "2 times"),
    ("x.c twice #3 :: limit(a, b) :: 0 :: b", "2 times only, not #3"),
    ("x.c thrice :: a :: b :: b", "has no function thrice"),
    ("x.c limit :: c :: b :: b", "has no 'c'"),
    ("y.c limit :: c :: b :: b", "there is no z/y.c"),
    ("x.c limit :: else a++; :: ; :: b", "parts an if from its else"),
    ("x.c twice :: int c = limit(a, b); :: ; :: b", "declaration"),
    ("x.c limit :: return b; :: b :: b", "replaced by a statement"),
    ("x.c twice :: b, a :: a, b :: b", "comma"),
    ("x.c limit :: (a + b :: a :: b", "bracket"),
    ("x.c limit :: i & 1] :: 0] :: b", "bracket"),
    ("x.c limit :: return b; :: return b; :: b", "is the original"),
]


def load(folder, lines):
    (folder / "z").mkdir(exist_ok=True)
    (folder / "z/x.c").write_text(CODE)
    (folder / bank.BANK).mkdir(parents=True, exist_ok=True)
    (folder / bank.BANK / "z.txt").write_text("# a comment\n\n" + "\n".join(lines) + "\n")
    return bank.load(folder)


def check_lines(folder):
    for line, wanted in LINES:
        _, _, sentences = load(folder, [line])
        said = "\n".join(sentences)
        if (wanted is None) != (not sentences) or wanted and wanted not in said:
            yield f"{line}\n  says: {said or 'nothing'}\n  wanted: {wanted or 'nothing'}"
    _, _, sentences = load(folder, ["x.c limit :: return a; :: ; :: b"] * 2)
    if "delete one" not in "".join(sentences):
        yield "a line that stands twice is not told"
    _, _, sentences = load(folder, ["x.c twice :: c = -a + b; c += limit(b, a); :: ; :: b",
                                    "x.c twice :: c += limit(b, a); return limit(a, b) + c; :: ; :: b"])
    if "overlaps" not in "".join(sentences):
        yield "two sites that overlap in part are not told"


def check_choices(folder):
    """Each mutant does what it says, and without any the code does what it did."""
    lines = ["x.c limit :: a + b * 2 > LIMIT && !b :: true :: b", "x.c limit :: b * 2 :: b * 100 :: b",
             "x.c limit :: b * 2 :: -100 :: b", "x.c limit :: a++; :: a = 0; :: b", "x.c :: 5 :: 1000 :: b",
             "x.c twice :: c = -a + b; :: c = 70; :: b", "x.c twice :: -a :: a :: b"]
    mutants, sources, sentences = load(folder, lines)
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    text = bank.splice(sources["z/x.c"], mutants)
    if sentences or text.count("\n") != CODE.count("\n"):
        yield f"a line of the source stands at another line: {sentences}"
    main = ('#include <stdbool.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic int mutant;\n'
            "#define RN_MUTANT(n) (mutant == (n))\n" + text +
            "int main(int n, char **arg) { mutant = n > 1 ? atoi(arg[1]) : 0;"
            'printf("%d %d %d\\n", limit(6, 0), limit(3, 2), twice(1, 4)); return 0; }\n')
    (folder / "main.c").write_text(main)
    subprocess.run(["cc", "-w", "-o", folder / "main", folder / "main.c"], check=True)
    got = [subprocess.run([folder / "main", str(n)], capture_output=True, text=True, check=True).stdout.strip()
           for n in range(len(mutants) + 1)]
    wanted = ["6 8 18", "6 3 8", "6 8 18", "10 8 18", "6 2 8", "10 8 18", "6 8 85", "6 8 20"]
    if got != wanted:
        yield f"mutants do {got}\n  wanted   {wanted}"


# Lines of coverage.txt, and what is said of them beside what is missing.
ENTRIES = [
    ("it adds :: z/x.c:ID", None),
    ("it adds :: none: nobody knows", None),
    ("it adds :: z/x.c:ID z/x.c:000000", "no mutant z/x.c:000000"),
    ("it adds :: z/x.c:EQUAL", "it is equivalent"),
    ("it subtracts :: z/x.c:ID", "has no 'it subtracts'"),
    ("it adds: z/x.c:ID", "wants CAPABILITY"),
    ("it adds :: z/x.c:ID\nit adds :: z/x.c:ID", "has an entry already"),
    ("# nothing", "no entry that fits 'it adds'"),
]


def check_entries(folder):
    mutants, _, _ = load(folder, ["x.c limit :: a++; :: ; :: b", "x.c :: 5 :: 6 :: b :: equivalent: c"])
    ids = dict(zip(("ID", "EQUAL"), (m.id.rsplit(":", 1)[1] for m in mutants)))
    (folder / coverage.CAPABILITIES).write_text("# a comment\nsums | it adds | unit.x unit.y:f\n")
    for entry, wanted in ENTRIES:
        for word, value in ids.items():
            entry = entry.replace(word, value)
        (folder / coverage.ENTRIES).write_text(entry + "\n")
        sentences = []
        coverage.load(folder, mutants, sentences)
        if (wanted is None) != (not sentences) or wanted and wanted not in "\n".join(sentences):
            yield f"{entry}\n  says: {sentences}\n  wanted: {wanted or 'nothing'}"


def check_functions():
    """Those of a test that have failed, by its output; the last one may have died."""
    passed = "[ RUN      ] a\n[       OK ] a\n"
    failed = "[ RUN      ] b\n[  ERROR   ] --- 1 != 2\n[  FAILED  ] b\n"
    for text, wanted in ((passed, set()), (passed + failed, {"b"}), (failed + "[ RUN      ] c\n", {"b", "c"}),
                         ("[ RUN      ] d\n[  ERROR   ] d\n", {"d"}), (failed + passed + "[  FAILED  ] 1 test(s), listed below:\n", {"b"})):
        if coverage.failed_functions(text) != wanted:
            yield f"functions that failed are {coverage.failed_functions(text)}, not {wanted}:\n{text}"


# Mutants of each folder, how many of them live, and what the bar of the quick tests says of it.
BARS = [
    ({"a/x": (10, 1)}, []),
    ({"a/x": (10, 2)}, ["a/x: 2 of 10"]),
    ({"a/x": (1, 1), "a/y": (7, 0), "a/z": (10, 0)}, []),
    ({"a/x": (1, 1), "a/y": (7, 1), "b/z": (10, 0)}, ["a/...: 2 of 8"]),
]


def check_bars():
    for given, wanted in BARS:
        mutants = [types.SimpleNamespace(folder=folder, equivalent="", id=f"{folder}:{i}", lives=i < alive)
                   for folder, (count, alive) in given.items() for i in range(count)]
        verdicts = {m.id: {"by": "" if m.lives else "unit.x", "quick": True, "all": True, "stamp": 1, "reached": 1}
                    for m in mutants}
        said = report.failures(mutants, types.SimpleNamespace(of=verdicts, stamp=1), True)
        if len(said) != len(wanted) or not all(s.startswith(w) for s, w in zip(said, wanted)):
            yield f"bars of {given}: {said}, not {wanted}"


def verdict(mutant, stamp, by, quick=False, every=True):
    return {"id": mutant, "stamp": stamp, "by": by, "how": "failed", "quick": quick, "all": every, "reached": 1}


def check_pieces(folder):
    """Verdicts of several pieces of a run count together, and those on other sources do not."""
    mutants = [types.SimpleNamespace(folder="a", equivalent="", id=f"a/x.c:{i}", line=1, function="f", old="1",
                                     new="0", breaks="it") for i in range(6)]
    pieces = ([verdict("a/x.c:0", "now", "unit.x", True), verdict("a/x.c:1", "now", ""),
               verdict("a/x.c:2", "now", "", every=False), verdict("a/x.c:4", "before", "unit.x", True),
               verdict("a/x.c:0", "after", "")],
              [verdict("a/x.c:0", "now", "e2e.x"), verdict("a/x.c:2", "now", "e2e.x"),
               verdict("a/x.c:3", "before", ""), verdict("a/x.c:5", "now", "unit.x", True)])
    for number, piece in enumerate(pieces):
        text = "".join(json.dumps(entry) + "\n" for entry in piece)
        (folder / f"piece{number}").write_text(text + '{"id": "a/x.c:1", "st')
    results = judge.Results(folder / "piece0", "now")
    if results.join(folder / "piece1") != 2 or results.join(folder / "piece1") != 0:
        yield "other verdicts are taken over than those that are not known yet"
    for found in (results, judge.Results(folder / "piece0", "now")):
        text = report.text(mutants, found)
        if text.splitlines()[1].split() != "a 6 2 4 0 2 50 % 3 75 % 1 0".split():
            yield f"the table of two pieces is\n{text}"
        if "2 mutants were never run on these sources: tools/mutate; 1 of them have verdicts on others" not in text:
            yield f"it is not said how many were never run:\n{text}"


def check_box():
    """A run finds the tree and the mutant that is chosen, also where the tree lies in /tmp."""
    words = box.how()
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = build.Place(pathlib.Path(name))
        place.top.mkdir(parents=True)
        for file in (place.chosen, place.reached):
            file.touch()
        if not words:
            return
        command = ["bash", "-c", f'[ "$(cat {place.chosen})" = 7 ] && printf "\\0\\1" >{place.reached}']
        test = types.SimpleNamespace(env={}, folder=name, skip=77, command=command)
        found = box.Box(place, "0", words).run(test, 7, 60, 2)
        if (found[0], found[2]) != ("passed", {1}):
            yield f"a run in a box found {found}: {(place.top / 'output-0.log').read_text()}"


with tempfile.TemporaryDirectory() as name:
    wrong = [*check_lines(pathlib.Path(name)), *check_choices(pathlib.Path(name)),
             *check_entries(pathlib.Path(name)), *check_functions(), *check_bars(), *check_box(),
             *check_pieces(pathlib.Path(name))]
print("\n".join(wrong) or "each line is taken for what it is")
sys.exit(bool(wrong))
