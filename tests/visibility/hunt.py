#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hunt.py - `rocin hunt' finds what is wrong with the wrong programs of the bank, and nothing in the
right ones.

usage: hunt.py [OPTION...] [PROGRAM...]

A program that is wrong in a machine class has to go wrong under some schedule of late writes of that
class. The schedule is shrunk, and its replays must go wrong again: all of them if the program waits for
events, 95 of 100 if it polls. A program that is right there must never go wrong. Programs whose mistake
is no late write (sources that change too early, missing fences) are left out. Ends with 1 if anything
differs.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import bank  # noqa: E402  pylint: disable=wrong-import-position
import run  # noqa: E402  pylint: disable=wrong-import-position

# Mistakes that are no late writes of devices.
OTHER_KINDS = ('source', 'fence')
# The part of the replays that has to go wrong if the program polls completions or memory: how often
# it polls depends on the load.
SURE_IF_POLLING = 0.95
# By what a late write arrives that has been late for longer than a device waits: such a replay, on a
# machine that is very busy, was not that of the schedule.
OUT_OF_TIME = 'the time that has passed'


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--runs', type=int, default=24, help='schedules of each program')
    parser.add_argument('--schedules', type=int, default=0,
                        help='number of schedules of all right programs of a class together')
    parser.add_argument('--replays', type=int, default=20, help='of each schedule')
    parser.add_argument('--jobs', type=int, default=1, help='programs at a time')
    parser.add_argument('--events', action='store_true',
                        help='the programs wait for completions by events, and do not poll')
    parser.add_argument('--class', dest='machine', default='switch.none', choices=[*bank.CLASSES, 'all'])
    parser.add_argument('--limit', type=float, default=120, help='seconds of one run')
    parser.add_argument('--rocin', default=os.path.join(os.environ.get('ROCIN_BIN', ''), 'rocin'))
    parser.add_argument('--program', default=os.path.join(os.environ.get('ROCIN_TESTS', ''), 'visibility'))
    parser.add_argument('patterns', metavar='PROGRAM', nargs='*')
    return parser.parse_args()


class Hunter:
    def __init__(self, options, folder):
        self.options = options
        self.machine = None  # the class
        self.folder = folder  # of the schedules that are kept
        self.environment = {name: value for name, value in os.environ.items()
                            if name == 'ROCIN_BIN' or not name.startswith('ROCIN_')}
        self.environment.update(ROCIN_RUNTIME_DIR=os.path.join(folder, 'run'), ROCIN_IDLE_MS='500',
                                TMPDIR=folder, VISIBILITY_CHECK='1')
        if os.environ.get('ROCIN_TEST_PRELOAD'):
            self.environment['LD_PRELOAD'] = os.environ['ROCIN_TEST_PRELOAD']
        if options.events:
            self.environment['VISIBILITY_EVENTS'] = '1'
        self.schedules = []  # how many, for each right program

    def rocin(self, program, *words):
        knobs = f'typical,{bank.CLASSES[self.machine]},driver=adversarial'
        command = [self.options.rocin, 'hunt', '--json', '--netdev', run.addresses(),
                   f'--pcie={knobs}', '--limit', str(self.options.limit), *words,
                   '--', self.options.program, program.name]
        ended = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ended.returncode, ended.stdout.decode(errors='replace')

    def schedule(self, program):
        """The file of the schedule with which the program goes wrong."""
        return os.path.join(self.folder, program.name.replace('/', '-'))

    def hunt(self, program, runs):
        """Returns what differs from what is expected of a program, or None, and a remark."""
        expected = int(program.expect[self.machine] == 'wrong')
        status, output = self.rocin(program, '--runs', str(runs), '--keep', self.schedule(program))
        if status != expected:
            return f'status {status}, not {expected}\n{output}', ''
        found = json.loads(output)
        if not status:
            self.schedules.append(found['runs'])
            return None, f'nothing in {found["runs"]} schedules'
        if found['how'] != 'ends with status 1' or not found['late']:
            return f'{found["how"]} with {len(found["late"])} late writes', ''
        differs, remark = self.replay(program)
        return differs, f'{len(found["late"])} late, {found["runs"]} runs, {remark}'

    def replay(self, program):
        replays, others = self.options.replays, []
        for _ in range(self.options.replays):
            status, output = self.rocin(program, '--replay', self.schedule(program))
            if status == 0 and OUT_OF_TIME in (late['arrives_by'] for late in json.loads(output)['late']):
                replays -= 1
            elif status != 1:
                others.append(f'status {status}\n{output}')
        again = replays - len(others)
        remark = f'{again} of {replays} replays'
        if not replays:
            return 'no replay had the time', remark
        sure = 1 if self.options.events and program.kind != 'poll' else SURE_IF_POLLING
        if again < math.floor(sure * replays):
            return f'only {remark}; another: {others[0]}', remark
        return None, remark

    def stop(self):
        subprocess.run([self.options.rocin, 'stop'], env=self.environment, check=False, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def chosen(patterns):
    return [p for p in bank.programs() if p.kind not in OTHER_KINDS and
            (not patterns or any(fnmatch.fnmatch(p.name, pattern) for pattern in patterns))]


def hunt_class(hunter, machine, programs):
    """Returns how many programs differ from what is expected of them."""
    differences = 0
    hunter.machine = machine
    right = sum(program.expect[machine] == 'right' for program in programs)

    def hunt(program):
        runs = hunter.options.runs
        if hunter.options.schedules and program.expect[machine] == 'right':
            runs = math.ceil(hunter.options.schedules / right)
        return hunter.hunt(program, runs)

    with concurrent.futures.ThreadPoolExecutor(hunter.options.jobs) as pool:
        for program, (differs, remark) in zip(programs, pool.map(hunt, programs)):
            differences += differs is not None
            print(f'{program.name:30} {machine:12} {program.expect[machine]:6} '
                  f'{f"<-- {differs}" if differs else remark}', flush=True)
    return differences


def hunt_all(options, programs):
    machines = bank.CLASSES if options.machine == 'all' else [options.machine]
    with tempfile.TemporaryDirectory(prefix='hunt.') as folder:
        os.mkdir(os.path.join(folder, 'run'), 0o700)
        hunter = Hunter(options, folder)
        try:
            differences = sum(hunt_class(hunter, machine, programs) for machine in machines)
        finally:
            hunter.stop()
    total = len(programs) * len(machines)
    print(f'{total - differences} of {total} as expected, '
          f'{sum(hunter.schedules)} schedules of right programs')
    return 1 if differences else 0


def main():
    options = parse_arguments()
    programs = chosen(options.patterns)
    if not programs:
        sys.exit('hunt.py: no such program')
    if not shutil.which(options.rocin):
        sys.exit(f'hunt.py: there is no {options.rocin}; ROCIN_BIN or --rocin names it')
    return hunt_all(options, programs)


if __name__ == '__main__':
    sys.exit(main())
