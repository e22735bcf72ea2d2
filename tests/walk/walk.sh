#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# walk.sh - the random walk over verbs, on a device of its own.
#
# usage: walk.sh [--long SECONDS | SEED [COUNT [STEPS [THREADS]]]]
# --long: the seeds of seeds.txt, then one after the other until the time is over.
# ROCIN_PCIE is for the device.
knobs=${ROCIN_PCIE:-}
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"

# gcc's ThreadSanitizer does not survive the clone() that starts rocind on demand.
rocind --idle-ms=60000 || fail "rocind ended with status $?"

walk() {
	ROCIN_PCIE=$knobs rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/walk" "$@" \
		>"$work/out" 2>&1
	local status=$?
	if [ "$status" != 0 ]; then
		head -c 20000 "$work/out"
		fail "walk $*: status $status; repeat it by: ROCIN_BIN=$ROCIN_BIN" \
			"ROCIN_TESTS=$ROCIN_TESTS ROCIN_PCIE=$knobs $0 $*"
	fi
	echo "ok: walk $*: $(tail -1 "$work/out")"
}

if [ "${1:-}" != --long ]; then
	walk "$@"
	exit 0
fi
while read -r seed _; do
	case $seed in
	'' | '#'*) ;;
	*) walk "$seed" 1 ;;
	esac
done <"$(dirname "$0")/seeds.txt"
next=$((EPOCHSECONDS * 1000))
while [ "$SECONDS" -lt "$2" ]; do
	walk "$next" 10
	next=$((next + 10))
done
