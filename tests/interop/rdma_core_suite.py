#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rdma_core_suite.py SUITE LIST OPTION... - the tests of an rdma-core tree, by module.

SUITE is a copy of the tree's folder "tests", LIST a file of lines "TEST REASON": tests (patterns
as the shell has them) that may fail, because no software could pass them here. OPTIONs are
for the suite (--dev ...). Each module is a process of its own, so one that hangs or dies
costs its module. Prints a table; status 1 if a test fails that LIST does not name, or a
module does not end.
"""
import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import unittest

MODULE_LIMIT = 900  # seconds; the longest module takes a tenth of that on two idle processors


def load(suite, module):
    """The tests of one module of the suite, which is the package "tests"."""
    sys.path.insert(0, suite)
    spec = importlib.util.spec_from_file_location(
        "tests", os.path.join(suite, "__init__.py"), submodule_search_locations=[suite])
    package = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = package
    from args_parser import parser
    parser.parse_args()
    # The whole package first: its modules import each other, which works in its order alone.
    spec.loader.exec_module(package)
    return unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}")


class Ends(unittest.TestResult):
    """Says of each test how it ended, as soon as it has."""

    def say(self, test, end, said):
        name = getattr(test, "test_case", test).id().removeprefix("tests.")
        print("END " + json.dumps([name, end, said]), flush=True)

    def addSuccess(self, test):
        self.say(test, "passed", "")

    def addSkip(self, test, reason):
        self.say(test, "skipped", reason)

    def addFailure(self, test, err):
        self.say(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)

    def addExpectedFailure(self, test, err):
        self.say(test, "passed", "")

    def addUnexpectedSuccess(self, test):
        self.say(test, "failed", "passes where the suite expects a failure")


def ends_of(suite, module, options):
    """How the tests of a module ended: {name: (end, said)}, and what is wrong with its process."""
    command = [sys.executable, __file__, "--module", module, suite, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", start_new_session=True) as child:
        try:
            output, _ = child.communicate(timeout=MODULE_LIMIT)
            wrong = None if child.returncode == 0 else f"status {child.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            output, _ = child.communicate()
            wrong = f"does not end within {MODULE_LIMIT} s"
    ends = {}
    for line in output.splitlines():
        if line.startswith("END "):
            name, end, said = json.loads(line[4:])
            if ends.get(name, ("",))[0] != "failed":
                ends[name] = (end, said)
    if wrong:
        wrong += "; it said last: " + " | ".join(output.splitlines()[-3:])[:400]
    return ends, wrong


def read_list(path):
    """Patterns of tests that may fail."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if line.strip() and line[0] != "#"]
    return [line[0] for line in lines]


def main():
    suite, path, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    known = read_list(path)
    modules = sorted(name[:-3] for name in os.listdir(suite)
                     if name.startswith("test_") and name.endswith(".py"))
    total = {"passed": 0, "failed": 0, "skipped": 0}
    bad = []
    print(f"{'module':32} passed failed skipped")
    for module in modules:
        ends, wrong = ends_of(suite, module, options)
        count = {end: sum(e[0] == end for e in ends.values()) for end in total}
        print(f"{module:32} {count['passed']:6} {count['failed']:6} {count['skipped']:7}",
              flush=True)
        for end in total:
            total[end] += count[end]
        if wrong:
            bad.append(f"{module}: {wrong}")
        for name, (end, said) in sorted(ends.items()):
            if end == "failed" and not any(fnmatch.fnmatchcase(name, k) for k in known):
                bad.append(f"{name} fails:\n{said[-1500:]}")
            elif end == "skipped" and os.environ.get("RDMA_CORE_SHOW_SKIPS"):
                print(f"    {name}: {said.strip().splitlines()[-1:]}")
    print(f"{'all':32} {total['passed']:6} {total['failed']:6} {total['skipped']:7}")
    print("\n".join(bad))
    sys.exit(1 if bad or not total["passed"] else 0)


if __name__ == "__main__":
    if sys.argv[1] == "--module":
        one, where = sys.argv[2:4]
        sys.argv[1:] = sys.argv[4:]
        load(where, one).run(Ends())
    else:
        main()
