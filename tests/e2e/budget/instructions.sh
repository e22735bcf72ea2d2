# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# instructions.sh - how many instructions a WRITE of 4 KiB takes; sourced after lib.sh.
# shellcheck shell=bash
command -v valgrind >/dev/null || skip 'there is no valgrind'

# One rocind for all runs, started here: valgrind does not survive the start of a daemon.
mkdir -m 700 "$ROCIN_RUNTIME_DIR"
rocind --foreground --idle-ms 60000 &
pids+=($!)
started() { [ -n "$(find "$ROCIN_RUNTIME_DIR" -type s)" ]; }
wait_for started || fail 'rocind does not start'

# What is called when the number of the queue pair is known, as its argument, before the first
# WRITE, and after the last one.
before=true after=true

# instructions COUNT [VARIABLE=VALUE...]: $counted, of one run with so many WRITEs
instructions() {
	local count=$1 program
	shift
	rm -f "$work/go" "$work/out"
	mkfifo "$work/go"
	# shellcheck disable=SC2016 # expanded within
	timeout 1800 rocin run --netdev "lo:$addr_a" -- env "$@" "ROCIN_TESTS=$ROCIN_TESTS" \
		sh -c 'LD_PRELOAD=$LD_PRELOAD:$ROCIN_TESTS/still_clock.so exec "$@"' sh \
		valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$ROCIN_TESTS/writes" "$count" ask <>"$work/go" >"$work/out" 2>&1 &
	program=$!
	pids+=("$program")
	wait_for grep -qs '^qp ' "$work/out" || fail "writes: $(tail -3 "$work/out")"
	$before "$(awk '/^qp / { print $2 }' "$work/out")"
	echo >"$work/go"
	wait "$program" || fail "writes: $(tail -3 "$work/out")"
	$after
	counted=$(awk '/Collected/ { print $NF }' "$work/out")
}

# per_write WHICH [VARIABLE=VALUE...]: $counted, without what a run costs in any case. The clock
# of these runs does not depend on the machine; now and then a poll finds nothing all the same: of
# each kind of run the one with the fewest, in $work/WHICH.*
per_write() {
	local which=$1
	shift
	instructions 500 "$@"
	echo "$counted" >>"$work/$which.few"
	instructions 2500 "$@"
	echo "$counted" >>"$work/$which.many"
	counted=$((($(sort -n "$work/$which.many" | head -1) - $(sort -n "$work/$which.few" | head -1)) / 2000))
	[ "$counted" -gt 1000 ] || fail "$counted instructions for a WRITE cannot be"
}
