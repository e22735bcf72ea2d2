#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# axioms.sh ROCIN quick|long|broken - the axioms and the explorer agree.
#
#	quick	on three files of the bank and a few tests that are drawn; an axiom that was broken
#		on purpose is noticed
#	long	on the bank, and on 10000 tests that are drawn, or as many as ten minutes allow
#	broken	each line of broken.txt is noticed
set -eu -o pipefail
here=$(dirname "$0") rocin=$1
bank=$here/../litmus
if ! command -v clingo >/dev/null; then
	echo "skipped: the axioms need clingo, of the Debian package gringo"
	exit 77
fi
compare=(python3 "$here/compare.py" --rocin "$rocin")
case $2 in
quick)
	"${compare[@]}" "$bank"/{05-atomics,13-waits,17-fetch}.litmus
	"${compare[@]}" --seed 1 --count 40
	# Each line of the file has to fit the axioms for that.
	"${compare[@]}" --broken "$here/broken.txt" --only 'an atomic takes no lock' --count 0 "$bank"/05-atomics.litmus |
		tee /dev/stderr | grep -q notices
	broken=$(mktemp)
	trap 'rm -f "$broken"' EXIT
	echo 'nothing is wrong :: #project value/2. :: #project value/2. ' >"$broken"
	if "${compare[@]}" --broken "$broken" --count 0 "$bank"/13-waits.litmus; then
		echo 'a model that is not broken is said to be noticed'
		exit 1
	fi
	;;
long)
	"${compare[@]}" "$bank"/*.litmus
	"${compare[@]}" --seed "${ROCIN_AXIOMS_SEED:-1}" --count 10000 --time 600
	;;
broken) "${compare[@]}" --broken "$here/broken.txt" --count 2000 "$bank"/*.litmus ;;
*) exit 64 ;;
esac
