#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# doctor-peer.sh - `rocin doctor --peer` tells a port that nobody has from one that a device has.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# says PEER PATTERN
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
says "$addr_b" "^ok     UDP port 4791 of $addr_b refuses nothing"
touch "$work/done"
wait "${pids[0]}" || fail 'hold_qp'
echo 'ok: a port that nobody has, and one that a device has'
