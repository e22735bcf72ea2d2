#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# all-to-all.sh - many processes on one device, each of which communicates with all others: limits
# of their local wires and of the memory that stays at rest; a process with few descriptors uses
# UDP.
#
# usage: all-to-all.sh COUNT DESCRIPTORS
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
count=$1
export ROCIN_TIMEOUT_SCALE=10 # many processes share the processors
most=$(rocin run --netdev "lo:$addr_a" -- sh -c "ulimit -Sn $2 && ulimit -n") ||
	skip "no limit of $2 descriptors here"

# Starts rocind before, whose descriptors are not limited here.
rocin run --netdev "lo:$addr_a" -- sh -c 'ulimit -Sn "$1" && shift && exec timeout 1800 "$@"' - \
	"$2" "$ROCIN_TESTS/all_to_all" "$count" 20 >"$work/out" 2>&1
status=$?
tail -20 "$work/out"
[ "$status" = 0 ] || fail "all_to_all ended with status $status"
# The words are: descriptors, KiB of all wires, and KiB of wires at rest.
read -r files used resting < <(sed -n \
	's/.*at most \([0-9]*\) descr.*of all: \([0-9]*\) KiB, at rest \([0-9]*\) KiB.*/\1 \2 \3/p' "$work/out")
[ "$files" -le "$most" ] || fail "$files descriptors"
[ "$used" -gt 0 ] || fail 'nobody had a local wire'
# Each wire has two rings; each of them has a control page and at first 16 KiB.
[ "$used" -le $((count * (count - 1) / 2 * 40)) ] || fail "$used KiB of local wires"
[ "$resting" -le $((count * (count - 1) / 2 * 8)) ] || fail "$resting KiB at rest"
