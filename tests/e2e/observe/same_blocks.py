#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""same_blocks - checks that a capture of `rocin capture' has the same blocks as the programs' own files.

usage: same_blocks.py LIVE.pcapng OWN.pcapng...

LIVE is a capture of all programs; each OWN is the file that one of them has written because of
ROCIN_PCAP. Section headers must be equal. LIVE must have the interfaces of all OWN files, byte for
byte; it may have others without packets, such as that of the connection manager. For each interface,
both files must have the same packets in the same order, with the same times, bytes, comments, flags,
counts and queue pairs, and the same numbers of packets in the statistics.
"""
import struct
import sys

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6


class Capture:
    def __init__(self, name):
        self.name, self.section = name, None
        self.order, self.packets, self.counts = [], {}, {}
        data, at = open(name, "rb").read(), 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if struct.unpack_from("<I", data, at + length - 4)[0] != length:
                raise SystemExit(f"{name}: the block at {at} is broken")
            self.take(kind, data[at + 8:at + length - 4])
            at += length

    def take(self, kind, body):
        if kind == SECTION:
            self.section = body
        elif kind == INTERFACE:
            if body in self.packets:
                raise SystemExit(f"{self.name}: an interface is there twice")
            self.order.append(body)
            self.packets[body] = []
        elif kind == PACKET:
            number, = struct.unpack_from("<I", body)
            self.packets[self.order[number]].append(body[4:])
        elif kind == STATISTICS:
            number, = struct.unpack_from("<I", body)
            self.counts[self.order[number]] = body[12:]  # behind the time
        else:
            raise SystemExit(f"{self.name}: a block of type {kind}")


def main():
    live = Capture(sys.argv[1])
    seen = packets = 0
    for own in map(Capture, sys.argv[2:]):
        if own.section != live.section:
            raise SystemExit(f"{own.name}: another section header")
        for interface, mine in own.packets.items():
            theirs = live.packets.get(interface)
            if theirs is None:
                raise SystemExit(f"{own.name}: no such interface in {live.name}: {interface}")
            for number, (a, b) in enumerate(zip(mine, theirs)):
                if a != b:
                    raise SystemExit(f"{own.name}: packet {number} is another:\n{a}\n{b}")
            if len(mine) != len(theirs):
                raise SystemExit(f"{own.name}: {len(mine)} packets, there are {len(theirs)}")
            if own.counts.get(interface) != live.counts.get(interface) or interface not in own.counts:
                raise SystemExit(f"{own.name}: other counts")
            seen += 1
            packets += len(mine)
    total = sum(map(len, live.packets.values()))
    if packets != total or not packets:
        raise SystemExit(f"{live.name}: {total} packets, {packets} of them in the others")
    print(f"{packets} packets of {seen} interfaces are the same, with all that is said of them")


main()
