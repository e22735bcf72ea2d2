#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# doctor-peer.sh - `rocin doctor --peer` distinguishes a port on which nobody listens from the port
# of a device. It does not say that all is well if Rocin sees only a part of the program.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# says PEER PATTERN: runs `rocin doctor --peer PEER'; its output must match the pattern
says() {
	rocin doctor --netdev "lo:$addr_a" --peer "$1" >"$work/out" 2>&1
	status=$?
	grep -q "$2" "$work/out" || fail "$1: $(tail -3 "$work/out")"
}
says "$addr_b" "^FAULT  $addr_b refuses packets: nobody listens there on UDP port 4791; start"
[ "$status" = 1 ] || fail "a refusal ends with status $status"
says no-address '^FAULT  "no-address" is not an IPv4 or IPv6 address'
rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
pids+=($!)
wait_for test -e "$work/ready" || fail 'no queue pair'
ROCIN_TIMEOUT_SCALE=20 says "$addr_b" "^ok     $addr_b answers within .* us, so UDP port 4791 is open in both directions"
touch "$work/done"
wait "${pids[0]}" || fail 'hold_qp'
echo 'ok: a port that nobody has, and one that a device has'

# The program has the section that each Go program has.
echo 'int main(void) { return 0; }' >"$work/go.c"
printf '.section .go.buildinfo,"aw"\n.quad 1\n.section .note.GNU-stack,"",@progbits\n' >"$work/go.s"
if cc -o "$work/go" "$work/go.c" "$work/go.s" 2>/dev/null; then
	rocin doctor --netdev "lo:$addr_a" -- "$work/go" >"$work/out" || fail "$(cat "$work/out")"
	grep -q "^No fault found, but Rocin does not see all that $work/go does.$" "$work/out" ||
		fail "a Go program: $(tail -2 "$work/out")"
	echo 'ok: a program that Rocin sees in part'
fi
