#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC FILE... - each rule of the model matters: without it
# (broken/NAME.patch) the explorer disagrees with the bank. A patch that says
# "Expected: equal" must change nothing.
set -u
source=$1 cc=$2
shift 2 # what is left: files of sim/pcie that the model is made of
here=$source/tests/sim/litmus
# shellcheck source=../../kit/broken_lib.sh
. "$source/tests/kit/broken_lib.sh"
cp -r "$source/include" "$source/sim" .
cp "$here/check_bank.c" "$here/bank.h" .
flags="-std=gnu11 -O1 -UNDEBUG -D_GNU_SOURCE -I. -Iinclude"
parts=(check_bank.c sim/litmus/*.c "${@/#/sim/pcie/}")

# check: the bank with the objects that are there; "CHECKS MISMATCHES"
check() {
	# shellcheck disable=SC2086 # words
	$cc -o check_bank objects/*.o 2>>errors || return
	(ulimit -t 30 && exec ./check_bank "$here"/*.litmus) >out 2>>errors
	tail -1 out | grep -E '^[0-9]+ [0-9]+$' || echo '0 1'
}

verdict() {
	local name mismatches # of the first test that disagrees
	name=$(basename "$1" .patch)
	read -r _ mismatches <<<"$(check)"
	printf '%4s mismatches  %s\n' "$mismatches" "$name"
	if grep -q 'Expected: equal' "$1"; then
		[ "$mismatches" = 0 ] || { cat out && return 1; }
	elif [ "$mismatches" = 0 ]; then
		echo "$name: the bank does not notice"
		return 1
	fi
}

compile "${parts[@]}" && read -r checks mismatches <<<"$(check)"
if [ "${checks:-0}" = 0 ] || [ "${mismatches:-1}" != 0 ]; then
	echo 'the model as it is does not agree with the bank:'
	cat errors out
	exit 1
fi
echo "$checks checks without a mismatch"
each_broken "$here"/broken/*.patch
