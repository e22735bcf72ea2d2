# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bank.py - the programs of the bank, as their heads describe them.

The head of a program is its first comments, with a line for each of

    question, reads, expect, kind, rule, litmus[, sibling][, example]

An item may go on in indented lines. README.md says what they mean.
"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The knobs of the PCIe layer that make a machine class, beside those of mode typical.
CLASSES = {
    'switch': 'place=pcie,nic.queues=shared,rc.p2p=shared,gpu.ordering=owner,gpu.link=pcie',
    'switch.none': 'place=pcie,nic.queues=shared,rc.p2p=shared,gpu.ordering=none,gpu.link=pcie',
    'ports': 'place=pcie,nic.queues=shared,rc.p2p=split,gpu.ordering=none,gpu.link=pcie',
    'c2c': 'place=pcie,nic.queues=shared,rc.p2p=shared,gpu.ordering=none,gpu.link=c2c',
    'relaxed': 'place=any,nic.queues=perqp,rc.p2p=shared,gpu.ordering=none,gpu.link=pcie',
}
# Verdicts of litmus tests have room for the short names only (rocin-litmus(5)).
SHORT = {
    'nic.queues=': 'nicq=',
    'rc.p2p=shared': 'ports=same',
    'rc.p2p=split': 'ports=split',
    'gpu.ordering=': 'gpu=',
    'gpu.link=pcie': 'c2c=0',
    'gpu.link=c2c': 'c2c=1',
}
VERDICTS = ('right', 'wrong')
KINDS = ('stale', 'unordered', 'poll', 'source', 'fence', 'none')
ITEMS = ('question', 'reads', 'expect', 'kind', 'rule', 'litmus', 'sibling', 'example')
OPTIONAL = ('sibling', 'example')


class BankError(Exception):
    pass


def litmus_knobs(machine):
    """The knobs of a class as the verdict of a litmus test has them."""
    knobs = CLASSES[machine]
    for long, short in SHORT.items():
        knobs = knobs.replace(long, short)
    return knobs


def parse_expect(text, where):
    """'switch=right ...' as a dict with a verdict for each class."""
    expect = {}
    for word in text.split():
        name, _, verdict = word.partition('=')
        if name not in CLASSES or verdict not in VERDICTS or name in expect:
            raise BankError(f'{where}: expect: {word}')
        expect[name] = verdict
    missing = [name for name in CLASSES if name not in expect]
    if missing:
        raise BankError(f'{where}: expect: nothing for {", ".join(missing)}')
    return expect


class Program:
    def __init__(self, name, text):
        self.name = name
        head = re.search(r'^/\*((?:(?!\*/).)*?\n \* question:.*?)\*/', text, re.S | re.M)
        if not head:
            raise BankError(f'{name}: no head')
        items, last = {}, None
        for line in head.group(1).splitlines():
            new = re.match(r' \* ([a-z]+): +(.*)$', line)
            if new:
                last = new.group(1)
                if last not in ITEMS or last in items:
                    raise BankError(f'{name}: the head has "{last}:" twice, or none should be')
                items[last] = new.group(2)
            elif last and line.strip(' *'):
                items[last] += ' ' + line.strip(' *')
        for item in ITEMS:
            if item not in items and item not in OPTIONAL:
                raise BankError(f'{name}: the head has no "{item}:"')
        self.items = items
        self.expect = parse_expect(items['expect'], name)
        self.kind = items['kind']
        self.litmus = items['litmus']
        self.sibling = items.get('sibling')
        self.examples = [e.strip() for e in items.get('example', '').split(';') if e.strip()]
        self.is_wrong = 'wrong' in self.expect.values()
        if self.kind not in KINDS or (self.kind != 'none') != self.is_wrong:
            raise BankError(f'{name}: kind: {self.kind}')


def programs(folder=HERE):
    """All programs, by name."""
    found = []
    for topic in sorted(os.listdir(folder)):
        path = os.path.join(folder, topic)
        if not os.path.isdir(path):
            continue
        for file in sorted(os.listdir(path)):
            if file.endswith('.c'):
                with open(os.path.join(path, file), encoding='ascii') as source:
                    found.append(Program(f'{topic}/{file[:-2]}', source.read()))
    return found
