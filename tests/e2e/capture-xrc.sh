#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-xrc.sh - what our tap writes of XRC: tshark and scapy find nothing wrong, and
# every request names the shared receive queue.
#
# usage: capture-xrc.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

for program in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	next_port
	size=(-s 10000)
	[ "$program" != ib_atomic_bw ] || size=()
	pair "$program" \
		env "ROCIN_PCAP=$work/b.pcap" "$program" -x 0 -F -p "$port" -c XRC -n 50 "${size[@]}" -- \
		env "ROCIN_PCAP=$work/a.pcap" "$program" -x 0 -F -p "$port" -c XRC -n 50 "${size[@]}" 127.0.0.1
	for side in a b; do
		"$(dirname "$0")/judge-capture.sh" "$work/$side.pcap" || fail "capture of $side"
		rocin dump "$work/$side.pcap" >"$work/$side.txt" || fail 'rocin dump'
		! grep -E 'wrong ICRC|malformed|shorter' "$work/$side.txt" || fail 'rocin dump finds faults'
		! grep -vE '  XRC_' "$work/$side.txt" || fail 'a packet that is not of XRC'
		! grep -E 'SEND|WRITE|READ_REQUEST|FETCH_ADD' "$work/$side.txt" | grep -v ' srq 0x' ||
			fail 'a request without an SRQ'
	done
done
