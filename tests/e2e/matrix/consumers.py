#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""consumers.py - what programs and libraries of the distribution do on a device of ours.

usage: consumers.py [--only REGEX] [--json FILE] [--page FILE]

Each consumer is a test of tests/e2e, which checks what it moves. It runs twice: while all
packets are counted by their opcodes, and with 1 % of the packets of each device dropped. Prints
a table; --json adds what was said, --page writes the table into rocin-interop.7. Status 1 if
a consumer fails that LOSSY does not name; what is not installed is skipped.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 1800  # seconds for a run; the longest takes a tenth of that on two idle processors
LOSS = 'drop=1%,seed=7'
SKIPPED = 77

# name, Debian packages (the first one's version is shown), what is done, script, arguments
CONSUMERS = [
    ('perftest', ['perftest'], 'bandwidth and latency of RC and XRC', 'matrix/perftest-kinds.sh', []),
    ('pyverbs', ['python3-pyverbs', 'rdma-core'], "rdma-core's own suite", 'suites/pyverbs.sh', ['lo']),
    ('UCX, RC', ['ucx-utils', 'libucx0'], 'tags, streams, RMA, atomics', 'applications/ucx.sh', ['rc']),
    ('UCX, UD', ['ucx-utils', 'libucx0'], 'the same over datagrams', 'applications/ucx.sh', ['ud']),
    ('libfabric', ['libfabric-bin'], 'messages, reliable datagrams', 'applications/libfabric.sh', ['lo']),
    ('Open MPI', ['openmpi-bin', 'libopenmpi-dev'], 'messages, collective, one-sided', 'matrix/mpi.sh', ['openmpi']),
    ('MPICH', ['mpich', 'libmpich-dev'], 'messages, collective, one-sided', 'matrix/mpi.sh', ['mpich']),
    ('HPC Challenge', ['hpcc', 'openmpi-bin'], 'its benchmarks by Open MPI', 'matrix/mpi.sh', ['hpcc']),
    ('Gloo', ['libgloo-dev'], 'gather, reduce, broadcast', 'matrix/gloo.sh', []),
    ('Ceph', ['ceph-osd', 'ceph-mon', 'ceph-common'], 'monitor, OSD and clients', 'applications/ceph.sh', []),
    ('rsockets', ['librdmacm1', 'iperf'], 'iperf by librspreload', 'applications/rsockets.sh', []),
    ('uDAPL', ['dapl2-utils'], 'RDMA, atomics, 1000 connections', 'applications/dapl.sh', []),
    ('QEMU', ['qemu-system-x86'], 'a virtual machine moves', 'applications/migration.sh', ['lo']),
    ('fio', ['fio'], 'jobs by WRITE and by READ', 'applications/fio.sh', ['lo']),
    ('iSER', ['tgt', 'libiscsi-bin'], 'a disk read, written, compared', 'applications/iser.sh', []),
]
# Who cannot do without what is lost, and why that is not the device's doing.
LOSSY = {
    'pyverbs': 'its tests of UC and UD wait for what is lost',
}
WORDS = {0: 'works', SKIPPED: 'skipped', None: 'not run'}


def version_of(packages):
    done = subprocess.run(['dpkg-query', '-W', '-f', '${Version}', packages[0]], capture_output=True,
                          text=True, check=False)
    version = re.sub(r'^\d+:|[+~](dfsg|ds|git).*$|-[^-]*$', '', done.stdout)
    return f'{packages[0]} {version}'.strip()


def run(script, arguments, settings):
    """The status of one run (124: it did not end), what it said last, and how long it took."""
    began = time.monotonic()
    command = ['timeout', '-k', '30', str(LIMIT), os.path.join(TESTS, script), *arguments]
    done = subprocess.run(command, env={**os.environ, **settings}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
    said = done.stdout.decode(errors='replace').strip()[-2000:]
    return done.returncode, said, time.monotonic() - began


def opcodes_of(path):
    """How often each opcode was on the wire, without the messages that make connections."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding='ascii') as lines:
        found = (line.split() for line in lines)
        return {name: int(number) for name, number in sorted(found)}


def short(opcodes):
    """Opcodes in words: RC_WRITE_FIRST, RC_WRITE_LAST ... are one, RC WRITE."""
    parts = r'_(FIRST|MIDDLE|LAST|ONLY)(?=_|$)'
    names = {re.sub(parts, '', name) for name in opcodes}
    kinds = {}
    for name in sorted(names):
        transport, _, rest = name.partition('_')
        if rest in ('ACK', 'ATOMIC_ACK', 'READ_RESPONSE'):
            continue  # the request says it
        kinds.setdefault(transport, []).append(rest.replace('_REQUEST', '').replace('_', ' '))
    return '; '.join(f'{transport} {", ".join(rest)}' for transport, rest in kinds.items())


def play(consumer, work):
    name, packages, what, script, arguments = consumer
    counted = os.path.join(work, 'opcodes')
    if os.path.exists(counted):
        os.remove(counted)
    status, said, seconds = run(script, arguments, {'ROCIN_TEST_OPCODES': counted})
    row = {'consumer': name, 'package': version_of(packages), 'needs': packages, 'what': what,
           'result': WORDS.get(status, 'fails'), 'said': said, 'seconds': round(seconds, 1),
           'opcodes': opcodes_of(counted), 'with_loss': 'not run'}
    if status == 0 and name not in LOSSY:
        status, row['said_with_loss'], seconds = run(script, arguments, {'ROCIN_TEST_FAULT': LOSS})
        row['with_loss'], row['seconds_with_loss'] = WORDS.get(status, 'fails'), round(seconds, 1)
    elif name in LOSSY:
        row['with_loss'] = 'not asked: ' + LOSSY[name]
    return row


# ---- reports
BEGIN, END = '.\\" Made by tests/e2e/matrix/consumers.py --page\n', '.\\" end of consumers\n'


def text(rows):
    lines = [f'{"consumer":14} {"package":30} {"result":8} {"1 % lost":10} opcodes']
    for row in rows:
        lines.append(f'{row["consumer"]:14} {row["package"]:30} {row["result"]:8} {row["with_loss"][:10]:10} '
                     + short(row['opcodes']))
    return '\n'.join(lines)


def page(rows):
    lines = ['.Bl -tag -width Ds']
    for row in rows:
        lines += [f'.It {row["consumer"]} Pq {row["package"]}',
                  f'{row["what"]}: {row["result"]}; with 1 % of the packets lost: {row["with_loss"]}.',
                  f'On the wire: {short(row["opcodes"]) or "not counted"}.']
    return '\n'.join(lines + ['.El', ''])


def write_page(path, rows):
    with open(path, encoding='utf-8') as file:
        said = file.read()
    begin = said.index(BEGIN) + len(BEGIN)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(said[:begin] + page(rows) + said[said.index(END, begin):])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--only', default='', metavar='REGEX', help='consumers whose names match')
    parser.add_argument('--json', metavar='FILE', help='rows are added to those of earlier runs there')
    parser.add_argument('--page', metavar='FILE')
    options = parser.parse_args()
    rows = {}
    if options.json and os.path.exists(options.json):
        with open(options.json, encoding='utf-8') as file:
            rows = {row['consumer']: row for row in json.load(file)}
    failed = 0
    with tempfile.TemporaryDirectory(prefix='rocin-consumers-') as work:
        for consumer in CONSUMERS:
            if not re.search(options.only, consumer[0]):
                continue
            row = rows[consumer[0]] = play(consumer, work)
            print(f'{row["consumer"]}: {row["result"]}, with loss: {row["with_loss"]}', flush=True)
            for result, said in ('result', 'said'), ('with_loss', 'said_with_loss'):
                if row[result] == 'fails':
                    failed += 1
                    print('    ' + row[said].replace('\n', '\n    '), flush=True)
    rows = [rows[consumer[0]] for consumer in CONSUMERS if consumer[0] in rows]
    print('\n' + text(rows))
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(rows, file, indent=1)
    if options.page:
        write_page(options.page, rows)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
