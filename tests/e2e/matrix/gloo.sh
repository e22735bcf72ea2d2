#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gloo.sh - Gloo, the collective operations that machine learning uses, by its ibverbs transport.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
[ -e /usr/include/gloo/transport/ibverbs/device.h ] || skip 'libgloo-dev is not installed'
g++ -O1 -w -o "$work/gloo_data" "$(dirname "$0")/gloo_data.cc" -lgloo -libverbs -lpthread ||
	fail 'gloo_data does not compile'
mkdir "$work/meet"
timeout "$limit" rocin run --netdev "lo:$addr_a" -- "$work/gloo_data" 0 "$work/meet" rocin0 >"$work/a.out" 2>&1 &
first=$!
pids+=("$first")
timeout "$limit" rocin run --netdev "lo:$addr_b" -- "$work/gloo_data" 1 "$work/meet" rocin0 >"$work/b.out" 2>&1
status=$?
[ "$status" = 0 ] || end_now "$first"
wait "$first" || status=$?
[ "$status" = 0 ] || fail "gloo: $(tail -n 5 "$work/a.out" "$work/b.out")"
echo "ok: gloo: $(cat "$work/b.out")"
