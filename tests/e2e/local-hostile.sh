#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# local-hostile.sh - a third process writes rubbish at random into the memory by which two
# programs talk: every byte arrives all the same, by UDP if need be.
#
# usage: local-hostile.sh payload|records|control|closed|doorbell|all
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
mode=$1 seed=${ROCIN_SEED:-$$}
limit=100
export ROCIN_LOG=warn

# users: process ids of those whose packets go by a local wire
users() {
	rocin stat --json | python3 -c '
import json, sys
for c in json.load(sys.stdin):
    if c["hw_counters"].get("local_sent_pkts", 0) > 100:
        print(c["pid"])'
}
are_two() { [ "$(users | wc -l)" = 2 ]; }

# An end that has lost its wire asks for another, which rocind lays.
renewed=
is_renewed() {
	rocin stat --json | python3 -c '
import json, sys
sys.exit(not any(c["hw_counters"].get("local_renewed") for c in json.load(sys.stdin)))'
}

# scribble NAME COMMAND...: the command runs two programs, one of which is scribbled at
scribble() {
	local name=$1 program victim scribbler status
	shift
	(
		pids=()
		trap 'end_now "${pids[@]}"' EXIT
		"$@"
	) &
	program=$!
	pids+=("$program")
	wait_for 20 are_two || fail "$name: no local wire"
	victim=$(users | head -1)
	timeout "$limit" "$ROCIN_TESTS/scribble" "$mode" "$seed" "$victim" >"$work/scribble.out" 2>&1 &
	scribbler=$!
	pids+=("$scribbler")
	while [ "$mode" = closed ] && [ -z "$renewed" ] && kill -0 "$scribbler" 2>/dev/null; do
		is_renewed && renewed=yes
		sleep 0.1
	done
	wait "$scribbler"
	status=$?
	[ "$status" != 77 ] || skip 'the memory of another process cannot be mapped here'
	[ "$status" = 0 ] || fail "$name: scribble: $(cat "$work/scribble.out")"
	wait "$program" || fail "$name: seed $seed"
	echo "ok: $name, $mode, seed $seed: $(cat "$work/scribble.out")"
}

given_up() { cat "$work"/*.out | grep -c 'a local wire is given up'; }

scribble 'verify' verify_pair 'verify' --type rc -n 60000 --max 20000
case $mode in
records | control) [ "$(given_up)" -gt 0 ] || fail 'no wire was given up' ;;
esac
next_port
scribble 'ib_write_bw' pair 'ib_write_bw' ib_write_bw -x 0 -F -D 2 -p "$port" -- \
	ib_write_bw -x 0 -F -D 2 -p "$port" 127.0.0.1
next_port
scribble 'ib_send_bw' pair 'ib_send_bw' ib_send_bw -x 0 -F -s 64 -D 3 -p "$port" -- \
	ib_send_bw -x 0 -F -s 64 -D 3 -p "$port" 127.0.0.1
[ "$mode" != closed ] || [ -n "$renewed" ] || fail 'no wire was asked for again'
