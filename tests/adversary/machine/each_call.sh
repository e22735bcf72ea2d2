#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# each_call.sh - a sandbox that forbids one system call, for each that Rocin makes in turn: a
# program on a device and its rocind find a way around it, or end with a sentence; none crashes,
# waits for ever, or goes round in circles.
#
# usage: each_call.sh ERRNO...
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
export ROCIN_IDLE_MS=2000
"$ROCIN_TESTS/deny_call" socket EPERM true
[ $? != 77 ] || skip 'no seccomp here'
runs=0 around=0 dirs=$runtime/each
mkdir "$dirs"

# is_running PID: it runs, or waits for a processor
is_running() { grep -qs '^[0-9]* (.*) R' "/proc/$1/stat"; }

# daemons [DIRECTORY]: process ids of the rocinds that were started there and are there yet
daemons() {
	local lock pid
	find "${1:-$dirs}" -name 'rocind*.lock' | while read -r lock; do
		pid=$(cat "$lock" 2>/dev/null)
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = rocind ] || continue
		grep -qsz "ROCIN_RUNTIME_DIR=$dirs/" "/proc/$pid/environ" && echo "$pid"
	done
}
own_cleanup() {
	local pid
	for pid in $(daemons); do
		kill -9 "$pid"
	done
}

for errno; do
	for call in $("$ROCIN_TESTS/deny_call" --list); do
		runs=$((runs + 1))
		export ROCIN_RUNTIME_DIR=$dirs/$errno-$call
		mkdir -m 700 "$ROCIN_RUNTIME_DIR"
		timeout 120 "$ROCIN_TESTS/deny_call" "$call" "$errno" rocin run --netdev "lo:$addr_a" -- \
			"$ROCIN_TESTS/writes" 20 >"$work/out" 2>&1
		status=$?
		# Its rocind has the address, and ends as soon as it sees that nobody is there.
		[ "$status" != 0 ] || for pid in $(daemons "$ROCIN_RUNTIME_DIR"); do
			kill "$pid"
		done
		if [ "$status" = 0 ]; then
			around=$((around + 1))
		elif [ "$status" -ge 124 ] && [ "$status" != 126 ] && [ "$status" != 127 ]; then
			fail "$call, $errno: exit status $status: $(cat "$work/out")"
		else
			[ -s "$work/out" ] || fail "$call, $errno: it ends without a word"
		fi
	done
done
# What cannot do its work sleeps, or has ended. How often it runs does not depend on who else wants
# the processors; how much time it gets does.
declare -A running
found=$(daemons)
for ((look = 0; look < 20; look++)); do
	for pid in $found; do
		! is_running "$pid" || running[$pid]=$((${running[$pid]:-0} + 1))
	done
	sleep 0.05
done
for pid in $found; do
	[ "${running[$pid]:-0}" -lt 15 ] ||
		fail "rocind goes round in circles: $(tr '\0' '\n' <"/proc/$pid/environ" | grep ROCIN_RUNTIME_DIR)"
done
echo "ok: $runs sandboxes, a way around in $around, a sentence in the others"
