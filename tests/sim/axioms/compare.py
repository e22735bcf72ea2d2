#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""compare.py [OPTIONS] [FILE...] - the explorer and the axioms find the same final states.

Each litmus test is given to `rocin litmus', which tries every schedule of the operational
model, and to clingo, which finds every execution that the axioms of model.lp allow. For each
set of knobs the two sets of final states are compared. Without files, COUNT tests are drawn
from SEED (generate.py); with --having as many with that instruction. A disagreement is printed as a litmus file from which no instruction
can be removed without the two agreeing again, with both sets. Ends with 1 if there was one.

With --live RUNS no axioms are asked: each test is run RUNS times on a live device, whose
final states have to be among those of the explorer.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import generate

HERE = os.path.dirname(os.path.abspath(__file__))


class Run:
    """One test under one set of knobs: what each side says."""

    def __init__(self, name, knobs, facts):
        self.name, self.knobs, self.facts = name, knobs, facts
        self.names = {}  # number of what is observed -> its name
        for line in facts.splitlines():
            if line.startswith("observed("):
                self.names[int(line[9:line.index(",")])] = line.rsplit("% ", 1)[1]
        self.explorer = None  # set of final states; None: not all schedules were tried
        self.axioms = None  # set of final states; None: see @why
        self.why = ""

    def solve(self, model, seconds):
        """Finds what the axioms allow."""
        self.axioms, self.why = None, ""
        done = subprocess.run(
            ["clingo", model, "-", "--project", "-n", "0", "--outf=2", "-Wnone",
             f"--time-limit={seconds}"], input=self.facts, capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise SystemExit(f"clingo: {done.stderr}") from None
        # 33 and above: out of memory, or a model with an error. Interrupted when its time was
        # over, it may say nothing about a result.
        if done.returncode > 30:
            raise SystemExit(f"clingo: {done.stderr}")
        if answer.get("Result") not in ("SATISFIABLE", "UNSATISFIABLE"):
            self.why = "the solver took too long"
            return
        if answer["Models"]["More"] != "no":
            self.why = "the solver took too long"
            return
        states = set()
        for call in answer["Call"]:
            for witness in call.get("Witnesses", []):
                state = {}
                for atom in witness["Value"]:
                    if atom.startswith("uncovered("):
                        self.why = atom[11:-2]
                        return
                    number, value = atom[6:-1].split(",")
                    state[self.names[int(number)]] = value_of(value)
                states.add(" ".join(f"{n}={state[n]};" for n in self.names.values() if n in state))
        self.axioms = states

    def agrees(self):
        return self.explorer is None or self.axioms is None or self.explorer == self.axioms


def value_of(term):
    """Returns a number, or an address as `rocin litmus' prints it."""
    return "&" + term[9:-2] if term.startswith("address(") else int(term)


def rocin_output(rocin, arguments, files):
    done = subprocess.run([rocin, "litmus", *arguments, *files], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


def read_runs(args, files):
    """Returns the runs of the tests in the files, with what the explorer found."""
    runs = []
    facts = rocin_output(args.rocin, ["--backend=facts", *args.rocin_options], files)
    for block in facts.split("%% ")[1:]:
        if not runs or runs[-1].facts:
            runs.append(Run(block.strip(), "", ""))
        else:
            knobs, _, text = block.partition("\n")
            runs[-1] = Run(runs[-1].name, knobs, text)
    report = json.loads(rocin_output(
        args.rocin, ["--json", f"--runs={args.states}", *args.rocin_options], files))
    explored = [(test["name"], run) for test in report["tests"] for run in test["runs"]]
    assert len(explored) == len(runs)
    for run, (name, found) in zip(runs, explored):
        assert (name, found["knobs"]) == (run.name, run.knobs)
        if found["complete"]:
            run.explorer = {state["state"] for state in found["states"]}
    return runs


def solve_all(args, runs):
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda run: run.solve(args.model, args.solver_seconds), runs))


def compare_text(args, text):
    """Returns the runs of tests that are given as text."""
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
        file.write(text)
        file.flush()
        runs = read_runs(args, [file.name])
    solve_all(args, [run for run in runs if run.explorer is not None])
    return runs


def shrink(args, test):
    """Removes what can be removed from a generated test of one knob set that disagrees."""
    smaller = True
    while smaller:
        smaller = False
        for other in test.reductions():
            if not all(run.agrees() for run in compare_text(args, str(other))):
                test, smaller = other, True
                break
    return test


def tell(run, text=None):
    print(f"{run.name} [{run.knobs}]: the explorer and the axioms disagree")
    if text:
        print(text)
    for state in sorted(run.explorer | run.axioms):
        who = "both" if state in run.explorer & run.axioms else \
            "explorer only" if state in run.explorer else "axioms only"
        if who != "both" or text:
            print(f"    {who:14} {state}")
    sys.stdout.flush()


class Count:
    def __init__(self):
        self.compared = self.unequal = self.states = self.large = 0
        self.why = {}

    def add(self, run):
        if run.explorer is None:
            self.large += 1
        elif run.axioms is None:
            self.why[run.why] = self.why.get(run.why, 0) + 1
        else:
            self.compared += 1
            self.states += len(run.explorer)
            self.unequal += not run.agrees()

    def __str__(self):
        text = (f"{self.compared} sets of final states compared ({self.states} states), "
                f"{self.unequal} different; {self.large} too large for the explorer")
        return "".join([text, *(f"; {n}: {why}" for why, n in sorted(self.why.items()))])


def observe_all(text):
    """Adds to each test of a file verdicts that name all memory, registers and ends of threads,
    so that final states are compared in full. No final state satisfies them."""
    tests = []
    for test in re.split(r"^(?=RDMA )", text, flags=re.M):
        bare = re.sub(r"\(\*.*?\*\)", "", test, flags=re.S)
        program = re.search(r"\}\s*(.*?)(?=^\[|^allowed|^forbidden|^forall|^exists|^~exists)", bare,
                            flags=re.S | re.M)
        if not program:
            tests.append(test)
            continue
        rows = [[cell.strip() for cell in row.split("|")] for row in program[1].split(";")]
        names = re.findall(r"(\w+)@", bare[:program.start()])
        for i, thread in enumerate(rows[0]):
            code = [row[i] for row in rows[1:] if i < len(row)]
            names += sorted({f"{thread}:{line.split()[1]}" for line in code
                             if line.split()[:1] in (["ld"], ["mrd"], ["tryp"])})
            names.append(f"{thread}:done")
        knobs = re.match(r"\[.*?\]", bare[program.end():])
        lines = [f"{knobs[0] if knobs else ''} forbidden ({name}=999999)" for name in names]
        tests.append("\n".join([test.rstrip(), *lines, "", ""]))
    return "".join(tests)


def whole_file(file):
    """A copy of a litmus file in which everything is observed."""
    copy = tempfile.NamedTemporaryFile("w", suffix=".litmus")
    with open(file) as text:
        copy.write(observe_all(text.read()))
    copy.flush()
    return copy


def compare_files(args, count):
    for file in args.files:
        with whole_file(file) as copy:
            runs = read_runs(args, [copy.name])
        solve_all(args, [run for run in runs if run.explorer is not None])
        for run in runs:
            count.add(run)
            if not run.agrees():
                tell(run)


def draw(args):
    """Yields tests, those alone that have the instruction that is asked for."""
    for number in itertools.count(args.first):
        test = generate.Test(args.seed, number)
        if not args.having or any(line.split()[0] == args.having
                                  for code in test.code.values() for line in code):
            yield test


def compare_generated(args, count):
    """Compares generated tests, a batch at a time, until count or time is reached."""
    start, number, drawn = time.monotonic(), 0, draw(args)
    while number < args.count and (not args.time or time.monotonic() - start < args.time):
        batch = list(itertools.islice(drawn, min(args.batch, args.count - number)))
        number += len(batch)
        if args.progress:
            print(f"{number} tests: {count}", file=sys.stderr)
        runs = compare_text(args, "\n".join(map(str, batch)))
        by_name = {test.name: test for test in batch}
        for run in runs:
            count.add(run)
            if run.agrees():
                continue
            small = shrink(args, by_name[run.name]) if args.shrink else by_name[run.name]
            for other in compare_text(args, str(small)):
                tell(other, str(small))
            if count.unequal >= args.most:
                return number
    return number


class LiveCount:
    def __init__(self):
        self.tests = self.seen = self.allowed = self.wrong = 0
        self.skipped = {}

    def skip(self, why):
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def __str__(self):
        text = (f"{self.tests} run on a live device ({self.seen} final states seen of "
                f"{self.allowed} allowed), {self.wrong} wrong")
        return "".join([text, *(f"; {n} skipped: {why}" for why, n in sorted(self.skipped.items()))])


def run_live(args, tests):
    """Runs tests live. Yields for each test what the report says of its run, or the reason why
    there is none. The back end ends at a test that fails, so the others are run once more."""
    while tests:
        with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
            file.write("\n".join(map(str, tests)))
            file.flush()
            done = subprocess.run(
                [args.rocin, "litmus", "--backend=live", "--json", f"--runs={args.live}",
                 f"--seed={args.seed}", file.name], capture_output=True, text=True)
        ran = json.loads(done.stdout)["tests"] if done.stdout else []
        failed = next((test for test in tests if f"{test.name} (" in done.stderr), None)
        for test, said in zip(tests, ran):
            if test is not failed:
                yield test, said["runs"][0]
        if failed:
            yield failed, done.stderr.strip()
        elif len(ran) < len(tests):
            raise SystemExit(done.stderr)
        tests = tests[tests.index(failed) + 1:] if failed else []


def judge_live(count, test, explored, said):
    """Counts one test: are all final states that were seen among those explored?"""
    if isinstance(said, str):
        count.wrong += 1
        print(f"{said}\n{test}", flush=True)
        return
    if said.get("why"):
        count.skip(said["why"])
        return
    seen = {state["state"]: state for state in said["states"]}
    count.tests += 1
    count.allowed += len(explored)
    count.seen += len(explored & set(seen))
    for state in set(seen) - explored:
        count.wrong += 1
        print(f"{test.name} [{test.knobs}]: the explorer never ends in this: {state}, seen "
              f"{seen[state]['count']} times, first with seed {seen[state]['seed']}\n{test}",
              flush=True)


def compare_live(args):
    """Runs drawn tests live, a batch at a time, until count or time is reached. A batch is
    sorted by knobs, because other knobs need another process."""
    count, start, number, drawn = LiveCount(), time.monotonic(), 0, draw(args)
    while number < args.count and (not args.time or time.monotonic() - start < args.time):
        batch = list(itertools.islice(drawn, min(args.batch, args.count - number)))
        number += len(batch)
        with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
            file.write("\n".join(map(str, batch)))
            file.flush()
            explored = {run.name: run.explorer for run in read_runs(args, [file.name])}
        for test in batch:
            if explored[test.name] is None:
                count.skip("too large for the explorer")
        runnable = [test for test in batch if explored[test.name] is not None]
        for test, said in run_live(args, sorted(runnable, key=lambda test: test.knobs)):
            judge_live(count, test, explored[test.name], said)
        if args.progress:
            print(f"{number} tests: {count}", file=sys.stderr)
    print(f"{number} tests of seed {args.seed}: {count}")
    return count


class FileTest:
    """A test of a file under one set of knobs."""

    def __init__(self, file, run):
        self.name, self.knobs, self.file = run.name, run.knobs, file

    def __str__(self):
        return f"of {self.file}"


def compare_live_files(args):
    """Runs the tests of files live, one file after the other, until time is reached."""
    count, start = LiveCount(), time.monotonic()
    for number, file in enumerate(args.files):
        if args.time and time.monotonic() - start > args.time:
            print(f"{len(args.files) - number} files were left out: no time")
            break
        with whole_file(file) as copy:
            explored = read_runs(args, [copy.name])
            report = json.loads(rocin_output(args.rocin, [
                "--backend=live", "--json", f"--runs={args.live}", f"--seed={args.seed}",
                *args.rocin_options], [copy.name]))
        said = [run for test in report["tests"] for run in test["runs"]]
        assert [run["knobs"] for run in said] == [run.knobs for run in explored]
        for run, live in zip(explored, said):
            if run.explorer is not None:
                judge_live(count, FileTest(file, run), run.explorer, live)
    print(count)
    return count


def broken_models(path, model):
    """Returns what is wrong and the text of a model, for each line WRONG :: ORIGINAL ::
    REPLACEMENT of a file; the ORIGINAL, of one line or part of it, has to be there once."""
    text = open(model).read()
    models = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            wrong, original, replacement = line.rstrip("\n").split(" :: ")
            if text.count(original) != 1:
                raise SystemExit(f"{path}: the model has not once: {original}")
            models.append((wrong, text.replace(original, replacement)))
    return models


def notice_broken(args):
    """Is each broken model noticed, by the files or else by generated tests?"""
    runs = [run for file in args.files for run in read_runs(args, [file]) if run.explorer is not None]
    unnoticed = 0
    for wrong, text in broken_models(args.broken, args.model):
        if args.only and wrong != args.only:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".lp") as file:
            file.write(text)
            file.flush()
            broken = argparse.Namespace(**{**vars(args), "model": file.name, "most": 1, "shrink": False})
            who = noticing(broken, runs)
        print(f"{who or 'NOBODY':32} notices: {wrong}")
        sys.stdout.flush()
        unnoticed += who is None
    return unnoticed


def noticing(args, runs):
    """Returns the name of a test on which a broken model disagrees, or None."""
    for i in range(0, len(runs), args.batch):
        batch = runs[i:i + args.batch]
        solve_all(args, batch)
        for run in batch:
            if not run.agrees():
                return run.name
    for number in range(0, args.count, args.batch):
        texts = [str(generate.Test(args.seed, i)) for i in range(number, number + args.batch)]
        for run in compare_text(args, "\n".join(texts)):
            if not run.agrees():
                return run.name
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--rocin", default="rocin", help="the program rocin")
    parser.add_argument("--rocin-option", action="append", default=[], dest="rocin_options",
                        help="such as --rocin-option=--mode=all; may be repeated")
    parser.add_argument("--model", default=os.path.join(HERE, "model.lp"), help="the axioms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="number of tests to draw")
    parser.add_argument("--time", type=float, default=0, help="stop after that many seconds")
    parser.add_argument("--states", type=int, default=50000, help="bound of the explorer")
    parser.add_argument("--solver-seconds", type=int, default=20, help="bound of the solver")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, default=20, help="stop after so many disagreements")
    parser.add_argument("--progress", action="store_true", help="a line for each batch")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--live", type=int, metavar="RUNS", help="run drawn tests on a live device")
    parser.add_argument("--first", type=int, default=0, help="number of the first test")
    parser.add_argument("--having", metavar="WORD", help="draw only tests with this instruction")
    parser.add_argument("--broken", help="a file of broken axioms: is each noticed?")
    parser.add_argument("--only", metavar="WRONG", help="of these, the one that says so")
    args = parser.parse_args()
    if args.broken:
        sys.exit(notice_broken(args) > 0)
    if args.live:
        live = compare_live_files(args) if args.files else compare_live(args)
        sys.exit(live.wrong > 0 or live.tests == 0)
    count = Count()
    if args.files:
        compare_files(args, count)
        print(count)
    else:
        drawn = compare_generated(args, count)
        print(f"{drawn} tests of seed {args.seed}: {count}")
    sys.exit(count.unequal > 0 or count.compared == 0)


if __name__ == "__main__":
    main()
