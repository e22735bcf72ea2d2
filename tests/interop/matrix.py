#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""matrix.py - Rocin and the kernel's soft-RoCE device do everything with each other: each
operation in both directions, with and without loss, the data compared where a program does so.

usage: matrix.py [--only EXPRESSION] [--json FILE] [--page FILE] [--in FOLDER]

One cell is two programs, one in the guest on rxe0, one here on rocin0; which of them asks is the
direction. A cell passes if both end with 0. --json adds to the results in that file, and --page
writes them all into the table of rocin-interop.7. Ends with 1 if a cell failed that the table
DEVIATIONS does not name.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is written beside the sources
import vm

LOSS = 2  # per cent of the packets of each direction
OURS, THEIRS = 'rocin asks', 'rxe asks'

# Cells that fail because of the kernel, and why. One that passes is said, too.
DEVIATIONS = {
    f'multicast, IPv6, {OURS}': 'the kernel joins no IPv6 groups on RoCE: ENOTSUPP',
    f'multicast, IPv6, {THEIRS}': 'the kernel joins no IPv6 groups on RoCE: ENOTSUPP',
    f'UC, path MTU 1024, {LOSS} % loss, {OURS}':
        'behind a message that lost its end rxe loses the next one, and the receive',
}


class Cell:
    """Two programs; `{peer}' is the address of the one that listens, in `asks'."""

    def __init__(self, group, name, listens, asks, gids=(1, 0), seconds=120, loss=0):
        self.group, self.name, self.loss, self.seconds = group, name, loss, seconds
        self.listens, self.asks, self.gids = listens, asks, gids

    @property
    def title(self):
        return self.name + (f', {self.loss} % loss' if self.loss else '')


def verify_cells():
    """Every byte of every operation that the transport has."""
    def cell(kind, name, options, gids=(1, 0), loss=0, count=300):
        lossy = ' -l -T 14' if loss else ''
        words = f'verify -t {kind} -n {count} {options}{lossy} -g {{gid}} -s {{meet}}'
        return Cell('all operations', f'{kind.upper()}, {name}', words + ' -r b', words + ' -r a',
                    gids, loss=loss, seconds=120 if kind == 'uc' and loss else 300)

    for kind in 'rc', 'uc', 'ud':
        for loss in 0, LOSS:
            yield cell(kind, 'path MTU 1024', '-u 1024 -m 10000', loss=loss)
        yield cell(kind, 'IPv6', '-u 1024 -m 10000', gids=(2, 1))
        yield cell(kind, 'events', '-u 1024 -m 10000 -e')
    for mtu in 256, 512, 2048, 4096:
        yield cell('rc', f'path MTU {mtu}', f'-u {mtu} -m {8 * mtu}')
    yield cell('rc', 'long messages', '-u 4096 -m 200000', count=100)


def tool_cells():
    for kind in 'rc', 'uc', 'ud', 'srq':
        words = f'ibv_{kind}_pingpong -c -n 200 -g {{gid}} -p 18600'
        if kind == 'ud':
            words += ' -s 1000'
        for loss in (0, LOSS) if kind in ('rc', 'srq') else (0,):
            yield Cell('ibv tools', f'ibv_{kind}_pingpong', words, words + ' {peer}', loss=loss)
    for name, options in (('ib_send_bw', ''), ('ib_write_bw', ''), ('ib_read_bw', ''),
                          ('ib_atomic_bw', '-A FETCH_AND_ADD'), ('ib_atomic_bw', '-A CMP_AND_SWAP'),
                          ('ib_send_bw', '-c UC'), ('ib_write_bw', '-c UC'), ('ib_send_bw', '-c UD'),
                          ('ib_send_bw', '-r 16 --use-srq'), ('ib_send_lat', ''), ('ib_write_lat', ''),
                          ('ib_read_lat', ''), ('ib_atomic_lat', ''), ('ib_send_lat', '-c UD')):
        size = '' if 'atomic' in name else '-s 1000' if 'UD' in options else '-s 20000'
        words = f'{name} {options} {size} -n 500 -F -m 1024 -x {{gid}} -p 18601'
        yield Cell('perftest', ' '.join(f'{name} {options}'.split()), words, words + ' {peer}')


def cm_cells():
    """The programs of librdmacm, which find the device by the address."""
    for name, listens, asks in (
            ('rping', 'rping -s -a {here} -C 20 -V -S 5000', 'rping -c -a {peer} -C 20 -V -S 5000'),
            ('ucmatose', 'ucmatose -b {here} -c 2', 'ucmatose -s {peer} -b {here} -c 2'),
            ('udaddy', 'udaddy -b {here} -c 2', 'udaddy -s {peer} -b {here} -c 2'),
            ('rdma_client', 'rdma_server -p 7471', 'rdma_client -s {peer} -p 7471'),
            # What listens serves until it is stopped.
            ('cmtime', 'timeout 25 cmtime -b {here} -c 5; [ $? = 124 ]', 'cmtime -s {peer} -b {here} -c 5'),
            ('rstream', 'rstream -b {here} -T b', 'rstream -s {peer} -b {here} -T b'),
            ('riostream', 'riostream -b {here} -S 4096 -C 50', 'riostream -s {peer} -b {here} -S 4096 -C 50')):
        yield Cell('rdma_cm', name, listens, asks)
    yield Cell('rdma_cm', 'rping', 'rping -s -a {here} -C 20 -V -S 5000',
               'rping -c -a {peer} -C 20 -V -S 5000', loss=LOSS, seconds=300)
    yield Cell('rdma_cm', 'rping, IPv6', 'rping -s -a {here} -C 20 -V', 'rping -c -a {peer} -C 20 -V',
               gids=(2, 1))
    for name, group, gids in (('IPv4', '239.1.2.3', (1, 0)), ('IPv6', 'ff15::4791', (2, 1))):
        words = f'mckey -m {group} -b {{here}} -C 5'
        yield Cell('rdma_cm', 'multicast, ' + name, words, words + ' -s', gids=gids, seconds=60)


CELLS = [*verify_cells(), *tool_cells(), *cm_cells()]


class Pair:
    """The guest and a Rocin on the other end of its network."""

    def __init__(self, machine, work, binaries, tests):
        self.vm, self.work, self.rocin = machine, work, os.path.join(binaries, 'rocin')
        shutil.copy(os.path.join(tests, 'verify'), machine.folder)
        self.here_path = f'{machine.folder}:{os.environ["PATH"]}'
        self.environment = dict(os.environ, ROCIN_RUNTIME_DIR=os.path.join(work, 'run'),
                                PATH=self.here_path)
        self.environment.pop('LD_PRELOAD', None)

    def set_loss(self, percent):
        """Drops RoCE packets in the guest as they come in and go out."""
        rules = 'nft delete table inet loss 2>/dev/null\n'
        if percent:
            for hook in 'input', 'output':
                rules += (f'nft "add table inet loss; add chain inet loss {hook} '
                          f'{{ type filter hook {hook} priority 0; }}; add rule inet loss {hook} '
                          f'udp dport 4791 numgen random mod 100 < {percent} drop" || exit 1\n')
        self.vm.must(rules + 'true')

    def here(self, command, log):
        """Starts a command on rocin0."""
        words = [self.rocin, 'run', '--netdev', f'{vm.TAP}:{vm.HOST}+{vm.HOST6}', '--',
                 'timeout', '-k', '5', '600', 'bash', '-c', command]
        return subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log, start_new_session=True)

    def there(self, command, seconds):
        """Runs a command on rxe0 until it ends."""
        return self.vm.run(f'PATH=/run/exchange:$PATH; cd /tmp; {command}', seconds)

    def there_behind(self, command):
        self.there(f'rm -f behind.rc; setsid bash -c \'{command}\nstatus=$?\necho $status >behind.rc\' '
                   '>behind.log 2>&1 & echo $! >behind.pid', 30)

    def end_there(self, seconds):
        """Waits for what runs behind; returns its status and output."""
        status, _ = self.there(f'for i in {{1..{seconds * 5}}}; do [ -s behind.rc ] && exit 0; '
                               'sleep 0.2; done; kill -9 -- -$(cat behind.pid); exit 1', seconds + 30)
        said = self.there('cat behind.log', 30)[1]
        return (int(self.there('cat behind.rc', 30)[1]) if status == 0 else 124), said


def end(process, seconds):
    """The status of a process here, which is killed if it takes too long."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 124


def fill(words, cell, is_ours, listens):
    """A command with the addresses of the side that runs it."""
    v6 = cell.gids != (1, 0)
    theirs, ours = (vm.GUEST6, vm.HOST6) if v6 else (vm.GUEST, vm.HOST)
    here, peer = (ours, theirs) if is_ours else (theirs, ours)
    meet = vm.HOST if is_ours == listens else vm.GUEST
    return words.format(gid=cell.gids[1 if is_ours else 0], here=here, peer=peer,
                        meet=f'{meet}:18602')


def wait_for_listener(pair, cell, is_here):
    """Until something listens: a moment for programs that no port tells of."""
    if is_here:
        time.sleep(1.5)
    else:
        pair.there('sleep 2', 30)


def run_cell(pair, cell, direction):
    """Returns whether both ended with 0, and what they said."""
    listens = fill(cell.listens, cell, direction == THEIRS, True)
    asks = fill(cell.asks, cell, direction == OURS, False)
    pair.set_loss(cell.loss)
    with tempfile.TemporaryFile(dir=pair.work) as log:
        if direction == OURS:
            pair.there_behind(listens)
            wait_for_listener(pair, cell, False)
            asked = end(pair.here(asks, log), cell.seconds)
            listened, said = pair.end_there(30 if asked == 0 else 2)
        else:
            listener = pair.here(listens, log)
            wait_for_listener(pair, cell, True)
            asked, said = pair.there(asks, cell.seconds)
            listened = end(listener, 30 if asked == 0 else 2)
        log.seek(0)
        ours = log.read().decode(errors='replace')
    failed = asked != 0 or listened != 0
    return not failed, f'asked: {asked}, listened: {listened}\nrxe: {said}\nrocin: {ours}'


# ---- what is killed or stands still
def run_death(pair, direction):
    """One end is killed in the middle: the other one ends with an error, and new ones work."""
    words = 'verify -t rc -n 100000000 -u 1024 -m 10000 -T 14 -g {gid} -s {meet}'
    cell = Cell('', '', words + ' -r b', words + ' -r a')
    with tempfile.TemporaryFile(dir=pair.work) as log:
        if direction == OURS:  # theirs, which listens, is killed
            pair.there_behind(fill(cell.listens, cell, False, True))
            process = pair.here(fill(cell.asks, cell, True, False), log)
            pair.there('sleep 8; pkill -9 verify', 30)
            status = end(process, 120)
        else:
            process = pair.here(fill(cell.listens, cell, True, True), log)
            time.sleep(1.5)
            pair.there_behind(fill(cell.asks, cell, False, False))
            pair.there('sleep 8', 30)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = pair.end_there(120)[0]
        log.seek(0)
        said = log.read().decode(errors='replace')
    if status in (0, 124):
        return False, f'status {status} of the one that lives: {said}'
    return run_cell(pair, next(verify_cells()), direction)


def run_stall(pair, direction):
    """The guest's program stands still for 2 s, longer than a retry takes."""
    words = 'verify -t rc -n 3000 -u 1024 -m 4000 -l -T 18 -g {gid} -s {meet}'
    cell = Cell('', '', words + ' -r b', words + ' -r a')
    stop = 'sleep 4; pkill -STOP verify; sleep 2; pkill -CONT verify; true'
    with tempfile.TemporaryFile(dir=pair.work) as log:
        if direction == OURS:
            pair.there_behind(fill(cell.listens, cell, False, True))
            process = pair.here(fill(cell.asks, cell, True, False), log)
        else:
            process = pair.here(fill(cell.listens, cell, True, True), log)
            time.sleep(1.5)
            pair.there_behind(fill(cell.asks, cell, False, False))
        pair.there(stop, 30)
        ours = end(process, 200)
        theirs, said = pair.end_there(60)
        log.seek(0)
        said += log.read().decode(errors='replace')
    return ours == 0 and theirs == 0, f'rocin: {ours}, rxe: {theirs}: {said}'


def all_runs():
    for cell in CELLS:
        yield cell.group, cell.title, lambda pair, direction, c=cell: run_cell(pair, c, direction)
    yield 'ends', 'killed, the peer goes on', run_death
    yield 'ends', 'stands still for 2 s', run_stall


# ---- reports
BEGIN, END = '.\\" Made by tests/interop/matrix.py --page: Linux ', '.\\" end\n'


def table(results, version):
    """The rows of a kernel in rocin-interop.7."""
    lines = [f'.Ss Linux {version}', '.Bl -column "all operations: RC, path MTU 1024" "rocin asks" "rxe asks"',
             '.It Em what Ta Em rocin asks Ta Em rxe asks']
    words = {True: 'works', False: 'fails', None: 'not run'}
    for group, title in dict.fromkeys((group, title) for group, title, _ in results):
        cells = [results.get((group, title, d), {}).get('passed') for d in (OURS, THEIRS)]
        lines.append(f'.It {group}: {title} Ta {words[cells[0]]} Ta {words[cells[1]]}')
    lines.append('.El')
    for title, reason in DEVIATIONS.items():
        lines += ['.Pp', f'{title}: {reason}.']
    return '\n'.join(lines) + '\n'


def write_page(path, results, release):
    """Replaces the table of this kernel in the page."""
    version = re.match(r'\d+\.\d+', release).group(0)
    with open(path, encoding='utf-8') as f:
        text = f.read()
    begin = text.index(BEGIN + version + '\n') + len(BEGIN + version + '\n')
    end_at = text.index(END, begin)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text[:begin] + table(results, version) + text[end_at:])


def read_results(path):
    """Those of an earlier run, which this one adds to."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as f:
        return {(r.pop('group'), r.pop('cell'), r.pop('direction')): r for r in json.load(f)}


def judge(results):
    """Prints the summary; returns the number of failures that are news."""
    news = 0
    for (_, title, direction), result in results.items():
        known = DEVIATIONS.get(f'{title}, {direction}')
        if not result['passed'] and not known:
            news += 1
        elif not result['passed']:
            print(f'expected: {title}, {direction}: {known}')
        elif known:
            print(f'works, unlike before: {title}, {direction}')
    failed = sum(not r['passed'] for r in results.values())
    print(f'{len(results)} cells: {len(results) - failed} work, {failed} fail, {news} of them unexpectedly')
    return news


def run_all(pair, only, results):
    for group, title, run in all_runs():
        for direction in OURS, THEIRS:
            if not re.search(only, f'{title}, {direction}'):
                continue
            began = time.monotonic()
            passed, said = run(pair, direction)
            results[group, title, direction] = {'passed': passed, 'said': said,
                                                'seconds': time.monotonic() - began}
            print(f'{"ok" if passed else "FAILED":6} {time.monotonic() - began:5.1f} s  {title}, {direction}',
                  flush=True)
            if not passed:
                print('    ' + said.strip().replace('\n', '\n    ')[-2000:], flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='')
    parser.add_argument('--json')
    parser.add_argument('--page')
    parser.add_argument('--in', dest='folder', help='a machine that runs, in whose network this is')
    options = parser.parse_args()
    binaries = os.environ['ROCIN_BIN']
    if not options.folder:
        vm.in_own_network()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    earlier = read_results(options.json)
    results = {}
    machine = vm.Running(options.folder) if options.folder else vm.Vm(limit_s=5000)
    with tempfile.TemporaryDirectory(prefix='rocin-interop-') as work, machine:
        pair = Pair(machine, work, binaries, os.environ['ROCIN_TESTS'])
        try:
            run_all(pair, options.only, results)
        finally:
            subprocess.run([pair.rocin, 'stop'], env=pair.environment, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        release = machine.release
    earlier.update(results)
    order = [(group, title, d) for group, title, _ in all_runs() for d in (OURS, THEIRS)]
    earlier = {key: earlier[key] for key in order if key in earlier}
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as f:
            json.dump([{'group': g, 'cell': t, 'direction': d, **r} for (g, t, d), r in earlier.items()],
                      f, indent=1)
    if options.page:
        write_page(options.page, earlier, release)
    return 1 if judge(results) else 0


if __name__ == '__main__':
    sys.exit(main())
