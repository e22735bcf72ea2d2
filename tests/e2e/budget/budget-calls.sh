#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-calls.sh - how many instructions the calls of the data path take at most: a poll that
# finds nothing, a post, a message that is sent in a burst, and one that is received. A budget
# only ever shrinks.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=instructions.sh
. "$(dirname "$0")/instructions.sh"

# one_run WHAT ROUNDS [VARIABLE=VALUE...]: $counted, instructions of a call or a message
one_run() {
	local what=$1 rounds=$2 peer
	shift 2
	rm -f "$work/socket" "$work/out"
	rocin run --netdev "lo:$addr_b" -- env "$@" "$ROCIN_TESTS/calls" peer "$work/socket" &
	peer=$!
	pids+=("$peer")
	wait_for [ -S "$work/socket" ] || fail 'the peer does not listen'
	# shellcheck disable=SC2016 # expanded within
	timeout 1800 rocin run --netdev "lo:$addr_a" -- env "$@" "ROCIN_TESTS=$ROCIN_TESTS" \
		sh -c 'LD_PRELOAD=$LD_PRELOAD:$ROCIN_TESTS/still_clock.so exec "$@"' sh \
		valgrind --tool=callgrind --callgrind-out-file="${callgrind_out:-/dev/null}" --toggle-collect=counted \
		"$ROCIN_TESTS/calls" "$what" "$work/socket" "$rounds" >"$work/out" 2>&1 ||
		fail "calls: $(grep -v "^==" "$work/out" | tail -3)"
	wait "$peer" || fail 'the peer'
	counted=$(awk '/^calls / { calls = $2 } /Collected/ { sum = $NF }
		END { if (calls) printf "%d\n", sum / calls }' "$work/out")
	[ "${counted:-0}" -gt 10 ] || fail "${counted:-0} instructions of $what cannot be"
}

# at_most BUDGET WHAT ROUNDS SENTENCE [VARIABLE=VALUE...]
at_most() {
	local budget=$1 what=$2 rounds=$3 sentence=$4 said try
	shift 4
	# Again while it is more: a packet that comes late costs a poll.
	for try in 1 2 3; do
		one_run "$what" "$rounds" "$@"
		said="$counted instructions for $sentence"
		[ "$counted" -gt "$budget" ] || break
	done
	[ "$counted" -le "$budget" ] || fail "$said, more than $budget in $try runs"
	echo "ok: $said"
}
if [ -n "${1:-}" ]; then
	one_run "$@"
	echo "$counted"
	exit 0
fi
at_most 72 poll 20 'a poll that finds nothing'
at_most 2750 post 200 'a post of 64 bytes to the local wire'
at_most 1900 send 40 'a SEND of 64 bytes in a burst by UDP' ROCIN_LOCAL=off
at_most 2050 receive 40 'a SEND of 64 bytes that is received from the local wire'
