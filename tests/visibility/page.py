#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""page.py - the tables of rocin-visibility(7) are what the heads of the programs say.

usage: page.py [--write] [FOLDER [PAGE]]

FOLDER is that of the bank, PAGE the manual page; without them those of this source tree. Between
marks the page has the machines, from RN_SAN_CLASSES of sim/pcie/sanitizer/sanitize.h, and of each
program the question, the answers, the rule and the remedy. --write puts them there. The list of
rules is written by hand; it has to have each rule that a head names, and no other.
"""
import difflib
import os
import re
import sys

sys.dont_write_bytecode = True
import bank  # noqa: E402  pylint: disable=wrong-import-position

PAGE = os.path.join(bank.ROOT, 'tools/man/rocin-visibility.7')
HEADER = os.path.join(bank.ROOT, 'sim/pcie/sanitizer/sanitize.h')
MARK = '.\\" {} made by tests/visibility/page.py --write\n'
END = '.\\" up to here\n'
RULE = re.compile(r'\b(?:GV|[PTV])\d+\b')


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def roff(text):
    """Text of a page: a sentence in each line, nothing in it is a request."""
    text = text.replace('\\', '\\e')
    return ''.join(f'\\&{line}\n' if line[0] in ".'" else f'{line}\n'
                   for line in re.split(r'(?<=[.?:;]) (?=[A-Z])', text))


def machines():
    """The classes of the sanitizer but `given'."""
    table = re.search(r'#define RN_SAN_CLASSES\(X\)(.*?)\n\n', read(HEADER), re.S).group(1)
    rows = re.findall(r'X\(\w+, "([^"]*)",[\s\\]*"([^"]*)",[\s\\]*"([^"]*)"\)', table)
    if [name for name, _, _ in rows[1:]] != list(bank.CLASSES):
        raise bank.BankError('RN_SAN_CLASSES has other classes than the bank')
    return '.Bl -tag -width "switch.none"\n' + ''.join(
        f'.It Cm {name}\n{what}\n.Pq Ql {knobs} .\n' for name, knobs, what in rows[1:]) + '.El\n'


def topics(folder):
    """What the programs of a folder are about, from README.md."""
    readme = read(os.path.join(folder, 'README.md'))
    return dict(re.findall(r'^\| `([\w-]+)` \| (.*?) \|$', readme, re.M))


def by_folder(programs):
    folders = {}
    for program in programs:
        folders.setdefault(program.name.split('/')[0], []).append(program)
    return folders


def overview(programs):
    """A row for each program, a column for each class."""
    widths = ' '.join(f'"{name:5}"' for name in bank.CLASSES)
    out = f'.Bl -column "poll/atomic-then-fenced-flag" {widths} -compact\n'
    out += '.It Em program Ta ' + ' Ta '.join(f'Cm {name}' for name in bank.CLASSES) + '\n'
    for program in programs:
        words = ('\\-' if word == 'right' else word for word in program.expect.values())
        out += f'.It {program.name} Ta ' + ' Ta '.join(words) + '\n'
    return out + '.El\n'


def answer(program):
    right, wrong = ([name for name, word in program.expect.items() if word == verdict]
                    for verdict in bank.VERDICTS)
    if not right or not wrong:
        return f'.Em {"Right" if right else "Wrong"} on every machine.\n'
    return (f'.Em Right on {", ".join(right)} ; '.replace(' ; ', ';\n')
            + f'.Em wrong on {", ".join(wrong)}.\n')


def item(program):
    out = f'.It Cm {program.name}\n{roff(program.items["question"])}.br\n'
    out += answer(program) + '.br\n' + roff(program.items['rule'])
    if program.is_wrong:
        out += f'Instead:\n.Cm {program.sibling} .\n'
    return out


def questions(programs, folder):
    about, out = topics(folder), ''
    for name, some in by_folder(programs).items():
        title = about[name]
        out += f'.Ss {title[0].upper() + title[1:]}\n.Bl -tag -width Ds\n'
        out += ''.join(item(program) for program in some) + '.El\n'
    return out


def made(page, folder):
    """The page with its tables made anew."""
    programs = bank.programs(folder)
    for what, text in (('machines', machines()), ('overview', overview(programs)),
                       ('questions', questions(programs, folder))):
        before, start, rest = page.partition(MARK.format(what))
        old, end, after = rest.partition(END)
        if not start or not end or '.\\" ' in old:
            raise bank.BankError(f'the page has no marks around its {what}')
        page = before + start + text + end + after
    return page


def check_rules(page, folder):
    """Rules that heads name and the list does not have, or the other way round."""
    named = {rule for program in bank.programs(folder) for rule in RULE.findall(program.items['rule'])}
    listed = re.findall(r'^\.It ((?:GV|[PTV])\d+)$', page, re.M)
    return ([f'rule {rule} is not in the list of the page' for rule in sorted(named - set(listed))]
            + [f'no program names rule {rule}' for rule in sorted(set(listed) - named)])


def main():
    is_writing = '--write' in sys.argv[1:]
    named = [argument for argument in sys.argv[1:] if argument != '--write']
    folder, path = named + [bank.HERE, PAGE][len(named):]
    old = read(path)
    try:
        new = made(old, folder)
    except bank.BankError as error:
        sys.exit(f'page.py: {error}')
    failed = check_rules(new, folder)
    if is_writing:
        with open(path, 'w', encoding='ascii') as file:
            file.write(new)
    elif new != old:
        failed.append('the page is not what the heads say: run page.py --write')
        failed += list(difflib.unified_diff(old.splitlines(), new.splitlines(), 'page', 'heads', '', '', 1, ''))
    print('\n'.join(failed) if failed else 'ok')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
