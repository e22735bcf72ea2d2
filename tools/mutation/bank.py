# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bank - reads the mutants of tests/mutants, and finds the places in the product code that they change."""
import bisect
import hashlib
import re

from . import tokens as c

BANK = "tests/mutants"
SEPARATOR = " :: "
EQUIVALENT = "equivalent: "
NO_MUTANTS = {"CMakeLists.txt", "coverage.txt"}  # files in tests/mutants that contain no mutants


class Mutant:
    """A mutant: one line of the files in tests/mutants. Its id is a hash of the change, so the id stays
    the same if other lines are added or removed."""

    def __init__(self, where, folder, head, old, new, breaks, equivalent):
        self.where, self.folder, self.breaks, self.equivalent = where, folder, breaks, equivalent
        self.old, self.new = old, new
        words = head.split()
        self.file = f"{folder}/{words[0]}"
        self.occurrence = int(words.pop()[1:]) if re.fullmatch(r"#\d+", words[-1]) else 0
        self.function = words[1] if len(words) > 1 else ""
        self.bad_head = len(words) > 2
        what = "|".join([self.file, self.function, str(self.occurrence), *normal(old), "=>", *normal(new)])
        self.id = f"{self.file}:{hashlib.sha1(what.encode()).hexdigest()[:6]}"
        self.first = self.last = self.line = 0
        self.number = 0

    @property
    def is_statement(self):
        return self.old[-1] in ";}"


def normal(text):
    return [token.text for token in c.split(text)]


def read(root, sentences):
    """Returns all mutants in the order of the files. Adds error messages about lines to sentences."""
    found = []
    for path in sorted(p for p in (root / BANK).rglob("*.txt") if p.name not in NO_MUTANTS):
        folder = str(path.relative_to(root / BANK).with_suffix(""))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            where = f"{path.relative_to(root)}:{number}"
            cells = [cell.strip() for cell in re.split(r"\s::\s", line.strip())]
            if len(cells) not in (4, 5) or not all(cells) or \
                    len(cells) == 5 and not cells[4].startswith(EQUIVALENT):
                sentences.append(f"{where}: wants FILE [FUNCTION] [#N] :: ORIGINAL :: REPLACEMENT :: "
                                 "WHAT THAT BREAKS [:: equivalent: REASON]")
                continue
            equivalent = cells[4][len(EQUIVALENT):] if len(cells) == 5 else ""
            found.append(Mutant(where, folder, *cells[:4], equivalent))
    names = {}
    for mutant in found:
        if mutant.id in names:
            sentences.append(f"{mutant.where}: is {names[mutant.id]} again: delete one")
        names[mutant.id] = mutant.where
    return found


class Source:
    """A file of the product code, split into tokens."""

    def __init__(self, path):
        self.text = path.read_text()
        self.tokens = c.split(self.text)
        self.words = [token.text for token in self.tokens]
        self.functions = c.functions(self.tokens)
        self.lines = [0] + [match.end() for match in re.finditer("\n", self.text)]

    def line(self, index):
        return bisect.bisect_right(self.lines, self.tokens[index].start)

    def find(self, words, spans):
        """Returns the token indices at which the words occur within one of the spans of tokens."""
        size = len(words)
        return [at for first, last in spans for at in range(first, last - size + 2)
                if self.words[at] == words[0] and self.words[at:at + size] == words]

    def spans(self, function):
        if not function:
            return [(0, len(self.tokens) - 1)]
        return [(name, end) for text, name, _, end in self.functions if text == function]

    def can_choose(self, first, last):
        """Returns true if these tokens are in a function's body or in a macro. Elsewhere, such as in an
        initialiser of a table, no code runs that could choose between original and mutant."""
        if self.tokens[first].directive:
            at = first
            while at and self.words[at] != "#":
                at -= 1
            return self.words[at + 1] == "define"
        return any(body < first and last <= end for _, _, body, end in self.functions)


def locate(mutant, source):
    """Finds the tokens that the mutant replaces, and stores their indices in it. Returns None, or an
    error message with the remedy."""
    words, new = normal(mutant.old), normal(mutant.new)
    spans = source.spans(mutant.function)
    if mutant.bad_head:
        return "the first field is FILE [FUNCTION] [#N]"
    if not spans:
        return f"{mutant.file} has no function {mutant.function}: name the one that has the text now"
    found = source.find(words, spans)
    place = mutant.function or mutant.file
    if not found:
        return f"{place} has no '{mutant.old}': write what stands there now, or delete the line"
    if len(found) > 1 and not mutant.occurrence:
        return f"{place} has '{mutant.old}' {len(found)} times: name the function, take in more, or say #1"
    if mutant.occurrence > len(found):
        return f"{place} has '{mutant.old}' {len(found)} times only, not #{mutant.occurrence}"
    mutant.first = found[max(mutant.occurrence, 1) - 1]
    mutant.last = mutant.first + len(words) - 1
    mutant.line = source.line(mutant.first)
    return misfit(mutant, source, words, new)


def misfit(mutant, source, words, new):
    """Returns None, or the reason why the text that was found cannot be replaced by an expression or
    statement that chooses at run time."""
    if words == new:
        return "the replacement is the original"
    if not c.balanced(words) or not c.balanced(new):
        return "a bracket has no other one in the text: take in both"
    if not source.can_choose(mutant.first, mutant.last):
        return "nothing runs there (a table, a type, a declaration): change the code that uses it"
    if mutant.is_statement != (mutant.new[-1] in ";}"):
        return "a statement is replaced by a statement, ';' or '{}' being the least, and an expression by one"
    why = c.misfit_statement if mutant.is_statement else c.misfit_expression
    reason = why(source.tokens, mutant.first, mutant.last)
    return f"'{mutant.old}' cannot be replaced alone: {reason}" if reason else None


def crossing(mutants):
    """Yields error messages about mutants of one file whose texts overlap, unless one text contains the
    other."""
    open_ones = []
    for mutant in sorted(mutants, key=lambda m: (m.first, -m.last)):
        open_ones = [other for other in open_ones if other.last >= mutant.first]
        for other in open_ones:
            if other.last < mutant.last:
                yield f"{mutant.where}: overlaps {other.where} in part: take the same text, or one inside the other"
        open_ones.append(mutant)


def load(root):
    """Returns (mutants, {file: Source}, error messages)."""
    sentences, sources, by_file = [], {}, {}
    mutants = read(root, sentences)
    for mutant in mutants:
        path = root / mutant.file
        if not path.is_file():
            sentences.append(f"{mutant.where}: there is no {mutant.file}: name the file that has the code now")
            continue
        if mutant.file not in sources:
            sources[mutant.file] = Source(path)
        wrong = locate(mutant, sources[mutant.file])
        if wrong:
            sentences.append(f"{mutant.where}: {wrong}")
        else:
            by_file.setdefault(mutant.file, []).append(mutant)
    for those in by_file.values():
        sentences.extend(crossing(those))
    return mutants, sources, sentences


def splice(source, mutants):
    """Returns the text of a file with all of its mutants, which are chosen at run time."""
    sites = {}
    for mutant in mutants:
        sites.setdefault((mutant.first, mutant.last), []).append(mutant)
    out, at, stack = [], 0, []
    edges = sorted(sites, key=lambda span: (span[0], -span[1]))

    def close(upto):
        nonlocal at
        while stack and stack[-1][0] < upto:
            end, text = stack.pop()
            stop = source.tokens[end].end
            out.append(source.text[at:stop] + text)
            at = stop

    for first, last in edges:
        close(first)
        start = source.tokens[first].start
        before, behind = choice(sites[first, last])
        out.append(source.text[at:start] + before)
        at = start
        stack.append((last, behind))
    close(len(source.tokens))
    out.append(source.text[at:])
    return "".join(out)


def choice(mutants):
    """Returns the C texts that are inserted before and after the original text."""
    if mutants[0].is_statement:
        heads = "".join(f"if (RN_MUTANT({m.number})) {{ {m.new} }} else " for m in mutants)
        return heads + "{ ", " }"
    heads = "".join(f"RN_MUTANT({m.number}) ? ({m.new}) : " for m in mutants)
    return f"({heads}(", "))"
