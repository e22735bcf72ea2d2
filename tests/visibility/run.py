#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""run.py - runs the programs of the bank under the sanitizer and compares its verdicts.

usage: run.py [OPTION...] [PROGRAM...]

The last line `rocin: verdict: CLASS right|wrong, ...' of each run is compared with what the head
of the program expects of each machine class. Prints a table with a row for each program and class,
then recall (of the wrong, how many were found) and precision (of the found, how many are wrong).
Ends with 1 if anything differs. Programs are named by shell patterns; without one all run.

With --everywhere all of that is done under each of five conditions: on all processors and on one, idle and
with eight hogs, and with programs that are slowed down. A row has the runs of all conditions, a line for
each condition and the last lines say how many verdicts were as expected.

With --late there is no sanitizer either: each program runs with `--pcie adversarial' and looks itself
whether it saw what it should not. A program that is wrong in any class must see that in each run, and
one that is right never, however busy the machine is. For two programs that change a source the wrong
outcome is only printed.

With --live there is no sanitizer: each program runs on each class of machine, where writes are held
until a rule forces them, and looks itself whether it saw what it should not. A program that is right
must never see that; how many of the wrong ones did is only printed.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import bank  # noqa: E402  pylint: disable=wrong-import-position

FINDINGS = 66  # the exit status of a program with findings that would have ended with 0
VERDICT = re.compile(r'^rocin: verdict: (.*?)\.?\s*$', re.M)
WORDS = bank.VERDICTS
# What is late stays late until a rule forces it, or for longer than a program takes.
LATE = 'driver=adversarial,hold=50ms,hold.polls=inf'
# A NIC reads late until the program polls in vain, but no longer than for a time. What changes the source
# there is something else, for which the program waits first: it may come in that time or not.
UNSURE = ('source/other-qp', 'source/kernel-reuse')
# Where the verdicts have to be the same: the processors (0: all), the hogs and the slowness of --everywhere.
CONDITIONS = {
    'all processors': {'cpus': 0, 'hogs': 0, 'slow': 1},
    'all processors, eight hogs': {'cpus': 0, 'hogs': 8, 'slow': 1},
    'one processor': {'cpus': 1, 'hogs': 0, 'slow': 1},
    'one processor, eight hogs': {'cpus': 1, 'hogs': 8, 'slow': 1},
    'a twentieth of the speed': {'cpus': 0, 'hogs': 0, 'slow': 20},
}
SLICE = 0.0005  # seconds for which a program that is slowed down runs
SAW_WRONG = 1  # the exit status of a program with VISIBILITY_CHECK that saw what it should not


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--runs', type=int, default=1, help='of each program')
    parser.add_argument('--jobs', type=int, default=1, help='programs at a time')
    parser.add_argument('--hogs', type=int, default=0, help='processes that keep processors busy')
    parser.add_argument('--cpus', type=int, default=0, help='processors for all of it; 0: all')
    parser.add_argument('--slow', type=int, default=1, metavar='N',
                        help='a program runs for one N-th of the time and is stopped for the rest')
    parser.add_argument('--everywhere', action='store_true', help='under all conditions, not those of options')
    parser.add_argument('--sanitize', default='summary', help='words for rocin run --sanitize=')
    parser.add_argument('--pcie', help='knobs for rocin run --pcie=')
    parser.add_argument('--live', action='store_true', help='no sanitizer: programs judge what they saw')
    parser.add_argument('--late', action='store_true', help='no sanitizer: --pcie adversarial, programs judge')
    parser.add_argument('--plain', action='store_true', help='no sanitizer: programs only have to end')
    parser.add_argument('--limit', type=float, default=120, help='seconds of one run')
    parser.add_argument('--differences', action='store_true', help='only rows that differ')
    parser.add_argument('--list', action='store_true', help='only print what is expected')
    parser.add_argument('--rocin', default=os.path.join(os.environ.get('ROCIN_BIN', ''), 'rocin'))
    parser.add_argument('--program', default=os.path.join(os.environ.get('ROCIN_TESTS', ''), 'visibility'))
    parser.add_argument('patterns', metavar='PROGRAM', nargs='*')
    return parser.parse_args()


def addresses():
    """Three devices on addresses that no other test has: the process id is in them."""
    pid = os.getpid()
    tail = f'{pid // 256 % 256}.{pid % 256}'
    base = pid // 65536 % 32
    return ','.join(f'lo:127.{first + base}.{tail}' for first in (32, 64, 96))


class Runner:
    def __init__(self, options, folder):
        self.options = options
        self.environment = {name: value for name, value in os.environ.items()
                            if name == 'ROCIN_BIN' or not name.startswith('ROCIN_')}
        self.environment.update(ROCIN_RUNTIME_DIR=os.path.join(folder, 'run'), ROCIN_IDLE_MS='500')
        if os.environ.get('ROCIN_TEST_PRELOAD'):
            self.environment['LD_PRELOAD'] = os.environ['ROCIN_TEST_PRELOAD']
        if options.live or options.late:
            self.environment['VISIBILITY_CHECK'] = '1'

    def command(self, name, pcie):
        command = [self.options.rocin, 'run', '--netdev', addresses()]
        if is_sanitized(self.options):
            command.append(f'--sanitize={self.options.sanitize}')
        if pcie:
            command.append(f'--pcie={pcie}')
        return [*command, '--', self.options.program, name]

    def run(self, name, pcie):
        """Runs a program once. Returns its status, None if it did not end, and its output."""
        process = subprocess.Popen(self.command(name, pcie), env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        slow = threading.Thread(target=slow_down, args=(process.pid, self.options.slow))
        slow.start()
        try:
            output = process.communicate(timeout=self.options.limit)[0]
            return process.returncode, output.decode(errors='replace')
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the session is the program's own
            return None, process.communicate()[0].decode(errors='replace')
        finally:
            slow.join()

    def judge(self, name):
        """Runs a program, once or on each class. Returns what that says for each row of the table."""
        if self.options.live:
            return {machine: self.look(name, f'typical,{knobs},{LATE}')
                    for machine, knobs in bank.CLASSES.items()}
        if self.options.late:
            return {'adversarial': self.look(name, 'adversarial')}
        status, output = self.run(name, self.options.pcie)
        if self.options.plain:
            said = {'-': ended(status, (0,)) or 'ended'}
        else:
            failure = ended(status, (0, FINDINGS))
            said = {machine: failure for machine in bank.CLASSES} if failure else read_verdict(output)
        self.show_unless(all(text in ('ended', *WORDS) for text in said.values()), name, status, output)
        return said

    def look(self, name, pcie):
        """Runs a program that judges itself."""
        status, output = self.run(name, pcie)
        failure = ended(status, (0, SAW_WRONG))
        self.show_unless(not failure, name, status, output)
        return failure or WORDS[status == SAW_WRONG]

    @staticmethod
    def show_unless(has_verdict, name, status, output):
        if not has_verdict:
            print(f'{name}: status {status}\n{output}', flush=True)

    def stop(self):
        subprocess.run([self.options.rocin, 'stop'], env=self.environment, check=False, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def slow_down(pid, times):
    """Lets the session of a process run for one of so many slices of time, until the process has ended:
    what is bounded by time comes as early as on a processor that is so much slower."""
    while times > 1 and not has_ended(pid):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.killpg(pid, signal.SIGSTOP)
            time.sleep((times - 1) * SLICE)
            os.killpg(pid, signal.SIGCONT)
        time.sleep(SLICE)


def has_ended(pid):
    """Of a child that nobody has waited for."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def is_sanitized(options):
    return not (options.plain or options.live or options.late)


def machines(options):
    """The rows of a program."""
    return ['-'] if options.plain else ['adversarial'] if options.late else bank.CLASSES


def ended(status, good):
    """What is to be said of a run that did not end as it should; else None."""
    if status is None:
        return 'did not end'
    return None if status in good else f'status {status}'


def read_verdict(output):
    """What the last line with a verdict says for each class."""
    lines = VERDICT.findall(output)
    found = dict.fromkeys(bank.CLASSES, 'no verdict')
    for part in lines[-1].split(',') if lines else []:
        words = part.split()
        if len(words) != 2 or words[0] not in found or words[1] not in WORDS:
            return dict.fromkeys(bank.CLASSES, f'not understood: {part.strip()}')
        found[words[0]] = words[1]
    return found


def describe(counts):
    if len(counts) == 1:
        return next(iter(counts))
    return ', '.join(f'{text} {count}x' for text, count in sorted(counts.items()))


class Table:
    """Counts what was found, and prints a row for each program and class."""

    def __init__(self, options):
        self.options = options
        self.differences = 0
        self.score = collections.Counter()

    @staticmethod
    def head():
        print(f'{"program":30} {"class":12} {"expected":9} {"found":30} runs', flush=True)

    def add(self, program, runs, is_silent=False):
        """Counts the runs of a program."""
        for machine in machines(self.options):
            expected = self.expected(program, machine)
            counts = collections.Counter(run[machine] for run in runs)
            differs = sum(count for text, count in counts.items()
                          if text != expected and not self.may_be(program, expected, text))
            self.differences += differs
            for text, count in counts.items():
                self.score[expected, text] += count
            if not is_silent and (differs or not self.options.differences):
                print(f'{program.name:30} {machine:12} {expected:9} {describe(counts):30} '
                      f'{len(runs)}{"  <-- differs" if differs else ""}', flush=True)

    def expected(self, program, machine):
        if self.options.plain:
            return 'ended'
        if self.options.late:
            return WORDS[program.is_wrong]
        return program.expect[machine]

    def may_be(self, program, expected, text):
        """A wrong program need not go wrong each time, where the events do not decide."""
        is_open = self.options.live or (self.options.late and program.name in UNSURE)
        return is_open and (expected, text) == ('wrong', 'right')

    def accuracy(self):
        """Anything but "wrong" where "wrong" is expected was not found."""
        hits = self.score['wrong', 'wrong']
        wrong = sum(count for (expected, _), count in self.score.items() if expected == 'wrong')
        found = sum(count for (_, text), count in self.score.items() if text == 'wrong')
        return (f'recall {percent(hits, wrong)} ({hits} of {wrong}), '
                f'precision {percent(hits, found)} ({hits} of {found})')

    def sum(self):
        total = sum(self.score.values())
        return f'{total - self.differences} of {total} as expected'

    def finish(self):
        if not self.options.plain:
            print(self.accuracy())
        print(self.sum(), flush=True)
        return 1 if self.differences else 0


def percent(part, whole):
    """Rounded down, so that 100 % is all."""
    return f'{part * 1000 // whole / 10 if whole else 100.0:.1f} %'


def chosen(patterns):
    programs = bank.programs()
    if patterns:
        for pattern in patterns:
            if not any(fnmatch.fnmatch(program.name, pattern) for program in programs):
                sys.exit(f'run.py: no program is named {pattern}')
        programs = [p for p in programs if any(fnmatch.fnmatch(p.name, w) for w in patterns)]
    return programs


@contextlib.contextmanager
def processors(count):
    """Leaves so many processors to what is started meanwhile; 0: all."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count or None])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def busy(count):
    """Keeps processors busy by so many processes."""
    hogs = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def run_all(options, programs):
    """Runs the programs under one condition. Returns, program by program, what was said of each run."""
    with tempfile.TemporaryDirectory(prefix='visibility.') as folder:
        os.mkdir(os.path.join(folder, 'run'), 0o700)
        runner = Runner(options, folder)
        with processors(options.cpus), busy(options.hogs):
            try:
                with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                    runs = [[pool.submit(runner.judge, program.name) for _ in range(options.runs)]
                            for program in programs]
                    for program, futures in zip(programs, runs):
                        yield program, [future.result() for future in futures]
            finally:
                runner.stop()


def run_once(options, programs):
    table = Table(options)
    table.head()
    for program, said in run_all(options, programs):
        table.add(program, said)
    return table.finish()


def run_everywhere(options, programs):
    table, runs = Table(options), collections.defaultdict(list)
    for condition, settings in CONDITIONS.items():
        part = Table(options)
        for program, said in run_all(argparse.Namespace(**{**vars(options), **settings}), programs):
            part.add(program, said, is_silent=True)
            runs[program] += said
        print(f'{condition}: {part.accuracy()}, {part.sum()}', flush=True)
    table.head()
    for program, said in runs.items():
        table.add(program, said)
    return table.finish()


def main():
    options = parse_arguments()
    programs = chosen(options.patterns)
    if options.list:
        for program in programs:
            verdicts = ' '.join(f'{c}={v}' for c, v in program.expect.items())
            print(f'{program.name:30} {program.kind:10} {verdicts}')
        return 0
    if not shutil.which(options.rocin):
        sys.exit(f'run.py: there is no {options.rocin}; ROCIN_BIN or --rocin names it')
    return (run_everywhere if options.everywhere else run_once)(options, programs)


if __name__ == '__main__':
    sys.exit(main())
