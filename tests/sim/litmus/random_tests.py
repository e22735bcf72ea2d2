#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""random_tests.py SEED COUNT - litmus tests that nobody would write, on standard output.

Each has two hosts, one or two QPs, two or three threads of up to three instructions (and
polls), and verdicts that only say what is to be observed and under which knobs.
"""
import random
import sys

KNOBS = [
    "mode=typical", "mode=strict", "mode=ibta", "mode=adversarial", "place=any",
    "place=msg", "gpu=none", "ports=split", "gpu=none,ports=split", "nicq=perqp", "c2c=1",
    "gpu=none,c2c=1", "atomic=pcie", "rr=serial", "ackearly=0", "cpu=sc", "ooo=1", "ido=1",
    "mr.relaxed=force", "nicq=perqp,ido=1", "place=any,gpu=none",
]
OTHER_QPS = ["B.nic0->A.nic0", "A.nic0->B.nic0", "B.nic0->B.nic0", "A.nic0->B.nic1",
             "B.nic1->B.nic1"]


class Test:
    def __init__(self, rng):
        self.rng = rng
        self.number = 0
        self.works = 0
        self.locations = {"s": ("A", self.memory()), "d": ("B", self.memory())}
        for name in "xyz"[:rng.randint(1, 3)]:
            self.locations[name] = (rng.choice("AB"), self.memory("nic0"))
        self.qps = {"q": "A.nic0->B.nic0"}
        if rng.random() < 0.5:
            self.qps["p"] = rng.choice(OTHER_QPS)
        self.uc = {"p"} if rng.random() < 0.1 else set()
        self.threads = {"A.cpu": [], "B.cpu": []}
        if self.locations["d"][1] == "gpu0" or rng.random() < 0.3:
            self.threads["B.gpu0"] = []
        for thread, code in self.threads.items():
            for _ in range(rng.randint(1, 3)):
                code.extend(self.instruction(thread, len(code)))

    def memory(self, *more):
        return self.rng.choice(["host", "host", "gpu0", *more])

    def value(self):
        self.number += 1
        return self.number

    def at(self, node):
        return [name for name, place in self.locations.items() if place[0] == node]

    def instruction(self, thread, reg):
        rng, node = self.rng, thread[0]
        mine = [qp for qp, ends in self.qps.items() if ends[0] == node]
        what = rng.random()
        if thread.endswith("cpu") and mine and self.works < 3 and what < 0.65:
            self.works += 1
            return self.work(rng.choice(mine))
        if thread == "B.cpu" and what < 0.72:
            return [rng.choice(["pollr q", f"tryp r{reg} q.r"])]
        if what < 0.82:
            return [f"st {rng.choice(self.at(node))} {self.value()}"]
        return [f"ld r{reg} {rng.choice(self.at(node))}"]

    def work(self, qp):
        rng = self.rng
        local, remote = (self.at(end[0]) for end in self.qps[qp].split("->"))
        ops = ["write", "write", "imm", "send"]
        if qp not in self.uc:
            ops += ["read", "read", "faa", "cas", "flush", "awrite"]
        op = rng.choice(ops)
        count = rng.choice([1, 1, 2])
        here = [rng.choice(local) for _ in range(count)]
        there = [rng.choice(remote) for _ in range(count)]
        inline = [f"#{self.value()}" if rng.random() < 0.7 else name for name in here]
        text = {
            "read": f"{','.join(here)} <- {','.join(there)}",
            "faa": f"{rng.choice(local + ['_'])} <- {there[0]} {self.value()}",
            "cas": f"{rng.choice(local + ['_'])} <- {there[0]} "
                   f"{rng.choice([0, self.number])} {self.value()}",
            "flush": there[0],
            "awrite": f"{there[0]} <- #{self.value()}",
        }.get(op, f"{','.join(there)} <- {','.join(inline)}")
        fence = " F" if rng.random() < 0.15 else ""
        poll = [f"poll {qp}"] if rng.random() < 0.4 else []
        return [f"{op} {qp} {text}{fence}"] + poll

    def observed(self):
        for thread, code in self.threads.items():
            for line in code:
                word = line.split()
                if word[0] in ("ld", "tryp"):
                    yield f"{thread}:{word[1]}=0"
            yield f"{thread}:done=1"

    def __str__(self):
        items = [f"{n}@{place[0]}.{place[1]}=0" for n, place in self.locations.items()]
        items += [f"{n}: {ends}{' uc' * (n in self.uc)}" for n, ends in self.qps.items()]
        relaxed = [name for name in self.locations if self.rng.random() < 0.2]
        if relaxed:
            items.append(f"relaxed {'+'.join(relaxed)}")
        rows = max(len(code) for code in self.threads.values())
        lines = ["{ " + "; ".join(items) + " }", " | ".join(self.threads) + " ;"]
        for i in range(rows):
            cells = [code[i] if i < len(code) else "" for code in self.threads.values()]
            lines.append(" | ".join(cells) + " ;")
        terms = [f"{name}=0" for name in self.locations] + list(self.observed())
        for i in range(0, len(terms), 8):
            lines.append("allowed (" + " /\\ ".join(terms[i:i + 8]) + ")")
        lines += [f"[{knobs}] allowed (s=0)" for knobs in self.rng.sample(KNOBS, 6)]
        return "\n".join(lines)


def main():
    rng = random.Random(int(sys.argv[1]))
    for number in range(int(sys.argv[2])):
        print(f"RDMA random-{number}\n{Test(rng)}\n")


main()
