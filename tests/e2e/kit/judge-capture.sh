#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# judge-capture.sh - checks a capture of Rocin's packets by tools of other authors.
#
# usage: judge-capture.sh FILE.pcap
# tshark must decode every packet as InfiniBand, and report none as malformed (except for its guess
# at the contents of payloads of up to 4 bytes). scapy must compute the same ICRC for every IPv4
# packet.
set -eu
file=$1

# A SEND without payload has 44 bytes of IP; one with a payload of 1 to 4 bytes has up to 48.
tshark -r "$file" -Y 'udp.dstport == 4791' -T fields -e frame.number -e udp.length -e frame.protocols 2>/dev/null |
	awk '
		{ total++ }
		$3 ~ /:infiniband(:|$)/ { decoded++ }
		$3 ~ /:_ws.malformed/ && $2 > 28 && ++malformed <= 5 { print "malformed:", $0 }
		END {
			printf "tshark: %d of %d packets decoded, %d malformed\n", decoded, total, malformed
			exit total == 0 || decoded != total || malformed > 0
		}'
/usr/bin/python3 - "$file" <<'PY'
import sys, logging
logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import PcapReader, IP, UDP, Raw
from scapy.contrib.roce import BTH

right = wrong = 0
for packet in PcapReader(sys.argv[1]):
    if IP not in packet or UDP not in packet or packet[UDP].dport != 4791:
        continue
    bth = packet[BTH]
    icrc = bytes(packet[UDP].payload)[-4:]
    pkt = bytes(packet[UDP].payload)[:-4]
    if bth.compute_icrc(pkt) == icrc:
        right += 1
    else:
        wrong += 1
        if wrong < 4:
            print(packet.summary(), icrc.hex(), bth.compute_icrc(pkt).hex())
print(f"scapy: {right} ICRCs right, {wrong} wrong")
sys.exit(1 if wrong or not right else 0)
PY
