#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live.sh RUNS PERCENT [OPTION...] FILE...: litmus tests on the provider itself: no state that
# is forbidden, and of those that are allowed most are seen.
#
# How often a state is seen depends on what else the machine does: two threads that share a
# processor seldom get in between each other. So PERCENT is 0 in the quick check, where only
# what is forbidden counts. RUNS is where it begins; as long as some tests have not been run,
# or too little has been seen, as many are added.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
runs=$1 percent=$2 rounds=15
shift 2

for round in $(seq $rounds); do
	rocin litmus --backend=live --json "--runs=$((runs * round))" "--state=$work/state" "$@" \
		>"$work/report"
	status=$?
	# 1 is the judgement that check_live makes with the list at hand.
	[ $status -le 1 ] || fail "rocin litmus $* ended with $status"
	"$ROCIN_TESTS/check_live" "$work/report" "$here/not-observed.txt" "$percent" >"$work/judgement"
	status=$?
	cat "$work/judgement"
	[ $status = 3 ] || exit $status
done
fail "$(tail -1 "$work/judgement") in $((runs * rounds)) runs"
