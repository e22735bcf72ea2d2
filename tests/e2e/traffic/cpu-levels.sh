#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cpu-levels.sh - with each level of vector instructions that this processor supports, the same data
# arrives by rings and by UDP, with and without loss. Other levels are refused.
#
# usage: cpu-levels.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# said_by_doctor LEVEL: prints the line of rocin doctor about vector instructions
said_by_doctor() {
	ROCIN_CPU=$1 rocin doctor --netdev "lo:$addr_a" | grep 'vector instructions'
}

best=$(said_by_doctor auto | sed -n 's/.*: level \([a-z0-9]*\).*/\1/p')
[ -n "$best" ] || fail "rocin doctor does not say the level: $(said_by_doctor auto)"
known=
for level in scalar avx2 avx512; do
	if [ "$known" = all ]; then
		# If the device used instructions that the processor lacks, the program would crash.
		if ROCIN_CPU=$level rocin run -- ibv_devinfo >"$work/refused" 2>&1; then
			fail "ROCIN_CPU=$level is taken by a processor of $best"
		fi
		grep -q "ROCIN_CPU is $level, which this processor does not have" "$work/refused" ||
			fail "no reason why $level is refused: $(cat "$work/refused")"
		continue
	fi
	[ "$level" != "$best" ] || known=all
	export ROCIN_CPU=$level
	said_by_doctor "$level" | grep -q "level $level" || fail "level $level is not obeyed"
	verify_pair "$level, by rings" --type rc -n 500 --max 100000
	ROCIN_LOCAL=off verify_pair "$level, by UDP" --type rc -n 500 --max 100000
	ROCIN_FAULT=drop=1%,corrupt=1%,seed=3 verify_pair "$level, 1 % loss" --type rc -n 200 --lossy
	ROCIN_LOCAL=off verify_pair "$level, UD" --type ud -n 200
done
[ "$known" = all ] || fail "no level is called $best"
