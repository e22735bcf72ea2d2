# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""judge - finds out which tests reach a mutant, and whether one of them fails with it."""
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

from . import box, build

QUICK = {"unit", "scenario", "rocind", "quick"}  # labels of tools/check --quick
# Time limit of a test with a mutant: its duration without a mutant times LIMIT_TIMES, plus LIMIT_MORE
# seconds. It is that long because the machine may be busy.
LIMIT_TIMES, LIMIT_MORE = 5, 5
FAST_TIMEOUT = 300  # time limit in seconds of a run without a mutant, if the test has no TIMEOUT


class Test:
    def __init__(self, entry):
        values = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name, self.command = entry["name"], entry["command"]
        self.folder = values.get("WORKING_DIRECTORY", "/")
        self.env = dict(pair.split("=", 1) for pair in values.get("ENVIRONMENT", []))
        self.skip = values.get("SKIP_RETURN_CODE", 0) or None
        self.timeout = values.get("TIMEOUT", FAST_TIMEOUT)
        self.quick = bool(QUICK & set(values.get("LABELS", [])))
        self.alone = values.get("RUN_SERIAL", False)
        self.locks = values.get("RESOURCE_LOCK", [])
        self.seconds, self.reached, self.how = 0.0, set(), ""


def tests_of(place):
    """Returns all tests except those that need the machine alone, because they measure times, and those
    of tools/mutate itself."""
    out = subprocess.run(["ctest", "--show-only=json-v1"], cwd=place.build, capture_output=True, text=True,
                         check=True).stdout
    tests = [Test(entry) for entry in json.loads(out)["tests"] if "command" in entry]
    return [test for test in tests if not test.alone and "tools/mutate" not in " ".join(test.command)]


class Crew:
    """A set of boxes that process the items of a list at the same time, each item in one box."""

    def __init__(self, place, jobs):
        words = box.how()
        if not words and jobs > 1:
            print("no namespaces here: one run at a time", flush=True)
        self.boxes = [box.Box(place, n, words) for n in range(jobs if words else 1)]
        self.locks, self.guard, self.stop = {}, threading.Lock(), False

    def held(self, names):
        """Returns the locks with these names, sorted by name. All threads take locks in this order, so
        that no deadlock is possible."""
        with self.guard:
            return [self.locks.setdefault(name, threading.Lock()) for name in sorted(names)]

    def run(self, mine, test, *args):
        locks = self.held([*test.locks, "test " + test.name])
        for lock in locks:
            lock.acquire()
        try:
            return mine.run(test, *args)
        finally:
            for lock in reversed(locks):
                lock.release()

    def each(self, items, work):
        """Calls work(box, item) for all items. An exception in one call stops all boxes."""
        todo, errors = queue.SimpleQueue(), []
        for item in items:
            todo.put(item)

        def worker(mine):
            try:
                while not self.stop:
                    work(mine, todo.get_nowait())
            except queue.Empty:
                pass
            except BaseException as error:  # pylint: disable=broad-except
                errors.append(error)
                self.stop = True

        threads = [threading.Thread(target=worker, args=(mine,)) for mine in self.boxes]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.stop = True
            print("\nends after the tests that run now; the same call goes on from here", flush=True)
            for thread in threads:
                thread.join()
            sys.exit(130)
        if errors:
            raise errors[0]


def limit(test):
    return test.seconds * LIMIT_TIMES + LIMIT_MORE


class Baseline:
    """The results of each test without a mutant: its duration, and the mutants that it reaches."""

    def __init__(self, place, crew, stamp, tests, options):
        self.place, self.crew, self.tests = place, crew, tests
        self.some, self.all = bool(options.tests), not options.quick and not options.tests
        self.wanted = [test for test in tests if (test.quick or not options.quick) and
                       re.search(options.tests or "", test.name)]
        self.stamp, self.known, self.lock = stamp, {}, threading.Lock()
        if place.baseline.exists():
            saved = json.loads(place.baseline.read_text())
            self.known = saved["tests"] if saved["stamp"] == stamp else {}

    def take(self):
        """Runs the wanted tests that have no result yet, and stores all results in the tests."""
        missing = [test for test in self.wanted if test.name not in self.known]
        if missing:
            print(f"{len(missing)} tests without a mutant: which mutants do they reach?", flush=True)
        done = 0

        def one(mine, test):
            nonlocal done
            self.measure(mine, test)
            with self.lock:
                done += 1
                if done % 50 == 0:
                    print(f"  {done} of {len(missing)}", flush=True)
                    self.save()

        self.crew.each(missing, one)
        self.save()
        for test in self.tests:
            if test.name in self.known:
                self.fill(test)

    def measure(self, mine, test):
        """Runs a test without a mutant."""
        how, seconds, reached = self.crew.run(mine, test, 0, test.timeout, build.REACHED_SIZE)
        with self.lock:
            self.known[test.name] = [how, round(seconds, 3), sorted(reached)]
            if how not in ("passed", "skipped"):
                print(f"  {test.name} {how} without a mutant: it judges nobody", flush=True)
                os.replace(mine.log, self.place.top / f"bad-{test.name}.log")

    def fill(self, test):
        test.how, test.seconds, reached = self.known[test.name]
        test.reached = set(reached)

    def need(self, mine, test):
        """Gets the results of one test. Runs it if it has not run yet, or if it has failed, because a busy
        machine may have been the reason."""
        if self.known.get(test.name, ["failed"])[0] not in ("passed", "skipped"):
            self.measure(mine, test)
            with self.lock:
                self.save()
        self.fill(test)

    def save(self):
        self.place.baseline.write_text(json.dumps({"stamp": self.stamp, "tests": self.known}))

    def judges(self, mutant):
        """Returns the wanted tests that reach the mutant, except those that also fail without it."""
        return [test for test in self.wanted if test.how == "passed" and mutant.number in test.reached]


def entries(path):
    """Yields the verdicts in a file. Skips an incomplete line, which a run has left that was killed."""
    for line in path.read_text().splitlines():
        try:
            entry = json.loads(line)
            if {"id", "stamp", "by"} <= entry.keys():
                yield entry
        except (ValueError, AttributeError):
            pass


def is_cut(file):
    """Returns true if the file ends with an incomplete line."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def says_more(entry, known, stamp):
    """Returns true if verdict entry should replace verdict known. A verdict from other sources is always
    replaced. Otherwise a verdict that the mutant was killed counts most, especially by a quick test;
    then a verdict after all tests; then one that did not come from selected tests only."""
    def weight(e):
        return bool(e["by"]), bool(e["by"] and e.get("quick")), bool(e.get("all")), not e.get("some")

    return known is None or known["stamp"] != stamp or weight(entry) > weight(known)


class Results:
    """The latest verdict on each mutant. Each verdict is appended to a file at once, so that none is lost
    if the program is killed."""

    def __init__(self, path, stamp):
        self.path, self.stamp, self.of = path, stamp, {}
        self.lock = threading.Lock()
        for entry in entries(path) if path.exists() else ():
            known = self.of.get(entry["id"], entry)
            # A verdict on other sources must not replace one on these sources, even if it is newer.
            if entry["stamp"] == stamp or known["stamp"] != stamp:
                self.of[entry["id"]] = entry

    def put(self, entry):
        with self.lock:
            entry["stamp"] = self.stamp
            self.of[entry["id"]] = entry
            with open(self.path, "ab+") as file:
                file.write(b"\n" * is_cut(file) + json.dumps(entry).encode() + b"\n")

    def join(self, path):
        """Adds the verdicts that another source tree has found for the same sources. Returns their number."""
        count = 0
        for entry in entries(path):
            if entry["stamp"] == self.stamp and says_more(entry, self.of.get(entry["id"]), self.stamp):
                self.put(entry)
                count += 1
        return count

    def get(self, mutant, quick):
        """Returns the verdict on the mutant for these sources, or None. If only some tests were run and
        did not kill the mutant, this is a verdict only if quick is true."""
        entry = self.of.get(mutant.id)
        if entry is None or entry["stamp"] != self.stamp:
            return None
        return entry if quick or entry["by"] or entry["all"] else None

    def hints(self, mutant):
        """Returns the test that has killed the mutant with earlier sources, and the set of tests that have
        killed other mutants of the same file."""
        mine = self.of.get(mutant.id, {}).get("by", "")
        others = {entry["by"] for name, entry in self.of.items() if name.split(":")[0] == mutant.file}
        return mine, others


class Judge:
    def __init__(self, crew, baseline, results):
        self.crew, self.baseline, self.results = crew, baseline, results

    def order(self, mutant, tests):
        """Returns the tests in the order in which they are run: the quick tests first; among these, and
        among the others, first those that will probably fail, and those that take little time."""
        mine, others = self.results.hints(mutant)

        def cost(test):
            likely = 0.01 if test.name == mine else 0.3 if test.name in others else 1
            return (not test.quick, test.seconds * likely)

        return sorted(tests, key=cost)

    def judge(self, mine, mutant):
        """Runs the tests that reach the mutant until one fails. Returns the verdict, or None if the run is
        being stopped."""
        start = time.monotonic()
        tests = self.baseline.judges(mutant)
        before = self.results.of.get(mutant.id, {})
        had_quick = before.get("stamp") == self.results.stamp and not before.get("some")
        if had_quick:
            tests = [test for test in tests if not test.quick]
        entry = {"id": mutant.id, "by": "", "how": "", "quick": False, "all": self.baseline.all,
                 "some": self.baseline.some and not had_quick}
        for test in self.order(mutant, tests):
            if self.crew.stop:
                return None
            how = self.kills(mine, mutant, test)
            if how:
                entry.update(by=test.name, how=how, quick=test.quick)
                break
        entry["reached"] = sum(mutant.number in test.reached for test in self.baseline.tests)
        entry["seconds"] = round(time.monotonic() - start, 1)
        self.results.put(entry)
        return entry

    def kills(self, mine, mutant, test, told=None):
        """Returns how the test fails with the mutant; "" if it does not fail. The test must fail twice. If
        it hangs, it must end in time without the mutant. If told is not None, told(output of the test)
        must be true."""
        how, _, _ = self.crew.run(mine, test, mutant.number, limit(test))
        if how in ("passed", "skipped") or told and not told(mine.log.read_text(errors="replace")):
            return ""
        if how == "hung":
            without, _, _ = self.crew.run(mine, test, 0, limit(test))
            return how if without == "passed" else ""
        again, _, _ = self.crew.run(mine, test, mutant.number, limit(test))
        return how if again not in ("passed", "skipped") else ""


def pieces(mutants, piece):
    """Returns every Nth mutant from the Kth on. They are sorted by their ids before."""
    match = re.fullmatch(r"(\d+)/(\d+)", piece)
    k, n = map(int, match.groups()) if match else (0, 0)
    if not 1 <= k <= n:
        sys.exit(f"tools/mutate: --piece wants K/N with 1 <= K <= N, not '{piece}'")
    return [mutant for at, mutant in enumerate(sorted(mutants, key=lambda m: m.id)) if at % n == k - 1]
