#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# judge-capture.sh - do other people's tools find nothing wrong with our packets?
#
# usage: judge-capture.sh FILE.pcap
# tshark must decode every packet as InfiniBand without a malformed mark (but for its guess
# at what payloads of 0 to 4 bytes are); scapy must agree with every ICRC of IPv4 packets.
set -eu
file=$1

total=$(tshark -r "$file" -Y 'udp.dstport == 4791' 2>/dev/null | wc -l)
[ "$total" -gt 0 ] || { echo "no RoCEv2 packet in $file"; exit 1; }
decoded=$(tshark -r "$file" -Y infiniband 2>/dev/null | wc -l)
# 44 bytes of IP are a SEND without payload; up to 48 with one of 1 to 4 bytes.
malformed=$(tshark -r "$file" -Y '_ws.malformed && udp.length > 28' 2>/dev/null | wc -l)
echo "tshark: $decoded of $total packets decoded, $malformed malformed"
[ "$decoded" = "$total" ] || exit 1
[ "$malformed" = 0 ] || {
	tshark -r "$file" -Y '_ws.malformed && udp.length > 28' 2>/dev/null | head -5
	exit 1
}
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
