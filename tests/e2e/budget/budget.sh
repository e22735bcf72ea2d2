#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget.sh - what an idle device costs: no wake-ups, little memory, no time at the start.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# 5 ms after the last packet nothing happens any more: a second without a context switch of
# any thread but the one that waits for the file.
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
