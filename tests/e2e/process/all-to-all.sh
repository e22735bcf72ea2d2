#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# all-to-all.sh - many processes on one device, all of which talk to all: what their local
# wires take, that they give it back, and that who has few descriptors goes by UDP.
#
# usage: all-to-all.sh COUNT DESCRIPTORS
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
count=$1
export ROCIN_TIMEOUT_SCALE=10 # so many share the processors
most=$(rocin run --netdev "lo:$addr_a" -- sh -c "ulimit -Sn $2 && ulimit -n") ||
	skip "no limit of $2 descriptors here"

# rocind first, whose descriptors are not limited here.
rocin run --netdev "lo:$addr_a" -- sh -c 'ulimit -Sn "$1" && shift && exec timeout 1800 "$@"' - \
	"$2" "$ROCIN_TESTS/all_to_all" "$count" 20 >"$work/out" 2>&1
status=$?
tail -20 "$work/out"
[ "$status" = 0 ] || fail "all_to_all ended with status $status"
# words: descriptors, KiB of the wires, and of those at rest
read -r files used resting < <(sed -n \
	's/.*at most \([0-9]*\) descr.*of all: \([0-9]*\) KiB, at rest \([0-9]*\) KiB.*/\1 \2 \3/p' "$work/out")
[ "$files" -le "$most" ] || fail "$files descriptors"
[ "$used" -gt 0 ] || fail 'nobody had a local wire'
# Each of the two rings of a wire: the control page, and 16 KiB at first.
[ "$used" -le $((count * (count - 1) / 2 * 40)) ] || fail "$used KiB of local wires"
[ "$resting" -le $((count * (count - 1) / 2 * 8)) ] || fail "$resting KiB at rest"
