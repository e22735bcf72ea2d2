#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pages - what ARCHITECTURE.md and CONTRIBUTING.md name is there, and an example of a scenario passes.

usage: pages SOURCE-DIRECTORY BUILD-DIRECTORY

Looked for are paths of the source tree, functions, programs below build/dev, tests and presets. A
function that is followed by a file in parentheses is looked for there. The example is the block of
code that begins with the name of a rule. README.md fits a screen, up to its first heading, and what it
and tools/docs lead to is there.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md"]
ROOT, BUILD = (pathlib.Path(x) for x in sys.argv[1:3])
SCREEN = 40  # lines of README.md that a reader sees first
FOLDERS = "include|provider|sim|tests|tools|transport"


def is_pattern(name):
    """Words in capitals are for the reader to fill in."""
    return re.search("[A-Z]{2,}", name.removesuffix("README.md"))


def missing_paths(text):
    """A name without a folder is of the folder that was named before it in the line."""
    for line in text.splitlines():
        folder = None
        for word in re.findall(r"`([^`]+)`", line):
            for name in word.split():
                name = name.removeprefix("./")
                if re.match(rf"({FOLDERS})/", name):
                    folder = name.rsplit("/", 1)[0]
                elif folder and re.fullmatch(r"\w+\.[ch]", name):
                    name = f"{folder}/{name}"
                else:
                    continue
                if not is_pattern(name) and not list(ROOT.glob(name)):
                    yield name


def sources():
    return {str(path.relative_to(ROOT)): path.read_text() for folder in FOLDERS.split("|")
            for kind in ("*.[ch]", "CMakeLists.txt") for path in (ROOT / folder).rglob(kind)}


def missing_functions(text, code):
    known = {name for source in code.values() for name in re.findall(r"\b(\w+) ?\(", source)}
    for name in sorted(set(re.findall(r"`(\w+)\(\)`", text)) - known):
        yield f"{name}()"
    for name, file in re.findall(r"`(\w+)\(\)`\s\(`([\w/.]+\.[ch])`", text):
        if not re.search(rf"^(\w[^;=]*\b|#define ){name}\(", code.get(file, ""), re.M):
            yield f"{name}() in {file}"


def missing_builds(text):
    for name in re.findall(r"build/dev/([\w/]+)", text):
        if not (BUILD / name).exists():
            yield f"build/dev/{name}"


def tests():
    out = subprocess.run(["ctest", "-C", "long", "--show-only=json-v1"], cwd=BUILD, capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(out.stdout)["tests"]]


def missing_tests(text, names):
    kinds = "|".join(sorted({name.split(".")[0] for name in names}))
    for name in set(re.findall(rf"(?<!/)\b((?:{kinds})\.[a-z][\w-]+)", text)):
        if name not in names:
            yield f"the test {name}"
    for kind in set(re.findall(r"`(\w+)\.\*`", text)):
        if not any(name.startswith(kind + ".") for name in names):
            yield f"tests {kind}.*"


def missing_presets(text):
    """A preset whose tests the page runs asks for them: tools/demo leaves a cache in which they are off."""
    presets = {preset["name"]: preset for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    for name in re.findall(r"--preset (\w+)", text):
        if name not in presets:
            yield f"the preset {name}"
    for name in set(re.findall(r"ctest --preset (\w+)", text)) & presets.keys():
        inherited = presets[presets[name].get("inherits", name)]
        if "ON" not in (x.get("cacheVariables", {}).get("RN_TESTS") for x in (presets[name], inherited)):
            yield f"RN_TESTS=ON in the preset {name}"


def missing_links(path):
    """Files and manual pages to which a page leads."""
    text = path.read_text()
    for link in re.findall(r"\]\((?!\w+:)([^)#]+)(?:#[^)]*)?\)", text):
        if not (path.parent / link).exists():
            yield f"the link {link}"
    for name, section in set(re.findall(r"`(rocind?(?:-[a-z]+)?)\.([1-8])`", text)):
        if not any((ROOT / "tools/man" / folder / f"{name}.{section}").exists() for folder in ("", "api")):
            yield f"the manual page {name}.{section}"


def first_screen():
    lines = (ROOT / "README.md").read_text().split("\n## ")[0].count("\n")
    if lines > SCREEN:
        yield f"a first screen of {SCREEN} lines, but one of {lines}"


def failing_examples(text):
    for block in re.findall(r"^```\n(# [A-Z]\d+: .*?)^```$", text, re.M | re.S):
        with tempfile.NamedTemporaryFile("w", suffix=".scn") as file:
            file.write(block)
            file.flush()
            done = subprocess.run([BUILD / "bin/rocin", "conform", file.name], capture_output=True, text=True, check=False)
        if done.returncode:
            yield done.stdout + done.stderr


def main():
    names, code, wrong = tests(), sources(), []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for what in (missing_paths(text), missing_functions(text, code), missing_builds(text), missing_tests(text, names),
                     missing_presets(text), failing_examples(text)):
            wrong += [f"{page}: {name}" for name in what]
    for path in [ROOT / "README.md", *sorted((ROOT / "tools/docs").glob("*.md"))]:
        wrong += [f"{path.name}: {name}" for name in missing_links(path)]
    wrong += [f"README.md: {what}" for what in first_screen()]
    print("\n".join(wrong) or f"{', '.join(PAGES)}: all is there")
    sys.exit(bool(wrong))


main()
