#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# connected.sh - a program that sends much to its own host uses connected sockets, for which the
# kernel chooses any IPv4 identifications. tcpdump sees these packets, scapy finds their ICRCs
# right, and a peer accepts them that drops packets with other identifications than the ICRC covers.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_LOCAL=off
run_a=(rocin run --netdev "lo:$addr_b" --)
run_b=(rocin run --netdev "lo:$addr_a" --)

# tcpdump gets packets from the kernel in blocks, with a delay, and loses the last block at its end.
# So the test waits until the file is large enough.
written() { [ "$(stat -c %s "$work/wire.pcap")" -gt 200000 ]; }
snap=100 capture_wire lo
verify_pair 'captured' --type rc -n 3000
wait_for written || fail "tcpdump: $(cat "$work/tcpdump.out")"
end_capture
# Only acknowledgements are selected: tcpdump sees other packets as super-packets here.
tcpdump -r "$work/wire.pcap" -w "$work/acks.pcap" \
	"(host $addr_a or host $addr_b) and udp src portrange 61440-65535 and udp[4:2] = 28" 2>/dev/null
acks=$(tcpdump -nr "$work/acks.pcap" 2>/dev/null | wc -l)
[ "$acks" -gt 50 ] || fail "$acks acknowledgements by connected sockets"
"$(dirname "$0")/../kit/judge-capture.sh" "$work/acks.pcap" || fail 'others read it otherwise'
tcpdump -vnr "$work/acks.pcap" 2>/dev/null | grep -oE ' id [0-9]+,' | sort -u >"$work/ids"
[ "$(wc -l <"$work/ids")" -gt $((acks / 2)) ] || fail "$(wc -l <"$work/ids") identifications of $acks packets"
echo "ok: $acks acknowledgements by connected sockets"

# A program that refuses identifications sends only packets that it would accept itself. Its peer,
# which does not know this setting, loses one packet at first.
ROCIN_ICRC=exact verify_pair 'nothing is solved for: uc' --type uc -n 300
run_a=(env ROCIN_ICRC=exact "${run_a[@]}")
verify_pair 'at one end: rc' --type rc -n 300
