# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""coverage - checks that each capability has a test of its own that fails if the capability is broken.

tests/coverage.txt has the capabilities with their tests, tests/mutants/coverage.txt the
mutants that break them.
"""
import fnmatch
import re
import time

CAPABILITIES = "tests/coverage.txt"
ENTRIES = "tests/mutants/coverage.txt"
WANTS = "wants CAPABILITY :: FILE:ID... or CAPABILITY :: none: REASON"
NONE = "none: "
WIDTH = 58  # width in characters of a capability in the table


class Line:
    """A capability: one line of tests/coverage.txt, with its tests, and the mutants that break it."""

    def __init__(self, where, topic, what, evidence):
        self.where, self.topic, self.what = where, topic, what
        self.key = " ".join([what, *evidence])
        self.evidence = [word.partition(":")[::2] for word in evidence]
        self.mutants, self.reason = [], ""

    def tests(self, all_tests):
        """Returns [(test, its functions that show the capability; []: all functions)]."""
        found = {}
        for pattern, function in self.evidence:
            for test in all_tests:
                if fnmatch.fnmatchcase(test.name, pattern):
                    found.setdefault(test.name, (test, []))[1].append(function)
        return [(test, [] if "" in functions else functions) for test, functions in found.values()]


def rows(path):
    """Yields (place in the file, text) of each line that is neither empty nor a comment."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{path.name}:{number}", line.strip()


def read_lines(root, sentences):
    lines = {}
    for where, row in rows(root / CAPABILITIES):
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) != 3 or not all(cells):
            sentences.append(f"tests/{where}: wants TOPIC | CAPABILITY | TEST...")
        elif cells[1] in lines:
            sentences.append(f"tests/{where}: '{cells[1]}' stands at {lines[cells[1]].where} already")
        else:
            lines[cells[1]] = Line(f"tests/{where}", cells[0], cells[1], cells[2].split())
    return lines


def read_entry(where, row, lines, by_id, sentences):
    what, separator, rest = row.rpartition(" :: ")
    line, rest = lines.get(what.strip()), rest.strip()
    if not separator or not rest:
        sentences.append(f"{where}: {WANTS}")
    elif line is None:
        sentences.append(f"{where}: {CAPABILITIES} has no '{what.strip()}': take its words, or delete this")
    elif line.mutants or line.reason:
        sentences.append(f"{where}: '{line.what}' has an entry already: put the mutants there")
    elif rest.startswith(NONE):
        line.reason = rest[len(NONE):]
    else:
        for word in rest.split():
            mutant = by_id.get(word)
            if mutant is None:
                sentences.append(f"{where}: there is no mutant {word}; tools/mutate --list has the ids")
            elif mutant.equivalent:
                sentences.append(f"{where}: {word} breaks nothing, it is equivalent")
            else:
                line.mutants.append(mutant)


def load(root, mutants, sentences):
    """Returns the capabilities. Adds messages about wrong or missing entries to sentences."""
    lines, by_id = read_lines(root, sentences), {m.id: m for m in mutants}
    for where, row in rows(root / ENTRIES):
        read_entry(f"tests/mutants/{where}", row, lines, by_id, sentences)
    for line in lines.values():
        if not line.mutants and not line.reason:
            sentences.append(f"{line.where}: {ENTRIES} has no entry that fits '{line.what}'")
    return list(lines.values())


def failed_functions(text):
    """Returns the test functions that have failed according to the output of cmocka, and the one that was
    running when the program ended."""
    failed = set(re.findall(r"^\[  (?:FAILED |ERROR  ) \] (\w+)$", text, re.M))
    ended = set(re.findall(r"^\[ {2,}OK \] (\w+)|^\[  SKIPPED \] (\w+)", text, re.M))
    begun = re.findall(r"^\[ RUN {6}\] (\w+)$", text, re.M)
    if begun and not any(begun[-1] in pair for pair in ended):
        failed.add(begun[-1])
    return failed


class Coverage:
    """Searches, for each capability, one of its tests that kills one of its mutants."""

    def __init__(self, judging, found):
        self.judging, self.baseline, self.found = judging, judging.baseline, found

    def order(self, line, before):
        """Returns the tests of a capability in the order in which they are run: first the test before,
        which has killed the mutant in an earlier state of the sources, then the quick tests, then the
        others. Within each group, tests with a shorter known duration come first."""
        seconds = {name: entry[1] for name, entry in self.baseline.known.items()}
        return sorted(line.tests(self.baseline.tests), key=lambda pair: (
            pair[0].name != before, not pair[0].quick, seconds.get(pair[0].name, 0)))

    def pair(self, mine, mutant, line):
        """Runs the tests of a capability with one of its mutants until one kills it. Returns the verdict,
        or None if the run is being stopped."""
        start, reached, ran = time.monotonic(), 0, False
        entry = {"id": f"{line.key} :: {mutant.id}", "by": "", "how": ""}
        before = self.found.of.get(entry["id"], {}).get("by")
        for test, functions in self.order(line, before):
            if self.judging.crew.stop:
                return None
            self.baseline.need(mine, test)
            ran = ran or test.how != "skipped"
            if test.how != "passed" or mutant.number not in test.reached:
                continue
            reached += 1
            entry["how"] = self.kills(mine, mutant, test, functions)
            if entry["how"]:
                entry["by"] = test.name
                break
        entry.update(reached=reached, ran=ran, seconds=round(time.monotonic() - start, 1))
        if ran:
            self.found.put(entry)
        return entry

    def kills(self, mine, mutant, test, functions):
        before = self.judging.results.get(mutant, True)
        if before and before["by"] == test.name and not functions:
            return before["how"]
        told = (lambda text: failed_functions(text) & set(functions)) if functions else None
        return self.judging.kills(mine, mutant, test, told)

    def judge(self, mine, line):
        """Judges all mutants of a capability. Those that were already killed with these sources are not
        run again."""
        for mutant in line.mutants:
            known = self.found.of.get(f"{line.key} :: {mutant.id}")
            if known is None or known["stamp"] != self.found.stamp or not known["by"]:
                known = self.pair(mine, mutant, line)
            if known is None:
                return
            print(f"{line.what[:WIDTH]:{WIDTH}}  {mutant.id:38} {word(known)}  {known['seconds']} s", flush=True)


def word(entry):
    if entry["by"]:
        return f"{entry['how']} {entry['by']}"
    if not entry["ran"]:
        return "none of its tests can run here"
    return "LIVES" if entry["reached"] else "LIVES, no test of the line reaches it"


def outcome(line, found):
    """Returns (result of the capability: killed, none, skipped or open; text for the table)."""
    if line.reason:
        return "none", line.reason
    entries = [found.of.get(f"{line.key} :: {mutant.id}") for mutant in line.mutants]
    entries = [entry for entry in entries if entry and entry["stamp"] == found.stamp]
    for entry in entries:
        if entry["by"]:
            return "killed", f"{entry['id'].rpartition(' :: ')[2]}  {word(entry)}"
    if entries:
        return "open", word(entries[0])
    return "skipped", "none of its tests can run here"


def table(lines, found):
    """Returns the table as text, and the number of capabilities whose tests kill none of their mutants."""
    out, counts = [], dict.fromkeys(("killed", "none", "skipped", "open"), 0)
    for line in lines:
        how, words = outcome(line, found)
        counts[how] += 1
        out.append(f"{line.topic:12} {line.what[:WIDTH]:{WIDTH}}  {words if how != 'none' else '-  ' + words}")
    out.append(f"\n{len(lines)} capabilities: {counts['killed']} with a mutant that a test of theirs kills, "
               f"{counts['none']} that can have none, {counts['skipped']} not run here, {counts['open']} OPEN")
    return "\n".join(out), counts["open"]
