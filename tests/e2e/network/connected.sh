#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# connected.sh - much traffic to the own host leaves by connected sockets, whose packets the
# kernel numbers from anywhere: tcpdump sees it, scapy finds the ICRCs right, and a peer that
# refuses what it had to solve for takes them, too.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_LOCAL=off
run_a=(rocin run --netdev "lo:$addr_b" --)
run_b=(rocin run --netdev "lo:$addr_a" --)

# tcpdump gets what the kernel has gathered for some time, or nothing at its end.
written() { [ "$(stat -c %s "$work/wire.pcap")" -gt 200000 ]; }
snap=100 capture_wire lo
verify_pair 'captured' --type rc -n 3000
wait_for written || fail "tcpdump: $(cat "$work/tcpdump.out")"
end_capture
# Acknowledgements leave alone: what else tcpdump sees here are super-packets.
tcpdump -r "$work/wire.pcap" -w "$work/acks.pcap" \
	"(host $addr_a or host $addr_b) and udp src portrange 61440-65535 and udp[4:2] = 28" 2>/dev/null
acks=$(tcpdump -nr "$work/acks.pcap" 2>/dev/null | wc -l)
[ "$acks" -gt 50 ] || fail "$acks acknowledgements by connected sockets"
"$(dirname "$0")/../kit/judge-capture.sh" "$work/acks.pcap" || fail 'others read it otherwise'
tcpdump -vnr "$work/acks.pcap" 2>/dev/null | grep -oE ' id [0-9]+,' | sort -u >"$work/ids"
[ "$(wc -l <"$work/ids")" -gt $((acks / 2)) ] || fail "$(wc -l <"$work/ids") identifications of $acks packets"
echo "ok: $acks acknowledgements by connected sockets"

# Who refuses identifications sends none that would be refused; a peer that does not know of
# it loses a packet at first.
ROCIN_ICRC=exact verify_pair 'nothing is solved for: uc' --type uc -n 300
run_a=(env ROCIN_ICRC=exact "${run_a[@]}")
verify_pair 'at one end: rc' --type rc -n 300
