#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget.sh - limits the cost of an idle device: no wake-ups, little memory, and few system calls at
# the start and for each queue pair.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# From 5 ms after the last packet, the device must be idle: no thread has a context switch for a
# second, except the one that waits for the file.
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
pid=$!
pids+=("$pid")
wait_for [ -e "$work/ready" ] || fail 'no queue pair'
background=
for task in "/proc/$pid/task"/*; do
	[ "$(cat "$task/comm")" = rocin-bg ] && background=$task
done
[ -n "$background" ] || fail 'no background thread'
switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "$background/status"; }
settled() {
	local before
	before=$(switches)
	sleep 1
	[ "$(switches)" = "$before" ]
}
wait_for settled || fail 'the background thread wakes at least once a second'
echo 'ok: an idle engine does not wake'
touch "$work/done"
wait "$pid" || fail 'hold_qp'

rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/many_qps" || fail 'many_qps'

# Counts system calls, whose number does not depend on the load of the machine. strace does not work
# together with sanitizers.
if [ -n "${ROCIN_TEST_PRELOAD:-}" ] || ! strace -o "$work/strace" true 2>/dev/null; then
	echo 'system calls are not counted: there is no strace, or it may not trace'
	exit 0
fi
# Starts rocind before, so that its system calls are not counted.
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/there" "$work/done2" &
pids+=("$!")
wait_for [ -e "$work/there" ] || fail 'no queue pair beside'
# calls QPS: sets $counted to the number of system calls of `rocin run` and a program that creates
# QPS queue pairs and one more
calls() {
	timeout 1800 strace -f -c -o "$work/strace" rocin run --netdev "lo:$addr_b" -- \
		"$ROCIN_TESTS/hold_qp" "$work/traced" "$work/done" "$1" || fail 'hold_qp under strace'
	counted=$(awk '$NF == "total" { print $4 }' "$work/strace")
}
# A call that has to wait is repeated, which raises the number. So tries several times.
for _ in 1 2 3 4 5 6; do
	calls 0
	start=$counted
	calls 200
	some=$counted
	calls 1200
	each=$(((counted - some) / 10)) # for a hundred queue pairs
	said="$start system calls of a start, $each for a hundred queue pairs"
	[ "$start" -gt 2500 ] || [ "$each" -gt 400 ] || [ "$each" -lt 1 ] || break
done
[ "$start" -le 2500 ] && [ "$each" -le 400 ] && [ "$each" -ge 1 ] || fail "$said"
touch "$work/done2"
echo "ok: $said"
