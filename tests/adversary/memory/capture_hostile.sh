#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture_hostile.sh - a third process writes rubbish into the rings by which the packets of two
# programs go to a capture: the programs notice nothing, and the capture ends by itself or when
# it is told to, with a file that can be read.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
seed=${ROCIN_SEED:-$$}
run_a=(rocin run --netdev "lo:$addr_b" --)
run_b=(rocin run --netdev "lo:$addr_a" --)

for count in 2000 20000 100000; do
	rm -f "$work/capture.err"
	rocin capture --buffer=256 -w "$work/live.pcapng" 2>"$work/capture.err" &
	capture=$!
	pids+=("$capture")
	wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
	(
		pids=()
		trap 'end_now "${pids[@]}"' EXIT
		verify_pair "captured by rubbish, seed $seed" --type rc -n "$count" --max 20000
	) &
	programs=$!
	pids+=("$programs")
	# The rings of both are there when both have a queue pair.
	rings() { [ "$(grep -c memfd:rocin-capture "/proc/$capture/maps")" -ge 3 ]; }
	rings_or_over() { rings || ! kill -0 "$programs" 2>/dev/null; }
	wait_for rings_or_over || fail 'no ring of a capture'
	"$ROCIN_TESTS/scribble" capture "$seed" "$capture" >"$work/scribble.out" 2>&1 &
	scribbler=$!
	pids+=("$scribbler")
	wait "$programs" || fail "the programs: seed $seed"
	kill -INT "$capture" 2>/dev/null
	over() { ! kill -0 "$capture" 2>/dev/null; }
	wait_for over || fail "the capture does not end: seed $seed"
	wait "$capture"
	status=$?
	wait "$scribbler"
	scribbled=$?
	[ "$scribbled" != 77 ] || skip 'the memory of another process cannot be mapped here'
	[ "$status" -lt 124 ] || fail "rocin capture: exit status $status, seed $seed: $(cat "$work/capture.err")"
	[ "$status" = 0 ] || [ "$(grep -vc '^capturing' "$work/capture.err")" -gt 0 ] ||
		fail "rocin capture ends without a word, seed $seed"
	rocin dump "$work/live.pcapng" >"$work/dump" 2>&1 || fail "the file cannot be read, seed $seed: $(tail -3 "$work/dump")"
	[ "$scribbled" = 0 ] || continue # they had ended: once more, for longer
	echo "ok: seed $seed: $(cat "$work/scribble.out"); $(tail -1 "$work/capture.err")"
	exit 0
done
fail 'the programs have ended before anything was written'
