#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""same_packets - checks that two captures of the same work have the same packets.

usage: same_packets.py MESSAGES MESSAGE-LENGTH PATH-MTU A.pcapng B.pcapng

Each capture is a file of `rocin capture' about two processes: one of them has sent MESSAGES WRITEs
of MESSAGE-LENGTH bytes (more than PATH-MTU) to the other over a reliable connection.

In each capture, every packet that a process has received must be a packet that the other one has
sent, unchanged and with a right ICRC. Each request must have arrived, PSNs must be consecutive, and
messages complete. A process that gets no processor in time may cause retransmissions; these must be
equal to the first transmission.

In both captures, the requests must have the same bytes, except for fields that differ from run to
run: addresses, source ports, IPv4 identifications, QPNs, R_Keys, the first PSN and virtual address,
and the ICRC, UDP and IP checksums. The AckReq bit may differ, too, in packets that do not end a
message, because it depends on the window.
"""
import collections
import logging
import struct
import sys
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.utils import RawPcapNgReader  # noqa: E402

LINK, IP, UDP, BTH = 16, 20, 8, 12
WRITE_FIRST, WRITE_MIDDLE, WRITES = 6, 7, range(6, 12)
ACK = 17
PSN_MASK = 0xFFFFFF


def icrc(packet):
    """Returns the ICRC of an IPv4 packet. Fields that routers may change are replaced by ones."""
    ip, udp = bytearray(packet[:IP]), bytearray(packet[IP:IP + UDP])
    bth = bytearray(packet[IP + UDP:IP + UDP + BTH])
    ip[1] = ip[8] = 0xFF
    ip[10:12] = udp[6:8] = b"\xff\xff"
    bth[4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + ip + udp + bth + packet[IP + UDP + BTH:-4])


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def describe(packet):
    bth = packet[IP + UDP:]
    return (f"{len(packet)} bytes from {packet[15]} to {packet[19]}, identification {packet[4:6].hex()}, "
            f"opcode {bth[0]}, PSN {int.from_bytes(bth[9:12], 'big')}, {bth[BTH:BTH + 4].hex()}")


class Capture:
    def __init__(self, name):
        self.name = name
        self.sent, self.received = collections.Counter(), collections.Counter()
        self.requests, self.acks = [], []
        for data, _ in RawPcapNgReader(name):
            outbound = struct.unpack_from("!H", data)[0] == 4
            self.take(data[LINK:], outbound)
        if strange := self.received - self.sent:
            raise SystemExit(f"{name}: received, and not sent (so often):\n" +
                             "\n".join(map(describe, strange.elements())) + "\nsent, and not received:\n" +
                             "\n".join(map(describe, (self.sent - self.received).elements())))

    def take(self, packet, outbound):
        length = struct.unpack_from("!H", packet, 2)[0]
        udp_length = struct.unpack_from("!H", packet, IP + 4)[0]
        if length != len(packet) or udp_length != length - IP or checksum(packet[:IP]) != 0xFFFF:
            raise SystemExit(f"{self.name}: headers do not agree: {packet[:40].hex()}")
        if struct.unpack("<I", packet[-4:])[0] != icrc(packet):
            raise SystemExit(f"{self.name}: a wrong ICRC: {packet[:40].hex()}")
        (self.sent if outbound else self.received)[packet] += 1
        if not outbound:
            return
        opcode = packet[IP + UDP]
        if opcode in WRITES:
            self.requests.append(packet)
        elif opcode == ACK:
            self.acks.append(packet)

    def stream(self, messages, length, mtu):
        """Returns the requests, without those parts that may differ between two runs."""
        first_psn = first_va = None
        shown, arrived = [], set()
        for packet in self.requests:
            body = bytearray(packet[IP + UDP:-4])
            psn = int.from_bytes(body[9:12], "big")
            first_psn = psn if first_psn is None else first_psn
            number = (psn - first_psn) & PSN_MASK
            if self.received[packet]:
                arrived.add(number)
            if number > len(shown):
                raise SystemExit(f"{self.name}: request {len(shown)} has PSN {psn}, not "
                                 f"{(first_psn + len(shown)) & PSN_MASK}")
            if body[0] == WRITE_FIRST:
                va = int.from_bytes(body[BTH:BTH + 8], "big")
                first_va = va if first_va is None else first_va
                body[BTH:BTH + 8] = ((va - first_va) & (1 << 64) - 1).to_bytes(8, "big")
                body[BTH + 8:BTH + 12] = bytes(4)
            body[5:8] = bytes(3)
            body[8] &= 0x7F if body[0] in (WRITE_FIRST, WRITE_MIDDLE) else 0xFF
            body[9:12] = number.to_bytes(3, "big")
            whole = bytes(packet[:4] + packet[6:10] + packet[22:26] + body)
            if number == len(shown):
                shown.append(whole)
            elif whole != shown[number]:
                raise SystemExit(f"{self.name}: PSN {psn} is another request when sent again")
        if missing := set(range(len(shown))) - arrived:
            raise SystemExit(f"{self.name}: {len(missing)} requests never arrived")
        if len(shown) != messages * -(-length // mtu):
            raise SystemExit(f"{self.name}: {len(shown)} requests of {messages} messages")
        msn = int.from_bytes(self.acks[-1][IP + UDP + BTH + 1:][:3], "big")
        if msn != messages:
            raise SystemExit(f"{self.name}: {msn} messages are acknowledged at the end")
        return shown


def main():
    messages, length, mtu = map(int, sys.argv[1:4])
    captures = [Capture(name) for name in sys.argv[4:6]]
    a, b = (c.stream(messages, length, mtu) for c in captures)
    for number, (x, y) in enumerate(zip(a, b)):
        if x != y:
            at = next(i for i in range(min(len(x), len(y))) if x[i] != y[i])
            raise SystemExit(f"request {number} differs at byte {at}:\n"
                             f"{x[:80].hex()}\n{y[:80].hex()}")
    sizes = ", ".join(f"{sum(c.sent.values())} packets" for c in captures)
    print(f"{len(a)} requests are the same, byte for byte ({sizes})")


main()
