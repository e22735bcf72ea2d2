#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# threads.sh - many threads on one device; with ThreadSanitizer if this is a build with it.
#
# usage: threads.sh [PCIE-KNOBS]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# Starts rocind before. Otherwise it would be started by clone(CLONE_VM), after which gcc's
# ThreadSanitizer believes that locks are held.
rocind --idle-ms=30000 || fail "rocind ended with status $?"
timeout 1800 rocin run --netdev "lo:$addr_a" ${1:+"--pcie=$1"} -- "$ROCIN_TESTS/threads" >"$work/out" 2>&1
status=$?
grep -h '^SUMMARY' "$work/out" | sort | uniq -c | sort -rn | head -20
head -200 "$work/out"
[ "$status" = 0 ] || fail "threads ended with status $status"
