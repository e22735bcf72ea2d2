#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# icmp.sh - another host, or a user with CAP_NET_RAW, forges ICMP errors about the packets of a
# connection, before it is there and while it is used: it is set up, with the path MTU that the
# interface carries, and every byte arrives. The kernel believes the errors.
#
# usage: icmp.sh FORGE_ICMP
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
forge_icmp=$1
two_hosts 77 9000
export ROCIN_LOG=warn:$work/log
run_a=("${in_a[@]}" rocin run --netdev va --)
run_b=("${in_b[@]}" rocin run --netdev vb --)

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

for what in port net mtu; do
	forge 10.77.0.1 10.77.0.2 "$what"
	[ "$what" != mtu ] || wait_for narrow_to 10.77.0.2 || fail 'the kernel does not believe it'
	verify_pair "$what unreachable or too long" --type rc -n 2000 --max 20000
	unforge
done
grep -q 'ICMP says that packets of .* are too long' "$work/log" || fail "no line: $(cat "$work/log")"
[ "$(grep -c 'ICMP says' "$work/log")" = 1 ] || fail "more than a line: $(cat "$work/log")"
echo 'ok: forged ICMP errors end no connection'
