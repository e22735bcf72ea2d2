#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-xrc.sh - Rocin's captures of XRC traffic: tshark and scapy find no mistakes, and every
# request has the number of the shared receive queue.
#
# usage: capture-xrc.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest

# The capture of the client has the packets of both directions.
for program in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	next_port
	command=("$program" -x 0 -F -p "$port" -c XRC -n 50)
	[ "$program" = ib_atomic_bw ] || command+=(-s 10000)
	pair "$program" "${command[@]}" -- \
		env "ROCIN_PCAP=$work/$program.pcap" "${command[@]}" 127.0.0.1
	rocin dump "$work/$program.pcap" >>"$work/text" || fail 'rocin dump'
done
LD_PRELOAD='' mergecap -F pcap -w "$work/all.pcap" "$work"/ib_*.pcap || fail 'mergecap'
"$(dirname "$0")/../kit/judge-capture.sh" "$work/all.pcap" || fail 'others find faults'
! grep -E 'wrong ICRC|malformed|shorter' "$work/text" || fail 'rocin dump finds faults'
! grep -vE '  XRC_' "$work/text" || fail 'a packet that is not of XRC'
requests=$(grep -cE 'XRC_(SEND|WRITE|READ_REQUEST|FETCH_ADD)' "$work/text")
[ "$requests" = "$(grep -c ' srq 0x' "$work/text")" ] || fail 'a request without an SRQ'
[ "$requests" -ge 400 ] || fail "only $requests requests"
echo "ok: $requests of $(wc -l <"$work/text") packets are requests and name an SRQ"
