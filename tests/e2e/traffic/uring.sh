#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# uring.sh - ROCIN_IO=uring: Rocin uses io_uring if it is available, does without it if a sandbox
# forbids it, and reports which of the two it does.
#
# usage: uring.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_LOCAL=off

# said_io: prints the I/O methods of the running programs, from rocin stat
said_io() {
	rocin stat --json | python3 -c '
import json, sys
print(*sorted({c["io"] for c in json.load(sys.stdin)}))'
}
says() { [ "$(said_io)" = "$1" ]; }

# holds WHAT PREFIX...: runs a program with a queue pair; it must report the method WHAT
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

# If liburing is missing, there is nothing to forbid.
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
