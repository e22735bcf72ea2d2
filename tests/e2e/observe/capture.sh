#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture.sh - tshark and scapy find no mistakes in Rocin's captures, and rocin dump can read them.
#
# usage: capture.sh rc|uc|ud
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
kind=$1
run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcap" --)
run_b=(rocin run --netdev "lo:$addr_a" --pcap "$work/b.pcapng" --)
verify_pair "$kind" --type "$kind" -n 60
# This end has written a pcapng file, which has the direction and the owner of each packet.
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
# Packets that one end has received must have been sent by the other one. If no packet was lost, all
# sent packets must have been received, and rocin dump must report nothing. (Sockets of a program
# that gets no processor time may overflow.)
packets() { sed '/^ *[#?!] /d; s/^ *[0-9.]* *//; s/ *\[.*//' "$work/$1.txt" | sort; }
from() { packets "$1" | grep "^$2 > "; }
for way in "a b $addr_b" "b a $addr_a"; do
	read -r sender receiver address <<<"$way"
	comm -13 <(from "$sender" "$address") <(from "$receiver" "$address") >"$work/unsent"
	[ ! -s "$work/unsent" ] || fail "nobody sent these: $(cat "$work/unsent")"
done
if ! grep -q '\[again' "$work"/?.txt; then
	diff <(packets a) <(packets b) || fail 'the two ends saw different packets'
	! grep -E '^ *[?!] ' "$work"/?.txt || fail 'rocin dump accuses one of them'
fi
echo "ok: $(packets a | wc -l) packets"
