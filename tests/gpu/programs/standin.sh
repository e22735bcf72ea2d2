#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# standin.sh - the programs of this folder on the stand-ins of the CUDA libraries.
#
#   standin.sh PROGRAM	what it prints is PROGRAM.out
#   standin.sh late	which writes of a NIC a waiting stream sees
#
# PROGRAM.out is also what it prints on a real driver: README.md says on which one it did.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../e2e/kit/lib.sh
. "$here/../../e2e/kit/lib.sh"

# on_gpus ARGS...: with two simulated GPUs
on_gpus() {
	timeout 300 rocin run --gpu=2 --netdev "lo:$addr_a" "$@"
}

# stale KNOBS HOW: how many rounds were stale
stale() {
	on_gpus --pcie "$1" -- "$ROCIN_TESTS/cuda-late" "$2" >"$work/out" || fail "late $2 with $1: status $?"
	sed -n 's/.*: \([0-9]*\) of 100 rounds were stale/\1/p' "$work/out"
}

# expect WANTED KNOBS HOW
expect() {
	local found
	found=$(stale "$2" "$3")
	[ "$found" = "$1" ] || fail "late $3 with $2: $found rounds were stale, not $1"
}

late() {
	local held=driver=adversarial,hold=inf,hold.polls=inf
	# Nothing moves unless a rule moves it: each round is stale, or none.
	expect 0 strict none
	expect 100 "typical,gpu.ordering=none,$held" none
	expect 0 "typical,gpu.ordering=none,$held" flush
	expect 0 "typical,gpu.ordering=none,$held" wait
	expect 0 "typical,gpu.ordering=owner,$held" none
	expect 0 "typical,gpu.ordering=all,$held" none
	# The flush takes the way of the CPU, and the data another one.
	expect 100 "typical,rc.p2p=split,gpu.ordering=none,$held" flush
}

same_as_before() {
	on_gpus -- "$ROCIN_TESTS/cuda-$1" >"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		fail "$1: status $?"
	}
	diff "$here/$1.out" "$work/out" || fail "$1 prints something else than $1.out"
}

case $1 in
late) late ;;
*) same_as_before "$1" ;;
esac
