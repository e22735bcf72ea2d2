#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""judge_pyverbs.py SUITE LIST WHERE OPTION... - runs rdma-core's tests and checks their results.

SUITE is a copy of rdma-core's folder "tests". LIST is a file like pyverbs-skips.txt. WHERE is the
name of this run's environment, such as lo, to which lines of LIST may refer. OPTIONs are passed to
the suite (--dev ...). The exit status is 0 if each test passes or has the result that LIST expects.
Otherwise the program prints a sentence for each other test, with a remedy.
"""
import faulthandler
import fnmatch
import importlib.util
import os
import sys
import unittest

ENDS = ("skip", "fail", "may", "omit")


class Outcomes(unittest.TestResult):
    """The result of each test ('pass', 'skip' or 'fail') and its message."""

    def __init__(self):
        super().__init__()
        self.ends = {}

    def record(self, test, end, said):
        # The result of a subtest, or of a class whose setup fails, counts for the test around it.
        name = name_of(getattr(test, "test_case", test))
        if self.ends.get(name, ("pass",))[0] != "fail":
            self.ends[name] = (end, said)

    def addSuccess(self, test):
        self.record(test, "pass", "")

    def addSkip(self, test, reason):
        self.record(test, "skip", reason)

    def addFailure(self, test, err):
        self.record(test, "fail", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)

    def addExpectedFailure(self, test, err):
        self.record(test, "pass", "")

    def addUnexpectedSuccess(self, test):
        self.record(test, "fail", "passes where the suite expects a failure")


def name_of(test):
    return test.id().removeprefix("tests.")


def row_of(name, rows):
    return next((row for row in rows if fnmatch.fnmatchcase(name, row[1])), None)


def each(tests):
    """Yields every test of a suite, which may consist of suites."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def read_list(path, where):
    """Returns the rows (result, pattern, reason) of LIST that apply to WHERE."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split(None, 3)
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 4 or words[0] not in ENDS:
                sys.exit(f"{path}:{number}: wants END WHERE TEST REASON, END one of {ENDS}")
            if words[1] in ("any", where) or words[1][:1] == "!" and words[1][1:] != where:
                rows.append((words[0], words[2], words[3].strip()))
    return rows


def judge(name, end, said, row):
    """Returns None if the result of a test is as expected, otherwise an error message."""
    last = said.strip().splitlines()[-1] if said.strip() else ""
    if end == "skip" and (row is None or row[0] == "fail"):
        return (f"{name} is skipped ({last}): find out why; if it is no fault of Rocin, "
                "say so in a line of the list")
    if end == "fail" and (row is None or row[0] == "skip"):
        return f"{name} fails: mend Rocin. What it says:\n{said}"
    if end == "pass" and row is not None and row[0] != "may":
        return (f'{name} passes, though the list says "{row[0]}" ({row[2]}): '
                "delete its line, or narrow its pattern")
    return None


def main():
    suite, path, where = sys.argv[1:4]
    rows = read_list(path, where)
    sys.path.insert(0, suite)
    sys.argv[1:] = sys.argv[4:]
    spec = importlib.util.spec_from_file_location(
        "tests", os.path.join(suite, "__init__.py"), submodule_search_locations=[suite])
    tests = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = tests
    from args_parser import parser
    parser.parse_args()
    spec.loader.exec_module(tests)
    # If a test hangs, its stack is printed before the time limit of the caller ends this process.
    faulthandler.dump_traceback_later(3300, exit=True)
    outcomes = Outcomes()
    wanted, used = unittest.TestSuite(), set()
    for test in each(unittest.defaultTestLoader.loadTestsFromModule(tests)):
        row = row_of(name_of(test), rows)
        if row and row[0] == "omit":
            used.add(row)
        else:
            wanted.addTest(test)
    wanted.run(outcomes)
    faulthandler.cancel_dump_traceback_later()

    wrong, counts = [], {"pass": 0, "skip": 0, "fail": 0}
    for name, (end, said) in sorted(outcomes.ends.items()):
        row = row_of(name, rows)
        used.add(row)
        counts[end] += 1
        verdict = judge(name, end, said, row)
        if verdict:
            wrong.append(verdict)
    wrong += [f"{row[1]}: no test has such a name, or an earlier line takes it: delete the line"
              for row in rows if row not in used]
    print("\n".join(wrong))
    print(f"{counts['pass']} pass, {counts['skip']} skipped, {counts['fail']} fail; "
          f"{len(wrong)} not as {os.path.basename(path)} says")
    sys.exit(1 if wrong or not counts["pass"] else 0)


if __name__ == "__main__":
    main()
