#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""selftest.py - run.py against a sanitizer that is made up, and heads that are wrong.

usage: selftest.py ROCIN

For run.py a script plays `rocin': it prints the verdicts that the heads expect, but for what a test
spoils. For expectations.py copies of the bank are spoiled; ROCIN explores their litmus tests.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import bank  # noqa: E402  pylint: disable=wrong-import-position

ROCIN = '''#!{python}
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, {here!r})
import bank
if sys.argv[1] == 'stop':
    sys.exit(0)
name = sys.argv[-1]
program = [p for p in bank.programs() if p.name == name][0]
expect = dict(program.expect)
status = 66 if 'wrong' in expect.values() else 0
{spoil}
line = 'rocin: verdict: ' + ', '.join(c + ' ' + v for c, v in expect.items())
print('rocin: verdict: ' + ', '.join(c + ' right' for c in expect), file=sys.stderr)
print('text of a finding', file=sys.stderr)
print(line, file=sys.stderr)
sys.exit(status)
'''
WRONG, RIGHT = 'host/write-socket', 'host/write-imm'
failed = []


def run(spoil, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        rocin = os.path.join(folder, 'rocin')
        with open(rocin, 'w', encoding='ascii') as file:
            file.write(ROCIN.format(python=sys.executable, here=bank.HERE, spoil=spoil))
        os.chmod(rocin, 0o755)
        return subprocess.run([os.path.join(bank.HERE, 'run.py'), '--rocin', rocin, *arguments],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def expect(what, got, status, *texts):
    missing = [text for text in texts if text not in got.stdout]
    if got.returncode != status or missing:
        failed.append(f'{what}: status {got.returncode}, not {status}; no {missing} in:\n{got.stdout}')


def spoiled(name, what):
    return f'if name == {name!r}: {what}'


def check_runs():
    one = (WRONG, RIGHT)
    expect('all as expected', run('', 'fence/*'), 0, 'recall 100.0 %', 'precision 100.0 %')
    expect('several runs', run('', '--runs', '2', *one), 0, '20 of 20 as expected')
    expect('several at a time', run('', '--runs', '2', '--jobs', '4', *one), 0, '20 of 20 as expected')
    expect('with hogs on one processor', run('', '--hogs', '2', '--cpus', '1', *one), 0, '10 of 10')
    expect('everywhere', run('', '--everywhere', '--jobs', '2', *one), 0,
           'one processor, eight hogs: recall 100.0 %',
           'a twentieth of the speed: recall 100.0 %', '50 of 50 as expected')
    on_one = 'import os; expect["c2c"] = "wrong" if len(os.sched_getaffinity(0)) > 1 else "right"'
    if len(os.sched_getaffinity(0)) > 1:
        expect('a miss at one place', run(spoiled(WRONG, on_one), '--everywhere', '--jobs', '2', *one), 1,
               'all processors: recall 100.0 % (5 of 5)', 'one processor: recall 80.0 % (4 of 5)',
               'right 2x, wrong 3x', '48 of 50 as expected')
    expect('a miss', run(spoiled(WRONG, 'expect["c2c"] = "right"'), *one), 1, 'differs',
           'recall 80.0 % (4 of 5), precision 100.0 % (4 of 4)', '9 of 10 as expected')
    expect('a false alarm', run(spoiled(RIGHT, 'expect["ports"] = "wrong"'), *one), 1, 'differs',
           'recall 100.0 % (5 of 5), precision 83.3 % (5 of 6)')
    expect('a class without a verdict', run(spoiled(WRONG, 'del expect["relaxed"]'), *one), 1,
           'no verdict', 'recall 80.0 % (4 of 5)')
    expect('no verdict', run(spoiled(WRONG, 'sys.exit(66)'), *one), 1, 'no verdict', 'recall 0.0 %')
    expect('another word', run(spoiled(RIGHT, 'expect["ports"] = "maybe"'), *one), 1,
           'not understood: ports maybe')
    expect('a failure', run(spoiled(RIGHT, 'status = 2'), *one), 1, 'status 2', '5 of 10')
    expect('a program that hangs', run(spoiled(RIGHT, 'time.sleep(600)'), '--limit', '1', *one), 1,
           'did not end')
    expect('one that changes its mind',
           run(spoiled(WRONG, 'import os, random; m = sys.argv[0] + ".seen"; '
                              'first = not os.path.exists(m); open(m, "w").close(); '
                              'expect["c2c"] = "wrong" if first else "right"'),
               '--runs', '2', *one), 1, 'right 1x, wrong 1x', '19 of 20')
    expect('plain', run('status = 0', '--plain', *one), 0, '2 of 2 as expected')
    expect('plain with findings', run('', '--plain', *one), 1, 'status 66')
    expect('live', run('status = 0', '--live', *one), 0, 'recall 0.0 % (0 of 5)', '10 of 10')
    expect('live, seen', run('status = int(name == "' + WRONG + '")', '--live', *one), 0,
           'recall 100.0 % (5 of 5)')
    expect('live, where it must not be', run('status = int("c2c" in "".join(sys.argv))', '--live', *one),
           1, f'{RIGHT:30} c2c          right     wrong', '9 of 10')
    expect('no such program', run('', 'host/none'), 1, 'no program is named host/none')
    expect('only differences', run('', '--differences', RIGHT), 0, '5 of 5')
    expect('a list', run('', '--list', RIGHT), 0, 'switch=right')


HEAD = '''/* x.c - text.
 *
 * question: q
 *           more of q
 * reads:    r
 * expect:   {expect}
 * kind:     {kind}
 * rule:     r
 * litmus:   l
{more} */
int main(void) {{ return 0; }}
'''
ALL_RIGHT = ' '.join(f'{name}=right' for name in bank.CLASSES)


def refused(what, text, kind='none', more=''):
    try:
        bank.Program('x', HEAD.format(expect=text, kind=kind, more=more))
    except bank.BankError:
        return
    failed.append(f'{what}: not refused')


def check_heads():
    program = bank.Program('x', HEAD.format(expect=ALL_RIGHT, kind='none', more=' * example:  a; b\n'))
    if program.items['question'] != 'q more of q' or program.examples != ['a', 'b'] or program.is_wrong:
        failed.append(f'a head: {program.items}')
    refused('a class is missing', ALL_RIGHT.rsplit(' ', 1)[0])
    refused('a class twice', ALL_RIGHT + ' c2c=right')
    refused('an unknown class', ALL_RIGHT + ' moon=right')
    refused('an unknown verdict', ALL_RIGHT.replace('c2c=right', 'c2c=maybe'))
    refused('a kind without a wrong class', ALL_RIGHT, kind='stale')
    refused('a wrong class without a kind', ALL_RIGHT.replace('c2c=right', 'c2c=wrong'))
    refused('an unknown kind', ALL_RIGHT.replace('c2c=right', 'c2c=wrong'), kind='odd')
    refused('an unknown item', ALL_RIGHT, more=' * answer:   a\n')
    refused('an item twice', ALL_RIGHT, more=' * rule:     r\n')


def noticed(what, file, old, new, *texts):
    """expectations.py complains about a copy of the bank with another text in one file."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, 'bank')
        shutil.copytree(bank.HERE, copy)
        with open(os.path.join(copy, file), encoding='ascii') as source:
            text = source.read()
        if old not in text:
            failed.append(f'{what}: no "{old}" in {file}')
        with open(os.path.join(copy, file), 'w', encoding='ascii') as source:
            source.write(text.replace(old, new))
        got = subprocess.run([os.path.join(bank.HERE, 'expectations.py'), sys.argv[1], copy],
                             check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(what, got, 1, *texts)


def check_expectations():
    noticed('wrong taken for right', 'gpu/cpu-reads.c', 'c2c=wrong', 'c2c=right', 'FORBIDDEN')
    noticed('right taken for wrong', 'gpu/cpu-reads.c', 'relaxed=right', 'relaxed=wrong', 'UNREACHABLE')
    noticed('a verdict of the litmus test', 'litmus/storage.litmus', 'forbidden (A.cpu:r0=0)',
            'allowed (A.cpu:r0=0)', 'UNREACHABLE')
    noticed('no such test', 'storage/host.c', 'VD5-host', 'VD6-host', 'no litmus test VD6-host',
            'no program names the litmus test VD5-host')
    noticed('two programs of one test', 'gpu/flush-call.c', 'ports=wrong', 'ports=right',
            'different verdicts')
    noticed('no such sibling', 'storage/host.c', 'storage/launch', 'storage/none', 'no sibling')
    noticed('a sibling that is no better', 'host/write-imm.c', 'host/write-requester-poll',
            'host/read-poll', 'is no remedy')
    noticed('an example that is not shown', 'source/reuse.c', 'source-reuse', 'source-use',
            'no program says "example: source-reuse"', 'no example "source-use"')


def check_page():
    """page.py notices when a head, or the list of rules, is not what the page says."""
    with tempfile.TemporaryDirectory() as folder:
        copy, page = os.path.join(folder, 'bank'), os.path.join(folder, 'page.7')
        shutil.copytree(bank.HERE, copy)

        def spoil(path, old, new):
            with open(path, encoding='ascii') as source:
                text = source.read()
            if old not in text:
                failed.append(f'no "{old}" in {path}')
            with open(path, 'w', encoding='ascii') as source:
                source.write(text.replace(old, new))

        def told(what, status, *texts, arguments=()):
            got = subprocess.run([os.path.join(bank.HERE, 'page.py'), *arguments, copy, page], check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            expect(what, got, status, *texts)

        shutil.copy(os.path.join(bank.ROOT, 'tools/man/rocin-visibility.7'), page)
        told('a page as it should be', 0, 'ok')
        spoil(os.path.join(copy, 'host/write-imm.c'), 'the bytes?', 'them?')
        told('another question', 1, 'May it look at them?')
        told('a page that is made', 0, arguments=('--write',))
        spoil(os.path.join(copy, 'gpu/imm-launch.c'), 'c2c=wrong', 'c2c=right')
        told('another answer', 1, '+.Em wrong on ports.')
        told('and made again', 0, arguments=('--write',))
        spoil(os.path.join(copy, 'poll/one-word.c'), 'P7:', 'P8:')
        told('other rules', 1, 'rule P8 is not in the list', 'no program names rule P7')
        spoil(page, 'overview made by', 'overview of')
        told('a page without marks', 1, 'no marks around its overview')


check_runs()
check_page()
check_heads()
check_expectations()
print('\n'.join(failed) if failed else 'ok')
sys.exit(1 if failed else 0)
