#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-capture.sh - limits the instructions that captures cost the captured program for a WRITE of
# 4 KiB: none if there is no capture; less than 5 % if the capturing process does not read, so that
# the ring is full, or if it captures another queue pair.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=instructions.sh
. "$(dirname "$0")/instructions.sh"

# Options of the captures in the following runs; "own" stands for the queue pair of the run.
options=()

# stopped_reader QP: starts a capture with the smallest ring, and stops it. The first hundred WRITEs
# fill the ring.
stopped_reader() {
	rm -f "$work/capture.err"
	setsid rocin capture "${options[@]/own/$1}" --buffer 256 -w - >"$work/capture.out" 2>"$work/capture.err" &
	reader=$!
	pids+=("$reader")
	wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
	kill -STOP "$reader"
}
end_reader() {
	kill -CONT "$reader"
	kill -INT "$reader"
	wait "$reader" || fail "$(cat "$work/capture.err")"
}

# cheap WHAT OPTION...: checks a capture with these options whose reader is stopped. The number of
# instructions without a capture is measured once for all of them, and again if one seems to cost
# too much.
alone=
cheap() {
	local what=$1 beside try
	shift
	options=("$@")
	rm -f "$work"/beside.*
	for try in {1..10}; do
		if [ -z "$alone" ] || [ "$try" -gt 1 ]; then
			before=true after=true
			per_write alone
			alone=$counted
		fi
		before=stopped_reader after=end_reader
		per_write beside
		beside=$counted
		said="$alone instructions for a WRITE of 4 KiB, $beside beside $what"
		echo "$said"
		[ $((beside * 100)) -gt $((alone * 105)) ] || break
	done
	[ $((beside * 100)) -le $((alone * 105)) ] || fail "$said"
	echo "ok: $said"
}
missed() {
	grep -qE ' [1-9][0-9]* missed$' "$work/capture.err" || fail "the ring was not full: $(cat "$work/capture.err")"
}
cheap 'a capture that does not read'
missed
cheap 'a capture of its queue pair that does not read' -q own
missed
cheap 'a capture of another queue pair' -q 5
tail -1 "$work/capture.err"
