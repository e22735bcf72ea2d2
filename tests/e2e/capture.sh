#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture.sh - what our tap writes is what tshark and scapy call right, and rocin dump
# reads it.
#
# usage: capture.sh rc|uc|ud
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
kind=$1
run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcap" --)
run_b=(rocin run --netdev "lo:$addr_a" --pcap "$work/b.pcap" --)
verify_pair "$kind" --type "$kind" -n 60
for side in a b; do
	"$(dirname "$0")/judge-capture.sh" "$work/$side.pcap" || fail "capture of $side"
	rocin dump "$work/$side.pcap" >"$work/$side.txt" || fail 'rocin dump'
	! grep -E 'wrong ICRC|malformed|shorter' "$work/$side.txt" || fail 'rocin dump finds faults'
done
# Nothing was lost, so both ends saw the same packets.
for side in a b; do
	sed 's/^ *[0-9.]* *//' "$work/$side.txt" | sort >"$work/$side.sorted"
done
cmp "$work/a.sorted" "$work/b.sorted" || fail 'the two ends saw different packets'
echo "ok: $(wc -l <"$work/a.txt") packets"
