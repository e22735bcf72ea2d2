#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# local-hostile.sh - a third process writes random bytes to the shared memory by which two programs
# communicate: every byte of their data still arrives, by UDP if necessary.
#
# usage: local-hostile.sh payload|records|control|closed|doorbell|all [ib_write_bw] [ib_send_bw]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
mode=$1 seed=${ROCIN_SEED:-$$}
shift
programs=("$@")
limit=1800
export ROCIN_LOG=warn

# users: prints the process ids of programs that send packets by a local wire
users() {
	rocin stat --json | python3 -c '
import json, sys
for c in json.load(sys.stdin):
    if c["hw_counters"].get("local_sent_pkts", 0) > 100:
        print(c["pid"])'
}
are_two() {
	two=$(users)
	[ "$(wc -w <<<"$two")" = 2 ]
}

# An end that has given up its local wire requests another one from rocind.
renewed=
is_renewed() {
	rocin stat --json | python3 -c '
import json, sys
sys.exit(not any(c["hw_counters"].get("local_renewed") for c in json.load(sys.stdin)))'
}

over() { ! kill -0 "$1" 2>/dev/null; }
are_two_or_over() { are_two || over "$program"; }
writes_or_over() { grep -qs memfd:rocin-wire "/proc/$scribbler/maps" || over "$scribbler"; }

# scribble NAME COMMAND...: the command runs two programs. Starts a process that writes to the
# memory of one of them. Returns false if the programs had (almost) ended before that could begin.
scribble() {
	local name=$1 program victim scribbler status
	shift
	rm -f "$work/go"
	(
		pids=()
		trap 'end_now "${pids[@]}"' EXIT
		"$@"
	) &
	program=$!
	pids+=("$program")
	wait_for are_two_or_over || fail "$name: no local wire"
	victim=$(head -1 <<<"$two")
	"$ROCIN_TESTS/scribble" "$mode" "$seed" "${victim:-0}" >"$work/scribble.out" 2>&1 &
	scribbler=$!
	pids+=("$scribbler")
	wait_for writes_or_over || fail "$name: scribble does not begin"
	touch "$work/go"
	while [ "$mode" = closed ] && [ -z "$renewed" ] && kill -0 "$scribbler" 2>/dev/null; do
		is_renewed && renewed=yes
		sleep 0.1
	done
	wait "$scribbler"
	status=$?
	[ "$status" != 77 ] || skip 'the memory of another process cannot be mapped here'
	[ "$status" = 0 ] || [ "$status" = 3 ] || fail "$name: scribble: $(cat "$work/scribble.out")"
	wait "$program" || fail "$name: seed $seed"
	[ "$status" = 0 ] || return 1
	echo "ok: $name, $mode, seed $seed: $(cat "$work/scribble.out")"
}

given_up() { cat "$work"/*.out | grep -c 'a local wire is given up'; }

# verify waits until this process begins to write, and then sends most of its messages. longer NAME
# COMMAND...: perftest cannot wait; if it has ended too early, it runs again for a longer time
verify_for() { verify_pair 'verify' --type rc -n $(($1 * 15000)) --max 20000 --wait "$work/go"; }
perftest_for() {
	local program=$2 seconds=$1
	shift 2
	next_port
	pair "$program" "$program" -x 0 -F -D "$seconds" -p "$port" "$@" -- \
		"$program" -x 0 -F -D "$seconds" -p "$port" "$@" 127.0.0.1
}
longer() {
	local name=$1 command=$2 seconds first=1
	shift 2
	[ "$mode" != closed ] || first=3 # enough time to see that a new wire replaces the lost one
	for seconds in $first 5 25 75; do
		! scribble "$name" "$command" "$seconds" "$@" || return 0
	done
	fail "$name: it has ended before anything was written"
}

longer verify verify_for
case $mode in
records | control)
	# The programs may have read all bytes before they were overwritten. In a longer run, more
	# bytes are overwritten.
	for seconds in 15 75; do
		[ "$(given_up)" -gt 0 ] || scribble verify verify_for "$seconds"
	done
	[ "$(given_up)" -gt 0 ] || fail 'no wire was given up' ;;
esac
for name in "${programs[@]}"; do
	case $name in
	ib_write_bw) longer "$name" perftest_for "$name" ;;
	ib_send_bw) longer "$name" perftest_for "$name" -s 64 ;;
	esac
done
[ "$mode" != closed ] || [ -n "$renewed" ] || fail 'no wire was asked for again'
