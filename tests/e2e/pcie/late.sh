#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# late.sh - `--pcie adversarial' (hold=event): a program that looks too early sees old bytes each time, one
# that waits in a loop ends, and nothing is reported. That the bank goes wrong so shows visibility.late.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_NETDEVS=lo:$addr_a

# late KNOBS PROGRAM...: ends with 0, and prints nothing
late() {
	local knobs=$1
	shift
	timeout 120 rocin run "--pcie=$knobs" -- "$@" >"$work/out" 2>&1 ||
		fail "$knobs $*: status $?: $(cat "$work/out")"
	[ ! -s "$work/out" ] || fail "$knobs $* prints: $(cat "$work/out")"
}

# Fewer flags, and more of them, than loads are kept that may be those of a loop.
for count in 1 65 2000; do
	late adversarial "$ROCIN_TESTS/spinner" flags $count
done
late adversarial "$ROCIN_TESTS/spinner" shared
late adversarial "$ROCIN_TESTS/spinner" call
late adversarial "$ROCIN_TESTS/spinner" local
# On another machine, and for a time only.
late typical,hold=event "$ROCIN_TESTS/spinner" flags 65
late adversarial,hold=1ms "$ROCIN_TESTS/spinner" flags 65
# Choices that are recorded or repeated leave nothing to events.
late "adversarial,record=$work/choices" "$ROCIN_TESTS/spinner" flags 3
[ "$(grep -c . "$work/choices")" -gt 2 ] || fail "the record has no choices"

# Without `rocin run' nobody watches the program's system calls: data is late for a time.
rocin run --pcie=adversarial,hold=2ms -- env ROCIN_LOG=warn ROCIN_PCIE=adversarial "$ROCIN_TESTS/spinner" \
	flags 3 >"$work/out" 2>&1 || fail "without wrappers: $(cat "$work/out")"
grep -q 'data is late for 2 ms' "$work/out" || fail "nothing about wrappers: $(cat "$work/out")"
echo ok
