#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# uring.sh - ROCIN_IO=uring: used where io_uring can be had, done without where a sandbox
# forbids it, and said in either case.
#
# usage: uring.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_LOCAL=off

# said_io: what rocin stat says of programs that run
said_io() {
	rocin stat --json | python3 -c '
import json, sys
print(*sorted({c["io"] for c in json.load(sys.stdin)}))'
}
says() { [ "$(said_io)" = "$1" ]; }

# holds WHAT PREFIX...: a program that has a queue pair, with what it says it uses
holds() {
	local what=$1 pid
	shift
	rm -f "$work/done"
	ROCIN_LOG=warn "$@" rocin run --netdev "lo:$addr_a" --io=uring -- \
		"$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" >"$work/hold.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for says "$what" || fail "rocin stat says \"$(said_io)\", not $what: $(cat "$work/hold.out")"
	rocin stat | grep -q " $what\$" || fail "rocin stat does not say $what"
	touch "$work/done"
	wait "$pid" || fail "hold_qp: $(cat "$work/hold.out")"
	wait_for says '' || fail 'rocin stat still shows who has ended'
}

# Without its library there is nothing to forbid.
if ROCIN_IO=uring rocin doctor --netdev "lo:$addr_a" | grep -q 'ROCIN_IO is uring, but .*liburing'; then
	holds uring-refused env
	grep -q 'liburing.*going on with epoll' "$work/hold.out" || fail "no warning: $(cat "$work/hold.out")"
	skip 'no liburing here to go by; that it is done without was shown'
fi
for errno in EPERM ENOSYS; do
	sandbox=("$ROCIN_TESTS/without_call" io_uring "$errno")
	"${sandbox[@]}" true
	case $? in
	0) ;;
	77) skip 'no seccomp here' ;;
	*) fail "a sandbox with $errno cannot be made" ;;
	esac
	holds uring-refused "${sandbox[@]}"
	grep -qE "(forbidden|sandbox hides it).*going on with epoll" "$work/hold.out" ||
		fail "no warning: $(cat "$work/hold.out")"
	ROCIN_IO=uring "${sandbox[@]}" rocin doctor --netdev "lo:$addr_a" >"$work/doctor" ||
		fail "rocin doctor: $(cat "$work/doctor")"
	grep -q '^note .*ROCIN_IO is uring, but .*sandbox' "$work/doctor" ||
		fail "rocin doctor does not say so: $(cat "$work/doctor")"
done
run_a=("${sandbox[@]}" rocin run --netdev "lo:$addr_b" --io=uring --)
run_b=("${sandbox[@]}" rocin run --netdev "lo:$addr_a" --io=uring --)
verify_pair 'io_uring forbidden' --type rc -n 100 --events

if ROCIN_IO=uring rocin doctor --netdev "lo:$addr_a" | grep -q '^ok .*by io_uring'; then
	holds uring env
	run_a=(rocin run --netdev "lo:$addr_b" --io=uring --)
	run_b=(rocin run --netdev "lo:$addr_a" --io=uring --)
	verify_pair 'by io_uring' --type rc -n 200
	verify_pair 'by io_uring, events' --type rc -n 100 --events
	ROCIN_GSO=off verify_pair 'by io_uring without GSO' --type rc -n 100
else
	skip 'no io_uring here to go by; that it is refused and done without was shown'
fi
