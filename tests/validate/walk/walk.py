#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""walk - plays the commands of a section of tools/docs/mistakes.md, and compares what they print with it.

usage: walk PAGE HEADING ADDRESS-A ADDRESS-B PORT

A line of three points stands for any lines. Numbers that differ from run to run are left out:
addresses, ids of processes, and how far the program comes, which nobody can say before.
A command that ends in `&' is the copy; it is started anew for each writer, which connects to it.
"""
import os
import pty
import re
import subprocess
import sys
import time

LIMIT = 300  # s for a command, on a machine that is busy


def blocks_of(readme, heading):
    """[(command, [line])] of the section."""
    section = readme.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    steps = []
    for block in re.findall(r"^```\n(.*?)^```$", section, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return steps


def plain(lines, has_lines):
    out = []
    for line in lines:
        line = re.sub(r"0x[0-9a-f]+", "0x", line)
        line = re.sub(r"record \d+ of", "record N of", line)
        line = re.sub(r"\(\d+ occurrences\) in (\w+), process \d+", r"in \1", line)
        line = re.sub(r"verbs\.h:\d+:\d+", "verbs.h", line)
        line = re.sub(r"(replica\.c:\d+):\d+", r"\1", re.sub(r" /\S*/replica\.c", " replica.c", line))
        if has_lines or not line.startswith("    #"):
            out.append(line.rstrip())
    return out


def fits(expected, printed):
    """Is what was printed what is expected?"""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(fits(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and fits(expected[1:], printed[1:])


def run(command):
    """Runs a command at a terminal. Returns its lines."""
    master, slave = pty.openpty()
    child = subprocess.Popen(["timeout", str(LIMIT), "bash", "-c", command], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # nobody has the other end any more
            break
        if not more:
            break
        text += more
    os.close(master)
    child.wait()
    return text.decode().replace("\r", "").splitlines()


def start_copy(command, port):
    child = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + LIMIT
    listens = re.compile(rf"^ *\d+: 0{{8}}:{port:04X} \S+ 0A ", re.M)
    while not listens.search(open("/proc/net/tcp").read()):
        if child.poll() is not None or time.monotonic() > until:
            sys.exit(f"the copy does not listen: {command}")
        time.sleep(0.02)
    return child


def end_copy(child, is_whole):
    """Ends it, if it does not end itself. Returns whether it has said what it should."""
    if is_whole:
        said = child.communicate(timeout=LIMIT)[0]
        return said == "replica: 200 of 200 records are there\n"
    os.killpg(child.pid, 9)
    child.wait()
    return True


def main():
    readme, heading, addr_a, addr_b, port = sys.argv[1:]
    has_lines = bool(os.environ.get("HAS_LINES"))
    copy = None
    steps = blocks_of(open(readme).read(), heading)
    for command, expected in steps:
        command = command.replace("127.77.1.1", addr_a).replace("127.77.1.2", addr_b).replace("7000", port)
        if command.endswith("&"):
            copy = command[:-1]
            continue
        child = start_copy(copy, int(port)) if "./replica" in command else None
        printed = run(command)
        is_whole = "replica: 200 records written" in printed
        if child and not end_copy(child, is_whole):
            sys.exit(f"{command}: the copy is not whole")
        # Without the layer nothing says that the mistake shows: the device may be fast enough.
        if is_whole and "replica: record" in "".join(expected):
            continue
        if not fits(plain(expected, has_lines), plain(printed, has_lines)):
            sys.exit("\n".join([f"$ {command}", "prints", *printed, "and the page says", *expected]))
    if len(steps) < 7:
        sys.exit(f"the page has {len(steps)} commands")
    print(f"ok: {len(steps)} commands of the page")


if __name__ == "__main__":
    main()
