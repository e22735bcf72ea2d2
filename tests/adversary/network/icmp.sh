#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# icmp.sh - another host, or a user with CAP_NET_RAW, forges ICMP errors about the packets of a
# connection, before it is there and while it is used: it is set up, with the path MTU that the
# interface carries, and every byte arrives. The kernel believes the errors. By IPv4 and IPv6.
#
# usage: icmp.sh FORGE_ICMP
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
forge_icmp=$1
two_hosts 77 9000
export ROCIN_LOG=warn:$work/log

# forge VICTIM PEER WHAT: errors to the victim about what it sends to the peer, until unforge
forge() {
	rm -f "$work/forged"
	"${in_b[@]}" python3 "$forge_icmp" "$@" >"$work/forged" 2>&1 &
	forger=$!
	pids+=("$forger")
	wait_for grep -qs '^forging' "$work/forged" || fail "$(cat "$work/forged")"
}
unforge() {
	kill "$forger"
	wait "$forger" 2>/dev/null
}
# The kernel believes what names a socket.
"${in_a[@]}" rocin run --netdev va -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
pids+=($!)
wait_for test -e "$work/ready" || fail 'no queue pair'
narrow_to() { LD_PRELOAD='' "${in_a[@]}" ip route get "$1" | grep -q 'mtu '; }

# attack VICTIM PEER
attack() {
	local what
	run_a=("${in_a[@]}" rocin run --netdev "va:$1" --)
	run_b=("${in_b[@]}" rocin run --netdev "vb:$2" --)
	for what in port net mtu; do
		forge "$1" "$2" "$what"
		[ "$what" != mtu ] || wait_for narrow_to "$2" || fail "the kernel does not believe it of $2"
		verify_pair "$2 $what unreachable or too long" --type rc -n 2000 --max 20000
		unforge
	done
}
lines() { grep -c 'ICMP says that packets of .* are too long' "$work/log"; }
attack 10.77.0.1 10.77.0.2
[ "$(lines)" = 1 ] || fail "not one line: $(cat "$work/log")"
# Not each kernel asks what ICMPv6 has said when a packet leaves.
attack fd77::1 fd77::2
[ "$(lines)" -le 2 ] || fail "more than a line: $(cat "$work/log")"
echo 'ok: forged ICMP errors end no connection'
