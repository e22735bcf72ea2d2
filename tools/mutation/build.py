# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""build - a second source tree that holds all mutants at once, and its build.

build/mutate/tree is the source tree again: links to its files, and rewritten copies of those
that have mutants. It is built as the preset dev is, so what has no mutant is compiled as there
(a compiler cache finds it), and headers are mutated like everything else.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from . import bank

REACHED_SIZE = 16384  # bytes, one a mutant; tools/mutation/mutant.h has it too
PRESET = "dev"
# A link to a header is not what it leads to: a header beside it may be a copy with mutants.
FLAGS = "-DCMAKE_C_FLAGS=-fno-canonical-system-headers"
# What changes none of the programs under test, nor what the tests expect.
NO_PART = re.compile(r"^(tests/(mutants/|coverage\.txt$)|tools/mutat|tools/check$|shared/|\.)|(^|/)README\.md$|^tools/docs/\w+\.md$")


class Place:
    """Where things lie below build/mutate."""

    def __init__(self, root):
        self.root = root
        self.top = root / "build/mutate"
        self.tree = self.top / "tree"
        self.build = self.tree / "build" / PRESET
        self.chosen = self.top / "mutant"
        self.reached = self.top / "reached"
        self.numbers = self.top / "numbers.json"
        self.baseline = self.top / "tests.json"
        self.results = self.top / "results.jsonl"
        self.coverage = self.top / "coverage.jsonl"
        self.lock = self.top / "lock"
        self.log = self.top / "build.log"


def tracked(root):
    """The files of the source tree, new ones too; without git, all that is not below build."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.relative_to(root).parts[0] not in ("build", ".git")]
    return sorted(name for name in names if not name.endswith(".pyc") and (root / name).is_file())


def fingerprint(root, names):
    """A word that changes with all that a verdict hangs on."""
    digest = hashlib.sha1()
    for name in names:
        if not NO_PART.search(name):
            digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()[:12]


def give_numbers(place, mutants):
    """A mutant keeps its number, so that a new line makes few files new."""
    known = json.loads(place.numbers.read_text()) if place.numbers.exists() else {}
    fresh = max(known.values(), default=0)
    for mutant in mutants:
        if mutant.id not in known:
            fresh += 1
            known[mutant.id] = fresh
        mutant.number = known[mutant.id]
    if fresh >= REACHED_SIZE:
        place.numbers.unlink()
        sys.exit("tools/mutate: the numbers have run out; they start again with the next call")
    place.numbers.write_text(json.dumps(known, indent=0))


def write_tree(place, names, sources, mutants):
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for name in names:
        to = place.tree / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if name in by_file:
            write_copy(place, name, sources[name], by_file[name])
        elif not to.is_symlink():
            to.unlink(missing_ok=True)
            to.symlink_to(os.path.relpath(place.root / name, to.parent))
    for path, folders, files in os.walk(place.tree):
        if path == str(place.tree):
            folders.remove("build") if "build" in folders else None
        for gone in [f for f in files if os.path.islink(os.path.join(path, f)) and
                     not os.path.exists(os.path.join(path, f))]:
            os.unlink(os.path.join(path, gone))


def write_copy(place, name, source, mutants):
    """The line marker says where the text is from, and, as of a system header, warns of nothing."""
    to = place.tree / name
    text = (f'#define RN_MUTANT_CHOSEN "{place.chosen}"\n#define RN_MUTANT_REACHED "{place.reached}"\n'
            f'#include "{place.root}/tools/mutation/mutant.h"\n# 1 "{place.root / name}" 3\n'
            + bank.splice(source, mutants))
    if to.is_symlink():
        to.unlink()
    if not to.exists() or to.read_text() != text:
        to.write_text(text)


def make(place, mutants):
    """Configure and build; what does not compile is named by the line of the bank."""
    configure = ["cmake", "--preset", PRESET, "-DRN_TESTS=ON", "-DRN_LTO=OFF", "-DRN_SHARED_CORE=OFF", FLAGS]
    build = ["cmake", "--build", str(place.build), "--", "-k", "0"]
    with open(place.log, "w") as log:
        for command in (configure, build):
            done = subprocess.run(command, cwd=place.tree, stdout=log, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                sys.exit(why_not_built(place, mutants))


def why_not_built(place, mutants):
    text = place.log.read_text(errors="replace")
    lines = [f"tools/mutate: the tree with the mutants does not build: {place.log}"]
    for path, number, what in sorted(set(re.findall(r"^(/\S+?):(\d+):\d+: error: (.*)$", text, re.M))):
        lines.append(f"{path}:{number}: {what}")
        lines += [f"  {m.where}: '{m.old}' becomes '{m.new}': is this one right in C?" for m in mutants
                  if str(place.root / m.file) == path and m.line <= int(number) <= m.line + m.old.count(";")]
    return "\n".join(lines if len(lines) > 1 else lines + text.splitlines()[-20:])


def prepare(place):
    place.top.mkdir(parents=True, exist_ok=True)
    for file in (place.chosen, place.reached):
        file.write_text("")


def forget(place):
    shutil.rmtree(place.top, ignore_errors=True)
