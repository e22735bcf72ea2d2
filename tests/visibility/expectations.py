#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""expectations.py - what the programs expect is what the explorer of the model says.

usage: expectations.py ROCIN [FOLDER]

FOLDER is that of the bank, or a copy of it.

Each program names a litmus test whose condition, that of its first verdict, is its question: the
old bytes are read, or bytes that should not be sent are. A class in which the condition is allowed
is wrong. All of that goes into one file of tests, each with its verdict for each class, which
`rocin litmus' proves or refutes over all schedules.

Beside it, what the bank as a whole has to be: wrong programs have siblings that are better, all
examples of the tool are there, and no litmus test is without a program.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import bank  # noqa: E402  pylint: disable=wrong-import-position

VERDICT = re.compile(r'^(?:\[[^]]*\]\s*)?(?:allowed|forbidden|forall|exists|~exists)\b[^(]*(\(.*\))\s*$')


def litmus_tests(folder):
    """The tests of a folder by name: their text without verdicts, and the first condition."""
    tests = {}
    for path in sorted(glob.glob(os.path.join(folder, '*.litmus'))):
        with open(path, encoding='ascii') as file:
            text = re.sub(r'\(\*.*?\*\)', '', file.read(), flags=re.S)
        for test in re.split(r'^(?=RDMA )', text, flags=re.M)[1:]:
            lines = test.splitlines()
            first = next(i for i, line in enumerate(lines) if VERDICT.match(line))
            tests[lines[0][len('RDMA '):].strip()] = (
                '\n'.join(lines[:first]), VERDICT.match(lines[first]).group(1))
    return tests


def litmus_file(programs, tests, complain):
    """One test for each that is named, with the verdicts that its programs expect."""
    by_test = collections.defaultdict(list)
    for program in programs:
        if program.litmus in tests:
            by_test[program.litmus].append(program)
        else:
            complain(f'{program.name}: there is no litmus test {program.litmus}')
    out = []
    for name, users in by_test.items():
        for other in users[1:]:
            if other.expect != users[0].expect:
                complain(f'{other.name} and {users[0].name} expect different verdicts of {name}')
        text, condition = tests[name]
        out.append(text)
        for machine, expected in users[0].expect.items():
            verdict = 'allowed' if expected == 'wrong' else 'forbidden'
            out.append(f'[{bank.litmus_knobs(machine)}] {verdict} {condition}')
        out.append('')
    return '\n'.join(out)


def check_siblings(programs, complain):
    """A sibling is right somewhere where the program is wrong, and wrong nowhere else than it."""
    by_name = {program.name: program for program in programs}
    for program in programs:
        sibling = by_name.get(program.sibling)
        if sibling is None:
            complain(f'{program.name}: there is no sibling {program.sibling}')
            continue
        wrong, right = (program, sibling) if program.is_wrong else (sibling, program)
        better = [c for c in bank.CLASSES if wrong.expect[c] == 'wrong' and right.expect[c] == 'right']
        worse = [c for c in bank.CLASSES if wrong.expect[c] == 'right' and right.expect[c] == 'wrong']
        if worse or not better:
            complain(f'{right.name} is no remedy of {wrong.name}')


def check_examples(programs, complain):
    """Each example of `rocin example' is here, as it is and mended."""
    shown = collections.Counter(e for program in programs for e in program.examples)
    with open(os.path.join(bank.ROOT, 'tools/examples/CMakeLists.txt'), encoding='ascii') as file:
        names = re.search(r'foreach\(name ([^)]*)\)', file.read()).group(1).split()
    wanted = set(names) | {name + ' --mended' for name in names}
    for name in sorted(wanted - set(shown)):
        complain(f'no program says "example: {name}"')
    for name in sorted(set(shown) - wanted):
        complain(f'there is no example "{name}"')


def main():
    failed = []
    folder = sys.argv[2] if len(sys.argv) > 2 else bank.HERE
    programs = bank.programs(folder)
    own = litmus_tests(os.path.join(folder, 'litmus'))
    tests = {**litmus_tests(os.path.join(bank.ROOT, 'tests/sim/litmus')), **own}
    named = {program.litmus for program in programs}
    failed += [f'no program names the litmus test {name}' for name in own if name not in named]
    check_siblings(programs, failed.append)
    check_examples(programs, failed.append)
    wrong = sum(program.is_wrong for program in programs)
    if len(programs) < 40 or not len(programs) / 3 <= wrong <= len(programs) * 2 / 3:
        failed.append(f'{len(programs)} programs, {wrong} of them wrong')
    with tempfile.NamedTemporaryFile('w', suffix='.litmus', encoding='ascii') as file:
        file.write(litmus_file(programs, tests, failed.append))
        file.flush()
        for paths in ([file.name], [os.path.join(folder, 'litmus')]):
            run = subprocess.run([sys.argv[1], 'litmus', *paths], check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if run.returncode:
                failed.append(run.stdout)
    print('\n'.join(failed) if failed else
          f'ok: {len(programs)} programs, {wrong} of them wrong somewhere, {len(named)} litmus tests')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
