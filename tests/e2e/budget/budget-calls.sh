#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-calls.sh - limits the number of instructions of the calls in the data path: a poll that
# finds nothing, a post, a message that is sent in a burst, and a message that is received. Never
# raise a budget.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=instructions.sh
. "$(dirname "$0")/instructions.sh"

# parts FIRST STEPS: prints the names of the counts of every STEPSth counted part, from FIRST on
parts() {
	local i
	for ((i = $1; ; i += $2)); do
		[ -f "$work/counts.$i" ] || break
		echo "$work/counts.$i"
	done
}

# median FILE...: prints the median of the numbers of instructions in these files
median() {
	awk '/^totals: / { print $2 }' "$@" | sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] + 0 }'
}

# one_run WHAT ROUNDS [VARIABLE=VALUE...]: sets $counted to the number of instructions of a call or
# message. This is the median of the rounds, because in some rounds a ring wraps or a packet of the
# peer comes late.
one_run() {
	local what=$1 rounds=$2 peer step steps=1 calls
	shift 2
	[ "$what" != send ] || steps=2 # one for the burst, one for the poll of its completion
	rm -f "$work"/counts* "$work/socket" "$work/out"
	rocin run --netdev "lo:$addr_b" -- env "$@" "$ROCIN_TESTS/calls" peer "$work/socket" &
	peer=$!
	pids+=("$peer")
	wait_for [ -S "$work/socket" ] || fail 'the peer does not listen'
	# shellcheck disable=SC2016 # expanded within
	timeout 1800 rocin run --netdev "lo:$addr_a" -- env "$@" "ROCIN_TESTS=$ROCIN_TESTS" \
		sh -c 'LD_PRELOAD=$LD_PRELOAD:$ROCIN_TESTS/still_clock.so exec "$@"' sh \
		valgrind --tool=callgrind --callgrind-out-file="$work/counts" --dump-after=counted \
		--toggle-collect=counted "$ROCIN_TESTS/calls" "$what" "$work/socket" "$rounds" \
		>"$work/out" 2>&1 || fail "calls: $(grep -v "^==" "$work/out" | tail -3)"
	wait "$peer" || fail 'the peer'
	calls=$(awk '/^calls / { print $2 }' "$work/out")
	[ -f "$work/counts.$((rounds * steps))" ] && [ "${calls:-0}" -ge "$rounds" ] ||
		fail "not all of $rounds rounds were counted"
	counted=0
	for ((step = 1; step <= steps; step++)); do
		# shellcheck disable=SC2046 # several
		counted=$((counted + $(median $(parts "$step" "$steps"))))
	done
	counted=$((counted / (calls / rounds)))
	[ "$counted" -gt 10 ] || fail "$counted instructions of $what cannot be"
}

# at_most BUDGET WHAT ROUNDS SENTENCE [VARIABLE=VALUE...]
at_most() {
	local budget=$1 what=$2 rounds=$3 sentence=$4 said try
	shift 4
	# If the number is greater than the budget, tries again: on a busy machine, a packet may be
	# late in most rounds.
	for try in 1 2 3; do
		one_run "$what" "$rounds" "$@"
		said="$counted instructions for $sentence"
		[ "$counted" -gt "$budget" ] || break
	done
	[ "$counted" -le "$budget" ] || fail "$said, more than $budget in $try runs"
	echo "ok: $said"
}
# posts_at_most BUDGET OPTION SENTENCE: limits the instructions of some posts of the last run. If
# the peer sleeps, a post must check the descriptor by which it wakes the peer; whether the peer
# sleeps depends on the machine. OPTION is -l for the posts whose profile contains that check, -L
# for the others (options of grep).
posts_at_most() {
	local files
	files=$(parts 1 1 | xargs grep "$2" rn_own_fd_is_there)
	[ -n "$files" ] || { echo "ok: there was no $3" && return; }
	# shellcheck disable=SC2086 # several
	counted=$(median $files)
	[ "$counted" -le "$1" ] || fail "$counted instructions for a $3, more than $1"
	echo "ok: $counted instructions for a $3"
}

if [ -n "${1:-}" ]; then
	one_run "$@"
	echo "$counted"
	exit 0
fi
at_most 60 poll 20 'a poll that finds nothing'
one_run post 200
posts_at_most 2140 -L 'post of 64 bytes to the local wire'
posts_at_most 2320 -l 'post of 64 bytes to the local wire that wakes the peer'
at_most 1755 send 40 'a SEND of 64 bytes in a burst by UDP' ROCIN_LOCAL=off
at_most 1850 receive 40 'a SEND of 64 bytes that is received from the local wire'
