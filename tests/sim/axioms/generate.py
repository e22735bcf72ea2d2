#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""generate.py SEED COUNT - litmus tests drawn at random, on standard output.

Two or three hosts, one to three queue pairs, two to four threads of a few instructions each,
from all instructions and knobs of the model; in some tests one queue pair has doorbells, or
receives that the program posts. Verdicts say only what is observed: all memory,
all registers, which threads have ended. The same seed and number give the same test.
"""
import copy
import random
import re
import sys

KNOBS = [
    "mode=typical", "mode=strict", "mode=ibta", "mode=adversarial", "place=any", "place=msg",
    "gpu=none", "ports=split", "gpu=none,ports=split", "nicq=perqp", "c2c=1", "gpu=none,c2c=1",
    "atomic=pcie", "rr=serial", "ackearly=0", "cpu=sc", "ooo=1", "ido=1", "mr.relaxed=force",
    "nicq=perqp,ido=1", "place=any,gpu=none", "nicq=perqp,ackearly=0", "ooo=1,gpu=none",
    "mode=adversarial,gpu=owner", "mode=adversarial,ackearly=0", "mode=adversarial,ido=1",
    "mode=adversarial,atomic=pcie", "mode=adversarial,ports=same", "atomic=pcie,ido=1",
    "mode=ibta,ackearly=0", "mode=ibta,nicq=perqp", "place=any,atomic=pcie,mr.relaxed=force",
]
QPS = ["B.nic0->A.nic0", "A.nic0->B.nic0", "B.nic0->B.nic0", "A.nic0->B.nic1",
       "B.nic1->B.nic1", "B.nic1->A.nic0"]
THIRD_QPS = QPS + ["C.nic0->B.nic0", "C.nic0->B.nic0", "B.nic0->C.nic0", "C.nic0->A.nic0"]
MESSAGES = ["write", "write", "write", "imm", "send"]
OTHERS = ["read", "read", "faa", "cas", "cas", "flush", "awrite"]
REQUESTS = [*MESSAGES, *OTHERS, "bell", "blue"]
WORK_MAX = 4
KNOBS_MAX = 63  # characters in a verdict's list of knobs
TERMS = 5  # of a verdict, whose text has 127 characters


class Test:
    """A litmus test. @code: instructions of each thread; @knobs: what it is run under."""

    def __init__(self, seed, number):
        self.name = f"axioms-{seed}-{number}"
        self.rng = rng = random.Random(f"{seed} {number}")
        self.number = self.works = 0
        self.launched = False
        self.written = {}  # location -> what instructions so far write there
        self.arriving = []  # queue pairs with a receive completion that nobody polls yet
        self.setup()
        for thread in self.code:
            length = rng.choice([1, 2, 2, 3])
            for _ in range(length):
                self.code[thread] += self.instruction(thread, len(self.code[thread]))
        self.knobs = rng.choice(KNOBS)
        self.weaken(random.Random(f"{seed} {number} processor"))
        self.ring(random.Random(f"{seed} {number} doorbell"))
        self.srq = None
        self.feed(random.Random(f"{seed} {number} receive"))
        self.read_more(random.Random(f"{seed} {number} device"))

    def weaken(self, rng):
        """Makes the processors of some tests weaker, with store fences here and there."""
        if self.knobs == "cpu=sc" or rng.random() > 0.15:
            return
        self.knobs += ",cpu=pso"
        for thread, code in self.code.items():
            if ".cpu" in thread and code and rng.random() < 0.5:
                code.insert(rng.randint(0, len(code)), "sfence")

    def ring(self, rng):
        """Gives one queue pair of some tests doorbells instead of calls."""
        asked = [line.split()[1] for code in self.code.values() for line in code
                 if line.split()[0] in REQUESTS]
        if not asked or rng.random() > 0.2:
            return
        qp = rng.choice(asked)
        node, peer = (end[0] for end in self.qps[qp].split("->"))
        remote = self.at(peer)
        # What a WQE may name: payload, or an SGE list, which is in memory like the WQE.
        payload = self.at(node)
        queue = ["w", "l"] if rng.random() < 0.5 else ["w"]
        for name in queue:
            self.locations[name] = (node, rng.choice(["host", "host", "host", "gpu0", "nic0"]))
        for thread, code in self.code.items():
            self.code[thread] = [other for line in code for other in
                                 self.rung(rng, line, qp, remote, payload, queue)]
        if node == "B" and "B.cpu1" in self.code and rng.random() < 0.5:
            self.code["B.cpu1"].append(f"bell {qp} {rng.choice(remote)} <- w")

    def rung(self, rng, line, qp, remote, payload, queue):
        """What there is instead of a line, if it is about the queue pair."""
        words = line.split()
        if words[0] == "pollr" and words[1] == qp or words[0] == "tryp" and words[2] == f"{qp}.r":
            return []  # nothing will arrive
        if words[0] not in REQUESTS or words[1] != qp:
            return [line]
        marks = "".join(f" {mark}" for mark in "FU" if words[-1] == mark or words[-2] == mark)
        names = [f"&{name}" for name in payload + queue[1:] * 3] + [self.value(remote[0])]
        code = [f"st l {rng.choice(names[:len(payload)] + names[-1:])}"] if "l" in queue else []
        if rng.random() < 0.4:
            code.append(f"blue {qp} {rng.choice(remote)} <- {rng.choice(names)}{marks}")
        else:
            code.append(f"st w {rng.choice(names)}")
            code.append(f"bell {qp} {rng.choice(remote)} <- w{marks}")
        if rng.random() < 0.25:
            code.insert(len(code) - 1, "sfence")
        if rng.random() < 0.4:
            code.append(f"st {rng.choice(queue)} {rng.choice(names)}")
        return code

    def feed(self, rng):
        """Lets the program of some tests post the receives of a queue pair or of an SRQ itself."""
        takers = {line.split()[1] for code in self.code.values() for line in code
                  if line.split()[0] in ("send", "imm")} - self.unreliable
        if not takers or self.large or rng.random() > 0.6:
            return
        fed = [rng.choice(sorted(takers))]
        nic = self.qps[fed[0]].split("->")[1]
        others = [name for name, ends in self.qps.items() if ends.split("->")[1] == nic and
                  name not in self.unreliable and name != fed[0]]
        queue = fed[0]
        if rng.random() < (0.6 if others else 0.2):
            self.srq, queue = fed + others[:1], "z"
            fed = self.srq
        messages = 0
        for code in self.code.values():
            for i, line in enumerate(code):
                words = line.split()
                if words[0] not in ("send", "imm") or words[1] not in fed:
                    continue
                messages += 1
                if words[0] == "send":
                    source = line.split("<- ")[1].split(" ")[0].split(",")[0]
                    marks = "".join(f" {mark}" for mark in "FU" if mark in words[-2:])
                    code[i] = f"send {words[1]} _ <- {source}{marks}"
        self.post(rng, queue, nic[0], messages + rng.choice([-1, 0, 0, 0, 1]))

    def post(self, rng, queue, node, count):
        """Adds receives to the processor of a node, with stores that come too early."""
        buffers = self.at(node)
        slots = ["e", "g"] if rng.random() < 0.5 else ["e"]
        for name in slots:
            self.locations[name] = (node, rng.choice(["host", "host", "host", "gpu0", "nic0"]))
        code, at = self.code[f"{node}.cpu"], 0
        for _ in range(min(max(count, 1), 3)):
            slot = rng.choice(slots)
            new = [f"st {slot} &{rng.choice(buffers)}", f"recv {queue} {slot}"]
            if rng.random() < 0.25:
                new.insert(1, "sfence")
            if rng.random() < 0.4:
                new.append(f"st {slot} {rng.choice([f'&{rng.choice(buffers)}', '9'])}")
            at = rng.choice([at, rng.randint(at, len(code))])
            code[at:at] = new
            at += len(new)
        if "B.cpu1" in self.code and node == "B" and rng.random() < 0.5:
            self.code["B.cpu1"].append(rng.choice([f"st {slots[0]} &{buffers[0]}",
                                                   f"recv {queue} {slots[0]}"]))

    def read_more(self, rng):
        """Lets the device of some tests fetch WQEs and translations, which changes no state."""
        more = rng.choice(["nic.wqe=fetched", "nic.wqe=blueflame", "mtt.cache=1"])
        if "mode=strict" not in self.knobs and rng.random() < 0.2:
            self.knobs += f",{more}" * (len(self.knobs) + len(more) < KNOBS_MAX)

    def chance(self, probability):
        return self.rng.random() < probability

    # ---- Setup ----

    def setup(self):
        rng = self.rng
        self.locations = {"s": ("A", self.memory()), "d": ("B", self.memory())}
        for name in "xy"[:rng.randint(0, 2)]:
            self.locations[name] = (rng.choice("AB"), self.memory("nic0"))
        self.qps = {"q": "A.nic0->B.nic0"}
        self.code = {"A.cpu": [], "B.cpu": []}
        if self.chance(0.5):
            self.qps["p"] = rng.choice(QPS)
        if self.chance(0.2):
            self.qps["r"] = rng.choice(THIRD_QPS)
            if "C" in self.qps["r"]:
                self.locations["u"] = ("C", "host")
                self.code["C.cpu"] = []
        if self.locations["d"][1] == "gpu0" or self.chance(0.25):
            self.code["B.gpu0"] = []
        if self.chance(0.08):
            self.code["B.nvme0"] = []
        if self.chance(0.12):
            self.code["B.cpu1"] = []
        self.unreliable = {name for name in self.qps if self.chance(0.05)}
        self.relaxed = {name for name in self.locations if self.chance(0.2)}
        # Two cells each: all locations or none, since a message moves what is of one size.
        self.large = set(self.locations) if self.chance(0.04) else set()
        self.shared = self.shared_cq() if self.chance(0.1) else None

    def shared_cq(self):
        """Two ends of queue pairs at one NIC, which then have one completion queue."""
        ends = {}
        for name, qp in self.qps.items():
            for nic, end in zip(qp.split("->"), (name, f"{name}.r")):
                ends.setdefault(nic, []).append(end)
        pairs = [pair for pair in ends.values() if len(pair) > 1]
        return ", ".join(self.rng.choice(pairs)[:2]) if pairs else None

    def memory(self, *more):
        return self.rng.choice(["host", "host", "gpu0", *more])

    def value(self, name):
        """A new number, which is written to the location of that name."""
        self.number += 1
        self.written.setdefault(name, []).append(self.number)
        return self.number

    def place(self, names):
        """One of the locations, rather one that is written."""
        written = [name for name in names if name in self.written]
        return self.rng.choice(written if written and self.chance(0.7) else names)

    def at(self, node):
        return [name for name, place in self.locations.items() if place[0] == node]

    # ---- Instructions ----

    def instruction(self, thread, reg):
        node, agent = thread.split(".")
        if agent == "nvme0":
            return self.drive()
        if agent in ("gpu0", "cpu1"):
            return [self.access(self.place(self.at("B")), reg)]
        return self.processor(node, thread, reg)

    def drive(self):
        name = self.rng.choice([n for n in self.at("B") if self.locations[n][1] != "nic0"])
        return [f"dma {name} {self.value(name)}"] + ["dmacqe 0"] * self.chance(0.6)

    def access(self, name, reg):
        what = self.rng.random()
        if what < 0.25:
            return f"st {name} {self.rng.choice([self.value(name), 'r0'])}"
        if what < 0.5 and name in self.written:
            return f"wait {name}={self.rng.choice(self.written[name] + [0])}"
        if what < 0.55:
            return "mfence"
        return f"ld r{reg} {name}"

    def processor(self, node, thread, reg):
        mine = [name for name, ends in self.qps.items() if ends[0] == node]
        inbound = [name for name in self.arriving if self.qps[name].split("->")[1][0] == node]
        what = self.rng.random()
        if mine and self.works < WORK_MAX and what < (0.7 if node == "A" else 0.4):
            self.works += 1
            return self.work(self.rng.choice(mine))
        if inbound and what < 0.75:
            name = self.rng.choice(inbound)
            self.arriving.remove(name)
            return [self.rng.choice([f"pollr {name}", f"pollr {name}", f"tryp r{reg} {name}.r"])]
        if node == "B" and "B.gpu0" in self.code and not self.launched and what < 0.8:
            self.launched = True
            return ["launch B.gpu0"]
        if node == "B" and "B.nvme0" in self.code and what < 0.85:
            return ["pollc dma"]
        names = self.at(node)
        device = [name for name in names if self.locations[name][1] != "host"]
        if device and what > 0.95:
            name = self.rng.choice(device)
            return [self.rng.choice([f"mrd r{reg} {name}", f"mwr {name} {self.value(name)}"])]
        return [self.access(self.place(names), reg)]

    def work(self, qp):
        rng = self.rng
        local, remote = (self.at(end[0]) for end in self.qps[qp].split("->"))
        others = [op for op in OTHERS if not self.large or op in ("read", "flush")]
        op = rng.choice(MESSAGES if qp in self.unreliable else MESSAGES + others)
        count = rng.choice([1, 1, 1, 2])
        here = [rng.choice(local) for _ in range(count)]
        there = [rng.choice(remote) for _ in range(count)]
        old = rng.choice(local + ["_"])
        if op in ("imm", "send"):
            self.arriving.append(qp)
        marks = " F" * self.chance(0.15)
        is_silent = self.chance(0.08)
        code = [f"{op} {qp} {self.operands(op, here, there, old)}{marks}{' U' * is_silent}"]
        if not is_silent and self.chance(0.4):
            code.append(f"poll {qp}")
        elif self.chance(0.05):
            code.append(f"tryp r9 {qp}")
        return code

    def operands(self, op, here, there, old):
        if op == "read":
            return f"{','.join(here)} <- {','.join(there)}"
        if op == "faa":
            return f"{old} <- {there[0]} {self.value(there[0])}"
        if op == "cas":
            expected = self.rng.choice([0, *self.written.get(there[0], [])])
            return f"{old} <- {there[0]} {expected} {self.value(there[0])}"
        if op == "flush":
            return ",".join(dict.fromkeys(there))
        if op == "awrite":
            return f"{there[0]} <- #{self.value(there[0])}"
        sources = [f"#{self.value(to)}" if self.chance(0.75) else name
                   for name, to in zip(here, there)]
        return f"{','.join(there)} <- {','.join(sources)}"

    # ---- What is observed ----

    def observed(self):
        for name in self.locations:
            yield name
        for thread, code in self.code.items():
            registers = set()
            for line in code:
                word = line.split()
                if word[0] in ("ld", "mrd", "tryp"):
                    registers.add(word[1])
            for register in sorted(registers):
                yield f"{thread}:{register}"
            yield f"{thread}:done"

    def __str__(self):
        large = " size=64 align=8"
        items = [f"{n}@{place[0]}.{place[1]}=0{large * (n in self.large)}"
                 for n, place in self.locations.items()]
        items += [f"{n}: {ends}{' uc' * (n in self.unreliable)}" for n, ends in self.qps.items()]
        if self.shared:
            items.append(f"cq c: {self.shared}")
        if self.srq:
            items.append(f"srq z: {', '.join(self.srq)}")
        relaxed = [name for name in self.locations if name in self.relaxed]
        if relaxed:
            items.append(f"relaxed {', '.join(relaxed)}")
        lines = [f"RDMA {self.name}", "{ " + "; ".join(items) + " }",
                 " | ".join(self.code) + " ;"]
        for i in range(max(1, *(len(code) for code in self.code.values()))):
            cells = [code[i] if i < len(code) else "" for code in self.code.values()]
            lines.append(" | ".join(cells) + " ;")
        # No final state satisfies these: they are there for what they observe.
        terms = [f"{name}=999999" for name in self.observed()]
        for i in range(0, len(terms), TERMS):
            condition = " /\\ ".join(terms[i:i + TERMS])
            lines.append(f"[{self.knobs}] forbidden ({condition})")
        return "\n".join(lines) + "\n"

    # ---- Shrinking ----

    def is_whole(self):
        """Has each SEND that takes a receive a thread that posts one?"""
        lines = [line.split() for code in self.code.values() for line in code]
        fed = {words[1] for words in lines if words[0] == "recv"}
        return all(words[1] in fed or self.srq and words[1] in self.srq and "z" in fed
                   for words in lines if words[0] == "send" and words[2] == "_")

    def reductions(self):
        """Tests with something less: an instruction, a thread, a mark, an element."""
        return (other for other in self.smaller() if other.is_whole())

    def smaller(self):
        for thread in list(self.code):
            if not self.code[thread] and len(self.code) > 1:
                other = copy.deepcopy(self)
                del other.code[thread]
                yield other
            for i in range(len(self.code[thread])):
                other = copy.deepcopy(self)
                del other.code[thread][i]
                yield other
        for thread, code in self.code.items():
            for i, line in enumerate(code):
                for mark in (" F", " U"):
                    if line.endswith(mark):
                        other = copy.deepcopy(self)
                        other.code[thread][i] = line[:-2]
                        yield other
        if self.large:
            other = copy.deepcopy(self)
            other.large = set()
            yield other
        for what in ("relaxed", "unreliable"):
            for name in getattr(self, what):
                other = copy.deepcopy(self)
                getattr(other, what).discard(name)
                yield other
        text = " ".join(line for code in self.code.values() for line in code)
        used = set(re.split("[ ,=.&]", text))
        for what in ("locations", "qps"):
            for name in getattr(self, what):
                if name not in used and len(getattr(self, what)) > 1 and \
                        not self.shared and not self.srq:
                    other = copy.deepcopy(self)
                    del getattr(other, what)[name]
                    other.relaxed.discard(name)
                    yield other


def main():
    for number in range(int(sys.argv[2])):
        print(Test(int(sys.argv[1]), number))


if __name__ == "__main__":
    main()
