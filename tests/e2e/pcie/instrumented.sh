#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# instrumented.sh - programs that are built with AddressSanitizer, on a normal build of Rocin. For
# --sanitize and hold=event, Rocin closes pages of their memory, while the sanitizer's runtime has
# its own signal handlers, alternate stack and interceptors.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
unset ASAN_OPTIONS # set by tests of sanitized builds; users have not set it
export ROCIN_NETDEVS=lo:$addr_a

# ends STATUS OPTION PROGRAM...: the program must end with STATUS and without a report of
# AddressSanitizer
ends() {
	local expected=$1 option=$2 status
	shift 2
	timeout 300 rocin run "$option" -- "$@" >"$work/out" 2>&1
	status=$?
	[ "$status" = "$expected" ] || fail "$option $*: status $status, not $expected: $(cat "$work/out")"
	! grep -q Sanitizer "$work/out" || fail "$option $*: $(cat "$work/out")"
}

for option in --pcie=adversarial --sanitize=exitcode=0; do
	for words in 'flags 65' shared call; do
		# shellcheck disable=SC2086 # several words
		ends 0 "$option" "$ROCIN_TESTS/spinner_asan" $words
	done
done
# The registered memory shares its page with variables of the runtime.
ends 0 --pcie=adversarial,ack=placed "$ROCIN_TESTS/threads_asan"
# A report is written within a signal handler.
for name in page handler; do
	ends 66 --sanitize=all "$ROCIN_TESTS/hasty_asan" $name
	grep -q 'finding 1: source changed' "$work/out" || fail "$name: $(cat "$work/out")"
	grep -q '_asan' "$work/out" || fail "$name has no stack: $(cat "$work/out")"
done
ends 0 --sanitize=all "$ROCIN_TESTS/hasty_asan" polled
echo ok
