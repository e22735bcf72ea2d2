#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-cm.sh - `rocin capture` shows how programs connect: the messages of the connection manager
# and the packets of their queue pairs, and the effects of fault rules on them.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"

# messages FILE: prints the attribute and the direction of each message of QP 1
messages() {
	tshark -r "$1" -Y infiniband.mad -T fields -e frame.interface_description -e frame.packet_flags_direction \
		-e infiniband.mad.attributeid -e _ws.col.Info 2>/dev/null
}

capture -w "$work/rping.pcapng"
play rping rping -s -a "$server" -C 5 -V -- rping -c -a "$server" -C 5 -V
end_capture_live
messages "$work/rping.pcapng" >"$work/messages"
for message in ConnectRequest ConnectReply ReadyToUse DisconnectRequest DisconnectReply; do
	sent=$(grep -c "0x0\{0,7\}2[[:space:]].*$message" "$work/messages")
	received=$(grep -c "0x0\{0,7\}1[[:space:]].*$message" "$work/messages")
	[ "$sent" -ge 1 ] && [ "$sent" = "$received" ] ||
		fail "$message: sent $sent, received $received: $(cat "$work/messages")"
done
grep -v '^rocind, process [0-9]*, the connection manager' "$work/messages" && fail 'whose messages'
"$(dirname "$0")/../kit/judge-capture.sh" "$work/rping.pcapng" || fail 'others read it otherwise'
rocin dump --check "$work/rping.pcapng" >"$work/out" || fail "$(cat "$work/out")"
# The packets of the connection must be between its first and its last message.
tshark -r "$work/rping.pcapng" -T fields -e infiniband.mad.attributeid 2>/dev/null |
	awk '$1 != "" { n++; last = NR; if (n == 1) first = NR } END { exit !(first == 1 && last - first > 2 * n) }' ||
	fail 'the order of messages and packets'
rocin dump "$work/rping.pcapng" >"$work/out"
[ "$(grep -c ' RC_' "$work/out")" -gt 20 ] || fail "$(cat "$work/out")"
echo "ok: $(wc -l <"$work/messages") messages of the connection manager, and what they are for"

# A capture of QP 1 has only these messages; a capture of one device has none of them.
capture -q 1 -w "$work/qp1.pcapng"
rocin capture -d rocin0 --quiet -w "$work/rocin0.pcapng" &
device_pid=$!
pids+=("$device_pid")
device_captures() { [ -s "$work/rocin0.pcapng" ]; }
wait_for device_captures || fail 'no second capture'
play '10 connections' ucmatose -b "$server" -c 10 -C 2 -- ucmatose -s "$server" -c 10 -C 2
end_capture_live
kill -INT "$device_pid"
wait "$device_pid" || fail 'a capture of a device'
[ "$(messages "$work/qp1.pcapng" | wc -l)" = "$(tshark -r "$work/qp1.pcapng" 2>/dev/null | wc -l)" ] ||
	fail 'more than QP1'
[ "$(messages "$work/qp1.pcapng" | grep -c ConnectRequest)" = 20 ] || fail '10 requests, at both ends'
[ "$(messages "$work/rocin0.pcapng" | wc -l)" = 0 ] || fail 'QP1 is no part of a device'

# A lost message: the dropped copy is marked, and the message is sent again.
rocin fault 'drop tx mad=REP nth=1' >"$work/out" 2>&1 || fail "$(cat "$work/out")"
capture -w "$work/lost.pcapng"
play 'a reply lost' rping -s -a "$server" -C 2 -- rping -c -a "$server" -C 2
end_capture_live
rocin fault --clear >"$work/out" 2>&1 || fail "$(cat "$work/out")"
tshark -r "$work/lost.pcapng" -Y frame.comment -T fields -e _ws.col.Info -e frame.comment 2>/dev/null >"$work/comments"
grep -q 'ConnectReply.*dropped on purpose by rule 1 about faults' "$work/comments" || fail "$(cat "$work/comments")"
echo 'ok: one queue pair, one device, a message lost on purpose'
