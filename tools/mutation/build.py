# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""build - makes and builds a second source tree, which contains all mutants.

build/mutate/tree has a link to each file of the source tree or, if the file has mutants (it may be a
header), a rewritten copy. It is built with the preset dev. Files without mutants are compiled by the
same commands as in the normal build, so a compiler cache has their objects.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from . import bank

REACHED_SIZE = 16384  # bytes, one for each mutant; the same as in tools/mutation/mutant.h
PRESET = "dev"
# The compiler must not replace the path of a header, which is a link, by the path to which it leads:
# an #include in that header would then not find the rewritten copies in this tree.
FLAGS = "-DCMAKE_C_FLAGS=-fno-canonical-system-headers"
# Files whose changes have no effect on the programs under test or on the results of tests.
NO_PART = re.compile(r"^(tests/(mutants/|coverage\.txt$)|tools/mutat|tools/check$|shared/|\.)|(^|/)README\.md$|^tools/docs/\w+\.md$")


class Place:
    """The paths of the files below build/mutate."""

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
    """Returns the files of the source tree, including new ones that git does not track yet. Without git,
    returns all files that are not below build."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.relative_to(root).parts[0] not in ("build", ".git")]
    return sorted(name for name in names if not name.endswith(".pyc") and (root / name).is_file())


def fingerprint(root, names):
    """Returns a hash of all files on which verdicts depend."""
    digest = hashlib.sha1()
    for name in names:
        if not NO_PART.search(name):
            digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()[:12]


def give_numbers(place, mutants):
    """Gives each mutant its number. Known mutants keep their numbers, so that only few files must be
    compiled again if a mutant is added."""
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
    """Writes the copy of a file with mutants. Its line marker names the original file, and marks the text
    as a system header, in which the compiler does not warn."""
    to = place.tree / name
    text = (f'#define RN_MUTANT_CHOSEN "{place.chosen}"\n#define RN_MUTANT_REACHED "{place.reached}"\n'
            f'#include "{place.root}/tools/mutation/mutant.h"\n# 1 "{place.root / name}" 3\n'
            + bank.splice(source, mutants))
    if to.is_symlink():
        to.unlink()
    if not to.exists() or to.read_text() != text:
        to.write_text(text)


def make(place, mutants):
    """Configures and builds. If a mutant does not compile, the error message names its line in
    tests/mutants."""
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
