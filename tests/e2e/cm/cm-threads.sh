#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cm-threads.sh - threads and processes that share descriptors of rdma_cm; with ThreadSanitizer if
# this is a build with it.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# Starts rocind before, for the reason in threads.sh.
rocind --idle-ms=30000 || fail "rocind ended with status $?"
for seed in 1 2; do
	timeout 1800 rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_threads" "$addr_a" "$seed" 1500 >"$work/out" 2>&1
	status=$?
	head -100 "$work/out"
	[ "$status" = 0 ] || fail "seed $seed ended with status $status"
done
left=$(cm_counts channels ids ports)
[ "$left" = '0 0 0' ] || fail "left behind: $left"
