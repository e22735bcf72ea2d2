#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tables - what is said of the rules of the validation layer in several places agrees.

usage: tables [--write] SOURCE-DIRECTORY

The rules are those of provider/validate/rules/*.def. Each has an example, wrong and mended,
in the text beside it, and a line of the table of rocin-validate(7), which --write makes; and
each but those of the sanitizer has a case in tests/validate/cases/CATEGORY.c, or in ends.c if it
takes two processes.
"""
import pathlib
import re
import sys

STRING = r'"((?:[^"\\]|\\.)*)"'
RULE = re.compile(rf"^RULE\((\w+),\s*{STRING},\s*(\w+),\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+)\)", re.M)
BEGIN = '.\\" rules made by tests/validate/tables.py --write\n'
END = '.\\" end of rules\n'
CATEGORIES = "life state queues memory addressing portability performance visibility".split()


def joined(strings):
    return "".join(re.findall(STRING, strings)).replace('\\"', '"')


def rules_of(folder, category):
    """[(name, severity, text, source)] in the order of the list."""
    source = (folder / f"{category}.def").read_text()
    found = [
        (f"{category}/{m.group(2)}", m.group(3).lower(), joined(m.group(4)), joined(m.group(6)))
        for m in RULE.finditer(source)
    ]
    if len(found) != len(re.findall(r"^RULE\(", source, re.M)):
        sys.exit(f"{category}.def: a rule is not RULE(SYMBOL, name, SEVERITY, text, source, remedy)")
    return found


def examples_of(folder, category):
    """{rule: text}"""
    parts = re.split(r"^([a-z]+/[a-z0-9-]+)\n", (folder / f"{category}.txt").read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def escaped(text):
    return text.replace("\\", "\\e").replace('"', "\\(dq").replace("'", "\\(aq")


def table(rules):
    lines = []
    for category in CATEGORIES:
        lines.append(f".Ss {category}\n.Bl -tag -width Ds\n")
        for name, severity, text, source in rules[category]:
            lines.append(f".It Cm {name} Pq {severity}\n{escaped(text)}\n.Em Source :\n{escaped(source)}.\n")
        lines.append(".El\n")
    return "".join(lines)


def main():
    is_writing = sys.argv[1] == "--write"
    root = pathlib.Path(sys.argv[-1])
    folder, page = root / "provider/validate/rules", root / "tools/man/rocin-validate.7"
    rules = {c: rules_of(folder, c) for c in CATEGORIES}
    wrong = []
    for category in CATEGORIES:
        names = [r[0] for r in rules[category]]
        examples = examples_of(folder, category)
        for name in names:
            if not re.match(r"wrong:\n(\t.*\n|\n)+mended:\n\t", examples.get(name, "")):
                wrong.append(f"{category}.txt: no example of {name}, wrong and mended")
        wrong += [f"{category}.txt: there is no rule {x}" for x in examples if x not in names]
        if category == "visibility":
            continue
        cases = re.findall(r'^\t\{ "([^"]+)",', (root / f"tests/validate/cases/{category}.c").read_text(), re.M)
        cases_of_two = re.findall(rf'^\t\{{ "({category}/[^"]+)",', (root / "tests/validate/cases/ends.c").read_text(), re.M)
        missing = [x for x in names if x not in cases + cases_of_two]
        wrong += [f"tests/validate/cases/{category}.c: no case of {x}" for x in missing]
        wrong += [f"tests/validate/cases/{category}.c: there is no rule {x}" for x in cases if x not in names]
        wrong += [f"{x} is there twice" for x in set(names) if names.count(x) > 1]
    text = page.read_text()
    head, rest = text.split(BEGIN)
    now = head + BEGIN + table(rules) + END + rest.split(END)[1]
    if is_writing:
        page.write_text(now)
    elif now != text:
        wrong.append(f"{page.name}: the rules are not those of the lists: tests/validate/tables.py --write .")
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
