#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live.sh RUNS PERCENT [--within=SECONDS] [OPTION...] FILE...: litmus tests on the provider itself: no state
# that is forbidden, and of those that are allowed most are seen.
#
# How often a state is seen depends on what else the machine does: two threads that share a processor seldom
# get in between each other. So PERCENT is 0 in the quick check, where only what is forbidden counts, and where
# each verdict gets its RUNS however long they take. Where too little has been seen, as many are added.
#
# With --within, what has been run by then counts; runs are added only when every verdict has had as many. The
# files are taken in an order that the day decides, or ROCIN_LITMUS_SEED, so that what a slow machine does not
# come to is another part each day.
# shellcheck source=../../../e2e/kit/lib.sh
. "$(dirname "$0")/../../../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
runs=$1 percent=$2 rounds=15 more=$1 within=
shift 2
if [[ $1 = --within=* ]]; then
	within=${1#--within=}
	shift
	seed=${ROCIN_LITMUS_SEED:-$(date +%j)}
	mapfile -t files < <(find "${!#}" -name '*.litmus' | sort | shuf --random-source=<(yes "$seed"))
	set -- "${@:1:$#-1}" "${files[@]}"
	echo "seed $seed, ${#files[@]} files"
fi

for _ in $(seq $rounds); do
	left=$((within - SECONDS))
	rocin litmus --backend=live --json "--runs=$runs" "--state=$work/state" \
		${within:+--budget=$((left > 0 ? left : 1))} "$@" >"$work/report"
	status=$?
	# 1 is the judgement that check_live makes with the list at hand.
	[ $status -le 1 ] || fail "rocin litmus $* ended with $status"
	"$ROCIN_TESTS/check_live" "$work/report" "$here/not-observed.txt" "$percent" >"$work/judgement"
	status=$?
	cat "$work/judgement"
	case $status in
	3) runs=$((runs + more)) ;;
	4) [ -z "$within" ] || [ "$SECONDS" -lt "$within" ] || exit 0 ;;
	*) exit $status ;;
	esac
	[ -z "$within" ] || [ "$SECONDS" -lt "$within" ] || break
done
fail "$(tail -1 "$work/judgement") in $((runs - more)) runs"
