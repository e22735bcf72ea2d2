#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# dump.sh - `rocin dump` reads what Linux rxe sent. What was sent stands in
# tests/captures/README.md: sizes, keys and codes are those that its programs posted.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
captures=$ROCIN_SOURCE/tests/captures
to_b='10.77.0.1 > 10.77.0.2 '
to_a='10.77.0.2 > 10.77.0.1 '

# begins NAME LINE...: the first packets of a capture, without their times
begins() {
	local name=$1
	shift
	is "$name" "$(rocin dump --count $# "$captures/$name.pcap" | cut -c15-)" \
		"$(printf '%s\n' "$@")"
}

begins rxe-rc-send-small \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118464 len 0 ackreq" \
	"$to_a RC_ACK                 qp 0x000011 psn 1118464 ACK msn 1" \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118465 len 1 ackreq" \
	"$to_a RC_ACK                 qp 0x000011 psn 1118465 ACK msn 2" \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118466 len 2 ackreq"
begins rxe-rc-write-imm \
	"$to_b RC_WRITE_ONLY_IMM      qp 0x000016 psn 1118464 va 0x5582c1f39000 rkey 0x7e2 dmalen 0 imm 0xa1b2c3d4 len 0 ackreq"
begins rxe-rc-atomic \
	"$to_b RC_CMP_SWAP            qp 0x000019 psn 1118464 va 0x555a9cd71040 rkey 0xae8 swap/add 1234605616436508552 compare 100 ackreq" \
	"$to_a RC_ATOMIC_ACK          qp 0x000019 psn 1118464 ACK msn 1 original 100"
begins rxe-rc-rem-access-write \
	"$to_b RC_WRITE_FIRST         qp 0x000025 psn 1118464 va 0x555daf01e000 rkey 0x5a5a1610 dmalen 3000 len 1024" \
	"$to_a RC_ACK                 qp 0x000025 psn 1118464 NAK remote access error msn 0"
begins rxe-rc-rnr-fail \
	"$to_b RC_SEND_ONLY           qp 0x00001b psn 1118464 len 64 ackreq" \
	"$to_a RC_ACK                 qp 0x00001b psn 1118464 RNR NAK 0.64 ms msn 0"
begins rxe-rc-read-req-lost \
	"$to_b RC_READ_REQUEST        qp 0x000022 psn 1118464 va 0x56147de31000 rkey 0x13f5 dmalen 64 ackreq" \
	"$to_b RC_READ_REQUEST        qp 0x000022 psn 1118464 va 0x56147de31000 rkey 0x13f5 dmalen 64 ackreq" \
	"$to_a RC_READ_RESPONSE_ONLY  qp 0x000022 psn 1118464 ACK msn 1 len 64"
begins rxe-ud-send \
	"$to_b UD_SEND_ONLY           qp 0x000033 psn 1118464 qkey 0x11223344 src-qp 0x33 len 0" \
	"$to_b UD_SEND_ONLY           qp 0x000033 psn 1118465 qkey 0x11223344 src-qp 0x33 len 1"
begins rxe-ipv6-rc \
	'fd77::1 > fd77::2  RC_SEND_ONLY           qp 0x000035 psn 1118464 len 1024 ackreq' \
	'fd77::2 > fd77::1  RC_ACK                 qp 0x000035 psn 1118464 ACK msn 1'

# The number of packets in each, and no packet that is marked.
while read -r name packets; do
	rocin dump "$captures/$name.pcap" >"$work/all"
	is "$name has $packets packets" "$(wc -l <"$work/all")" "$packets"
	is "$name has no wrong ICRC" "$(grep '\[' "$work/all")" ''
done <<'LIST'
rxe-rc-send-small 14
rxe-rc-write-imm 8
rxe-rc-atomic 8
rxe-rc-rem-access-write 2
rxe-rc-rnr-fail 6
rxe-rc-read-req-lost 3
rxe-ud-send 6
rxe-ipv6-rc 14
LIST

is 'times start at 0' "$(rocin dump -c 1 "$captures/rxe-ud-send.pcap" | cut -c1-12)" \
	'    0.000000'
is 'a resend waits for the timeout of 67 ms' \
	"$(rocin dump "$captures/rxe-rc-read-req-lost.pcap" | sed -n 2p | cut -c1-9)" \
	'    0.072'
is 'standard input will do' \
	"$(rocin dump - <"$captures/rxe-rc-atomic.pcap" | wc -l)" 8

# A byte of a payload turned over: that packet is marked, no other.
cp "$captures/rxe-rc-rnr-fail.pcap" "$work/bad.pcap"
printf '\377' | dd of="$work/bad.pcap" bs=1 seek=130 conv=notrunc 2>/dev/null
is 'a damaged packet is marked' \
	"$(rocin dump "$work/bad.pcap" | grep -c 'wrong ICRC')" 1

is 'a file that is not there' "$(status rocin dump "$work/none.pcap")" 1
head -c 100 /dev/zero >"$work/zero.pcap"
is 'a file that is no capture' "$(status rocin dump "$work/zero.pcap")" 1
head -c 300 "$captures/rxe-rc-atomic.pcap" >"$work/cut.pcap"
is 'a capture that breaks off' "$(status rocin dump "$work/cut.pcap")" 1
is 'prints what was whole' "$(wc -l <"$work/out")" 2
is 'no file is wrong usage' "$(status rocin dump)" 64
is 'two files are wrong usage' "$(status rocin dump a b)" 64
is 'a count of 0 is wrong usage' "$(status rocin dump -c 0 a)" 64
finish
