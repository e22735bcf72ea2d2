#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Say how many instructions a message takes below the validation layer, and in it.

usage: cost.py PROFILE-OF-FEW PROFILE-OF-MANY MESSAGES

The profiles are those of callgrind, of two runs of a validated program, the second with MESSAGES
more messages. Prints three numbers: instructions of everything but the layer, of the layer
at the sender (posts), and of the layer at the receiver (posts and polls).
"""
import collections
import re
import sys

SENDER = {"rnp_watch_post_send"}
RECEIVER = {"rnp_watch_post_recv", "rnp_watch_poll_cq"}
BELOW = re.compile(r"(inject_|op_|rnp_post_|rnp_poll_)")  # the operations that do the work


def read(path):
    """Return the instructions of the program, and those of the layer in each watching function."""
    names, layer = {}, collections.Counter()
    total = 0
    function = callee = None

    def name(text):
        number, _, rest = text.partition(" ")
        if rest:
            names[number] = re.sub(r"\.(lto_priv|constprop|isra|part)\..*", "", rest)
        return names[number]

    for line in open(path):
        key, _, value = line.rstrip("\n").partition("=")
        if key == "fn":
            function = name(value)
        elif key == "cfn":
            callee = name(value)
        elif line[:1].isdigit() or line[:1] in "+-*":
            cost = int(line.split()[1])
            if callee is None:
                total += cost
            if function in SENDER | RECEIVER and not (callee and BELOW.match(callee)):
                layer[function] += cost
            callee = None
    return total, layer


def main():
    few, many = read(sys.argv[1]), read(sys.argv[2])
    messages = int(sys.argv[3])
    sender, receiver = (sum(many[1][f] - few[1][f] for f in end) for end in (SENDER, RECEIVER))
    rest = many[0] - few[0] - sender - receiver
    print(rest // messages, sender // messages, receiver // messages)


if __name__ == "__main__":
    main()
