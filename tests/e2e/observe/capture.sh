#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture.sh - what our tap writes is what tshark and scapy call right, and rocin dump
# reads it.
#
# usage: capture.sh rc|uc|ud
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
kind=$1
run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcap" --)
run_b=(rocin run --netdev "lo:$addr_a" --pcap "$work/b.pcapng" --)
verify_pair "$kind" --type "$kind" -n 60
# This end wrote pcapng, which says which way each packet went, and whose they are.
ways=$(tshark -r "$work/b.pcapng" -T fields -e frame.packet_flags_direction -e ip.src -e ip.dst 2>/dev/null)
[ -n "$ways" ] || fail 'no packet in the pcapng file'
awk -v own="$addr_a" '!($1 ~ /1$/ && $3 == own || $1 ~ /2$/ && $2 == own) { exit 1 }' <<<"$ways" ||
	fail "a packet went the other way: $(sort <<<"$ways" | uniq -c)"
tshark -r "$work/b.pcapng" -c 1 -T fields -e frame.interface_description 2>/dev/null | grep -q ', process [0-9]' ||
	fail 'whose packets these are'
mv "$work/b.pcapng" "$work/b.pcap"
for side in a b; do
	"$(dirname "$0")/../kit/judge-capture.sh" "$work/$side.pcap" || fail "capture of $side"
	rocin dump "$work/$side.pcap" >"$work/$side.txt" || fail 'rocin dump'
	! grep -E 'wrong ICRC|malformed|shorter' "$work/$side.txt" || fail 'rocin dump finds faults'
done
# Nothing was lost, so both ends saw the same packets.
for side in a b; do
	sed '/^ *# /d; s/^ *[0-9.]* *//' "$work/$side.txt" | sort >"$work/$side.sorted"
done
diff "$work/a.sorted" "$work/b.sorted" || fail 'the two ends saw different packets'
echo "ok: $(wc -l <"$work/a.txt") packets"
