#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# late.sh - `--pcie adversarial' (hold=event): a program that reads too early always sees old bytes,
# a program that waits in a loop ends, and nothing is reported. (visibility.late shows that the
# litmus tests fail with it.)
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_NETDEVS=lo:$addr_a

# late KNOBS PROGRAM...: the program must end with status 0, and print nothing
late() {
	local knobs=$1
	shift
	timeout 120 rocin run "--pcie=$knobs" -- "$@" >"$work/out" 2>&1 ||
		fail "$knobs $*: status $?: $(cat "$work/out")"
	[ ! -s "$work/out" ] || fail "$knobs $* prints: $(cat "$work/out")"
}

# The number of flags is less or greater than the number of loads that are stored as possible loads
# of a loop.
for count in 1 65 2000; do
	late adversarial "$ROCIN_TESTS/spinner" flags $count
done
late adversarial "$ROCIN_TESTS/spinner" shared
late adversarial "$ROCIN_TESTS/spinner" call
late adversarial "$ROCIN_TESTS/spinner" local
# With other machines, and with a limited delay.
late typical,hold=event "$ROCIN_TESTS/spinner" flags 65
late adversarial,hold=1ms "$ROCIN_TESTS/spinner" flags 65
# If choices are recorded or repeated, delays must not depend on events.
late "adversarial,record=$work/choices" "$ROCIN_TESTS/spinner" flags 3
[ "$(grep -c . "$work/choices")" -gt 2 ] || fail "the record has no choices"

# Without `rocin run', the program's system calls are not wrapped: data is delayed for a limited
# time.
rocin run --pcie=adversarial,hold=2ms -- env ROCIN_LOG=warn ROCIN_PCIE=adversarial "$ROCIN_TESTS/spinner" \
	flags 3 >"$work/out" 2>&1 || fail "without wrappers: $(cat "$work/out")"
grep -q 'data is late for 2 ms' "$work/out" || fail "nothing about wrappers: $(cat "$work/out")"
echo ok
