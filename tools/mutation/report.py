# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""report - prints the verdicts on mutants by folder."""
import collections
import json

# Percentage of the mutants of a folder (except the equivalent ones) that tests must kill.
QUICK_BAR, ALL_BAR = 85, 95
# In a folder with fewer mutants than this, a single mutant would change the percentage too much.
# Small folders of one parent are therefore counted together.
FEW = 8


class Folder:
    def __init__(self, name, mutants, results):
        self.name = name
        self.equivalent = [m for m in mutants if m.equivalent]
        self.real = [m for m in mutants if not m.equivalent]
        found = [(m, results.of.get(m.id)) for m in self.real]
        self.judged = [(m, e) for m, e in found if e and e["stamp"] == results.stamp]
        self.unjudged = [m for m, e in found if not e or e["stamp"] != results.stamp]
        self.old = [(m, e) for m, e in found if e and e["stamp"] != results.stamp]
        self.unreached = [m for m, e in self.judged if not e["reached"]]
        self.quick = [m for m, e in self.judged if e["by"] and e["quick"]]
        self.killed = [m for m, e in self.judged if e["by"]]
        self.survivors = [m for m, e in self.judged if not e["by"] and e["all"]]
        self.quick_survivors = [m for m, e in self.judged if not (e["by"] and e["quick"])]

    def fails(self, quick):
        """Returns true if more mutants were not killed than the percentage permits. This does not change
        with more verdicts, so not all mutants need to have one."""
        alive, bar = (self.quick_survivors, QUICK_BAR) if quick else (self.survivors, ALL_BAR)
        return len(alive) * 100 > len(self.real) * (100 - bar)


def folders(mutants, results):
    names = dict.fromkeys(m.folder for m in mutants)
    return [Folder(name, [m for m in mutants if m.folder == name], results) for name in names]


def for_the_bars(mutants, results):
    """The same as folders(), but the small folders of one parent are one entry, PARENT/..."""
    count = collections.Counter(m.folder for m in mutants if not m.equivalent)
    together = collections.defaultdict(list)
    for m in mutants:
        parent = m.folder.rpartition("/")[0]
        together[m.folder if count[m.folder] >= FEW else f"{parent}/..."].append(m)
    return [Folder(name, of_it, results) for name, of_it in together.items()]


def percent(part, whole):
    return f"{100 * len(part) / len(whole):.0f} %" if whole else "-"


def table(found):
    """Returns the table as text. Its numbers are about verdicts on these sources, without equivalent
    mutants."""
    head = ["folder", "mutants", "never run", "judged", "not reached", "killed, quick", "killed, all", "alive",
            "equivalent"]
    rows = [[f.name, len(f.real), len(f.unjudged), len(f.judged), len(f.unreached),
             f"{len(f.quick)} {percent(f.quick, f.judged):>5}",
             f"{len(f.killed)} {percent(f.killed, f.judged):>5}", len(f.judged) - len(f.killed), len(f.equivalent)]
            for f in found]
    total = lambda what: [m for f in found for m in getattr(f, what)]  # noqa: E731
    judged, quick, killed = total("judged"), total("quick"), total("killed")
    rows.append(["all", len(total("real")), len(total("unjudged")), len(judged), len(total("unreached")),
                 f"{len(quick)} {percent(quick, judged):>5}", f"{len(killed)} {percent(killed, judged):>5}",
                 len(judged) - len(killed), len(total("equivalent"))])
    widths = [max(len(str(row[at])) for row in [head, *rows]) for at in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [str(cell).rjust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join([str(row[0]).ljust(widths[0]), *cells[1:]]).rstrip())
    return "\n".join(lines)


def line_of(mutant, entry=None):
    reached = "" if entry is None else "  (no test reaches it)" if not entry["reached"] else \
        f"  ({entry['reached']} tests reach it)"
    return (f"  {mutant.id}  line {mutant.line}  {mutant.function}\n    {mutant.old}  =>  {mutant.new}\n"
            f"    {mutant.breaks}{reached}")


def text(mutants, results):
    found = folders(mutants, results)
    out = [table(found)]
    for what, entries in (("alive", "judged"), ("alive on other sources, and not run on these", "old")):
        for folder in found:
            alive = [(m, e) for m, e in getattr(folder, entries) if not e["by"]]
            if alive:
                out.append(f"\n{folder.name}: {what}")
                out += [line_of(m, e) + ("" if e["all"] else "  (of the quick tests)") for m, e in alive]
    for folder in found:
        if folder.equivalent:
            out.append(f"\n{folder.name}: equivalent")
            out += [f"{line_of(m)}\n    equivalent: {m.equivalent}" for m in folder.equivalent]
    old, unjudged = sum(len(f.old) for f in found), sum(len(f.unjudged) for f in found)
    if unjudged:
        out.append(f"\n{unjudged} mutants were never run on these sources: tools/mutate" +
                   (f"; {old} of them have verdicts on others" if old else ""))
    return "\n".join(out)


def as_json(mutants, results):
    rows = []
    for m in mutants:
        entry = results.of.get(m.id, {})
        rows.append({"id": m.id, "folder": m.folder, "file": m.file, "function": m.function, "line": m.line,
                     "original": m.old, "replacement": m.new, "breaks": m.breaks, "where": m.where,
                     "equivalent": m.equivalent or None, "judged": bool(entry),
                     "current": entry.get("stamp") == results.stamp, "killed_by": entry.get("by") or None,
                     "how": entry.get("how") or None, "killed_quick": bool(entry.get("quick")),
                     "all_tests": bool(entry.get("all")), "tests_that_reach": entry.get("reached")})
    return json.dumps(rows, indent=1)


def failures(mutants, results, quick):
    """Returns a sentence about each folder in which too few mutants were killed."""
    out = []
    for f in for_the_bars(mutants, results):
        if f.fails(True) and quick or not quick and f.fails(False):
            bar, which = (QUICK_BAR, "quick tests") if quick else (ALL_BAR, "all tests")
            alive = f.quick_survivors if quick else f.survivors
            out.append(f"{f.name}: {len(alive)} of {len(f.real)} live through {which}, more than {100 - bar} %")
    return out
