#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""symbols - how the folders and files of the product depend on each other, by linked symbols.

usage: symbols [--write | --report] BUILD-DIRECTORY

Compared with the files beside this one:
  arrows.txt    FOLDER -> FOLDER...: whose symbols a folder may use; each arrow has to be drawn
                and to be there, and no two folders may need each other
  circles.txt   FOLDER N: how many of its files need each other in a circle, at most
  one-user.txt  global symbols that a single other file uses: candidates for `static'

The last two may only shrink: --write takes out of them, and out of the arrows, what is no more,
and adds nothing. --report prints the figures.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TOPS = "transport", "provider", "sim", "tools"
# Others are names of the C library that the preloaded library defines for programs.
OURS = re.compile(r"_?(rn|rnp|rnk|rnd|rocin)_")


def commands(build):
    """What the build compiles: the source, and the object that is made of it."""
    for command in json.loads((build / "compile_commands.json").read_text()):
        generated = os.path.relpath(command["file"], build)
        source = os.path.relpath(command["file"], SOURCE)
        yield source if generated.startswith("..") else generated, re.search(r" -o (\S+)", command["command"]).group(1)


class Product:
    def __init__(self, build):
        self.defined, self.used = {}, collections.defaultdict(set)
        built = list(commands(build))
        objs = {str(build / obj): source for source, obj in built
                if obj.split("/")[0] in TOPS and (build / obj).exists()}
        if not objs:
            sys.exit(f"symbols: no objects below {build}: is it built?")
        sources = (str(path.relative_to(SOURCE)) for top in TOPS for path in (SOURCE / top).rglob("*.c"))
        self.unbuilt = sorted(set(sources) - {source for source, _ in built})
        self.read(objs)
        self.users = collections.defaultdict(set)
        self.needs = collections.defaultdict(set)
        for file, symbols in self.used.items():
            for symbol in symbols:
                if self.defined.get(symbol, file) != file:
                    self.users[symbol].add(file)
                    self.needs[file].add(self.defined[symbol])
        self.files = set(self.used) | set(self.defined.values())

    def read(self, objs):
        out = subprocess.run(["nm", "--print-file-name", *objs], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            obj, rest = line.split(":", 1)
            *_, kind, symbol = rest.split()
            if not OURS.match(symbol):
                continue
            if kind == "U":
                self.used[objs[obj]].add(symbol)
            elif kind in "TDBRVWC":
                self.defined[symbol] = objs[obj]

    def folders(self):
        return sorted({os.path.dirname(file) for file in self.files})

    def arrows(self):
        """Folder by folder, with one example each."""
        found = {}
        for file, others in sorted(self.needs.items()):
            for other in sorted(others):
                pair = os.path.dirname(file), os.path.dirname(other)
                if pair[0] != pair[1]:
                    found.setdefault(pair, (file, other))
        return found

    def longest_circle(self, folder):
        files = {file for file in self.files if os.path.dirname(file) == folder}
        return max((len(c) for c in circles(files, self.needs)), default=0)

    def one_user(self):
        return {symbol for symbol, users in self.users.items() if len(users) == 1}


def circles(nodes, needs):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in needs.get(node, ()):
            if other not in nodes:
                continue
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(stack[at:])
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return found


def lines(name):
    return [line.split("#")[0].strip() for line in (HERE / name).read_text().splitlines() if line.split("#")[0].strip()]


def head(name):
    return "".join(line + "\n" for line in (HERE / name).read_text().splitlines() if line.startswith("#"))


def drawn():
    return {(source.strip(), target) for line in lines("arrows.txt")
            for source, targets in [line.split("->")] for target in targets.split()}


def limits():
    return {folder: int(n) for folder, n in (line.split() for line in lines("circles.txt"))}


def compare(product):
    found, known = product.arrows(), drawn()
    for file in product.unbuilt:
        yield f"{file} is part of no target"
    for pair in sorted(set(found) - known):
        yield f"{pair[0]} uses symbols of {pair[1]} ({found[pair][0]}: {found[pair][1]}), which arrows.txt does not draw"
    for pair in sorted(known - set(found)):
        yield f"arrows.txt draws {pair[0]} -> {pair[1]}, and there is none: symbols.py --write takes it out"
    needs = collections.defaultdict(set)
    for source, target in found:
        needs[source].add(target)
    for circle in circles(set(product.folders()), needs):
        yield "these folders need each other: " + ", ".join(sorted(circle))
    allowed = limits()
    for folder in product.folders():
        length = product.longest_circle(folder)
        if length > allowed.get(folder, 0):
            yield f"{folder}: {length} files need each other in a circle; circles.txt allows {allowed.get(folder, 0)}"
    for symbol in sorted(product.one_user() - set(lines("one-user.txt"))):
        yield (f"{symbol} of {product.defined[symbol]} is used by {min(product.users[symbol])} only: "
               "let it be static there, or give both one file")


def write(product):
    found, allowed = product.arrows(), limits()
    kept = collections.defaultdict(list)
    for source, target in sorted(drawn() & set(found)):
        kept[source].append(target)
    (HERE / "arrows.txt").write_text(head("arrows.txt") + "".join(
        f"{source} -> {' '.join(targets)}\n" for source, targets in kept.items()))
    (HERE / "circles.txt").write_text(head("circles.txt") + "".join(
        f"{folder} {min(n, product.longest_circle(folder))}\n" for folder, n in allowed.items()
        if product.longest_circle(folder)))
    (HERE / "one-user.txt").write_text(head("one-user.txt") + "".join(
        symbol + "\n" for symbol in lines("one-user.txt") if symbol in product.one_user()))


def report(product):
    for folder in product.folders():
        files = sum(os.path.dirname(file) == folder for file in product.files)
        to = sorted(target for source, target in product.arrows() if source == folder)
        print(f"{folder:20} {files:4} files, circle of {product.longest_circle(folder):3}  -> {' '.join(to)}")
    print(f"{len(product.one_user())} of {len(product.defined)} global symbols have one user")


def main():
    product = Product(pathlib.Path(sys.argv[-1]))
    if "--report" in sys.argv:
        report(product)
    elif "--write" in sys.argv:
        write(product)
    else:
        wrong = list(compare(product))
        print("\n".join(wrong) or "arrows, circles and users are as they may be")
        sys.exit(bool(wrong))


main()
