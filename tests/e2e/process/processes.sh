#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# processes.sh - many processes on one device: all open it and exchange messages, half of them are
# killed, and as many new ones start.
#
# usage: processes.sh COUNT	254: and one more than a device has room for
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

timeout 1800 rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/processes" "$1" >"$work/out" 2>&1
status=$?
tail -20 "$work/out"
[ "$status" = 0 ] || fail "processes ended with status $status"
[ "$1" -lt 254 ] || grep -q '255 processes' "$work/out" ||
	fail 'no word of how many processes a device serves'
# rocind must not keep records of processes that have ended.
gone() { ! rocin stat 2>/dev/null | grep -q 'processes '; }
wait_for gone || fail "rocind still knows of some: $(rocin stat)"
