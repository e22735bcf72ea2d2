# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tokens - splits C text into tokens, finds functions, and checks whether a text can be replaced."""
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|\\\n|//[^\n]*|/\*.*?\*/)
  | (?P<string>[LuU]?"(?:\\.|[^"\\\n])*"|[LuU]?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\.\.\.|[-+*/%&|^]=|\#\#|.)
""", re.X | re.S)

CLOSES = {")": "(", "]": "[", "}": "{"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Precedence of the binary operators (C11 6.5); a greater number binds tighter.
BINARY = {"||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, ">": 9, "<=": 9,
          ">=": 9, "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12}
ANYTHING, ASSIGNMENT, CONDITION, UNARY, POSTFIX, PRIMARY = 0, 1, 2, 13, 14, 15
REGROUPED = {"||", "&&", "|", "&", "^"}  # associative: a op (b op c) equals (a op b) op c
CONTROL = {"if", "while", "for", "switch"}
WORDS = CONTROL | {"return", "case", "else", "do", "goto", "break", "continue", "default", "sizeof"}
TYPE_WORDS = {"struct", "union", "enum", "const", "static", "unsigned", "int", "char", "bool", "void",
              "long", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}


class Token:
    """A token: its text, its offset in the file, and whether it is in a preprocessor directive."""

    def __init__(self, kind, text, start, directive):
        self.kind, self.text, self.start, self.directive = kind, text, start, directive

    @property
    def end(self):
        return self.start + len(self.text)


def split(text):
    """Returns the tokens of a C file, without comments and blanks."""
    tokens, directive_end, at_line_start = [], -1, True
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup, match.group()
        if kind == "space":
            at_line_start = at_line_start or "\n" in word
            continue
        if word == "#" and at_line_start and match.start() > directive_end:
            directive_end = end_of_directive(text, match.start())
        at_line_start = False
        tokens.append(Token(kind, word, match.start(), match.start() < directive_end))
    return tokens


def end_of_directive(text, start):
    end = text.find("\n", start)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end


def functions(tokens):
    """Returns the function definitions: [(name, index of the name's token, of the opening brace, of the
    closing brace)]."""
    found, depth, name, body = [], 0, None, None
    parens, after_parens = 0, False
    for index, token in enumerate(tokens):
        if token.directive:
            continue
        word = token.text
        if depth == 0 and word == "(":
            if parens == 0 and not after_parens and index and tokens[index - 1].kind == "name":
                name = index - 1
            parens += 1
        elif depth == 0 and word == ")":
            parens -= 1
            after_parens = parens == 0
            continue
        elif word == "{" and parens == 0:
            if depth == 0:
                body = index if after_parens and name is not None else None
            depth += 1
        elif word == "}" and parens == 0:
            depth -= 1
            if depth == 0:
                if body is not None:
                    found.append((tokens[name].text, name, body, index))
                name = body = None
        if depth == 0 and parens == 0 and word in {";", "}", "="}:
            name = None
        after_parens = after_parens and depth == 0 and parens == 0 and word not in {";", "="}
    return found


def balanced(words):
    """Returns true if the brackets in the words match."""
    stack = []
    for word in words:
        if word in CLOSES.values():
            stack.append(word)
        elif word in CLOSES and (not stack or stack.pop() != CLOSES[word]):
            return False
    return not stack


def is_operand_end(token):
    """Returns true if the token can end an operand. A "*" or "&" behind it is then a binary operator."""
    return token is not None and (token.text in {")", "]", "++", "--"} or token.kind in {"number", "string"} or
                                  token.kind == "name" and token.text not in WORDS)


def binding(tokens):
    """Returns the lowest precedence of the operators of an expression; None if it contains a comma."""
    loosest, depth, before = PRIMARY, 0, None
    for token in tokens:
        word = token.text
        if depth == 0:
            if word == ",":
                return None
            loosest = min(loosest, one_binding(token, before))
        depth += (word in CLOSES.values()) - (word in CLOSES)
        before = token
    return loosest


def one_binding(token, before):
    word = token.text
    if word in ASSIGNS:
        return ASSIGNMENT
    if word in {"?", ":"}:
        return CONDITION
    if word in BINARY and is_operand_end(before):
        return BINARY[word]
    if word in {"!", "~", "*", "&", "+", "-", "sizeof"}:
        return UNARY
    if word in {"++", "--"}:
        return POSTFIX if is_operand_end(before) else UNARY
    if word in {".", "->", "["} or word == "(" and is_operand_end(before):
        return POSTFIX
    if before is not None and before.text == ")" and token.kind != "op":
        return UNARY  # a cast
    return PRIMARY


def opening(tokens, index):
    """Returns the index of the opening bracket that belongs to the closing one at index."""
    depth = 0
    for at in range(index, -1, -1):
        depth += (tokens[at].text in CLOSES) - (tokens[at].text in CLOSES.values())
        if depth == 0:
            return at
    return 0


def after_control(tokens, index):
    """Returns true if the ")" at index ends the head of an if, a loop or a switch."""
    at = opening(tokens, index)
    return at > 0 and (tokens[at - 1].text in CONTROL or tokens[at - 1].text.startswith("rn_list_for"))


def misfit_left(tokens, first, bound, loosest_ops):
    """Returns None, or the reason why the expression that begins at token first cannot be put into
    brackets: the text before it would then have another meaning."""
    before = tokens[first - 1] if first else None
    if before is None or before.text in {"(", "[", "{", "}", ",", ";", "?", "return", "else", "do"}:
        return None
    word = before.text
    if before.directive and first >= 3 and (tokens[first - 2].text == "define" or word == ")" and
                                            tokens[opening(tokens, first - 1) - 2].text == "define"):
        return None
    if word in {"case", "goto", ".", "->", "sizeof"} or before.kind in {"name", "number", "string"}:
        return f"it stands behind '{word}'"
    if word == ")":
        return None if after_control(tokens, first - 1) or bound >= UNARY else "a cast or call stands before it"
    if word in ASSIGNS:
        return None
    if word == ":":
        return None if bound >= CONDITION else "it is an assignment behind ':'"
    if word in BINARY and is_operand_end(tokens[first - 2]):
        fits = bound > BINARY[word] or bound == BINARY[word] and word in REGROUPED and loosest_ops == {word}
        return None if fits else f"the '{word}' before it binds as tightly: take in more, or less"
    if word == "&":
        return "its address is taken: take the '&' in"
    return None if bound >= UNARY else f"the '{word}' before it binds tighter: take it in"


def misfit_right(tokens, last, bound):
    """The same for the text behind token last."""
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    if after is None or after.directive != tokens[last].directive or \
            after.text in {")", "]", "}", ",", ";", ":"}:
        return None
    word = after.text
    if tokens[last].directive and after.text == "#":
        return None
    if word in ASSIGNS:
        return f"it is assigned to ('{word}'): take the whole assignment"
    if word == "?":
        return None if bound > CONDITION else "'?' binds tighter: take in more"
    if word in BINARY:
        return None if bound >= BINARY[word] else f"the '{word}' behind it binds tighter: take it in"
    if word in {"(", "[", ".", "->", "++", "--"}:
        if word in {"++", "--"}:
            return "it is counted up or down: take the whole statement"
        return None if bound >= POSTFIX else f"'{word}' behind it binds tighter"
    return f"'{word}' stands behind it"


def misfit_expression(tokens, first, last):
    """Returns None, or the reason why tokens first to last (A) cannot become (CHOICE ? (B) : (A))."""
    inner = tokens[first:last + 1]
    if inner[0].text in set(BINARY) - {"*", "&", "+", "-"} | ASSIGNS | {".", "->"} or \
            inner[-1].text in set(BINARY) | ASSIGNS | {".", "->", "!", "~"}:
        return "an operator at its edge has lost what it works on"
    bound = binding(inner)
    if bound is None:
        return "a comma divides it: take the whole call"
    depth, ops = 0, set()
    for token in inner:
        depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
        if depth == 0 and BINARY.get(token.text) == bound:
            ops.add(token.text)
    return misfit_left(tokens, first, bound, ops) or misfit_right(tokens, last, bound)


def misfit_statement(tokens, first, last):
    """Returns None, or the reason why tokens first to last (A) cannot become if (CHOICE) { B } else { A }."""
    before, words = tokens[first - 1], [token.text for token in tokens[first:last + 2]]
    heads = {";", "{", "}", "else", "do", ":"}
    if before.text not in heads and not (before.text == ")" and after_control(tokens, first - 1)):
        return f"it ends as a statement and does not start as one: '{before.text}' stands before it"
    if words[0] == "else" or last + 1 < len(tokens) and words[0] == "if" and words[-1] == "else":
        return "it parts an if from its else: take both"
    if words[0] in TYPE_WORDS or tokens[first].kind == "name" and words[0] not in WORDS and \
            tokens[first + 1].kind == "name":
        return "it is a declaration: take the expression behind the '='"
    return None
