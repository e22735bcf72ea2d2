#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd.sh - many processes with many queue pairs in total use one device at the same time: the
# memory and the descriptors that rocind and each process need.
#
# usage: crowd.sh PROCESSES QPS	QPS of each process
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=growth_lib.sh
. "$(dirname "$0")/growth_lib.sh"
processes=$1 qps=$2

# A program that runs until the end, so that rocind does not end.
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/first" "$work/last" 2 &
first=$!
pids+=("$first")
wait_for [ -e "$work/first" ] || fail 'not even one'
daemon=$(daemon_pid)
before=$(descriptors "$daemon")

mkdir "$work/ready"
# shellcheck disable=SC2016 # expanded within
rocin run --netdev "lo:$addr_a" -- sh -c '
	for i in $(seq "$1"); do
		"$2" "$3/ready/$i" "$3/done" "$4" & pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || failed=1; done
	exit ${failed:-0}' sh "$processes" "$ROCIN_TESTS/hold_qp" "$work" "$qps" >"$work/out" 2>&1 &
all=$!
pids+=("$all")
ready() { [ "$(find "$work/ready" -type f | wc -l)" -ge "$processes" ] || ! kill -0 "$all" 2>/dev/null; }
SECONDS=0
wait_for ready && kill -0 "$all" || fail "only $(find "$work/ready" -type f | wc -l) are ready: $(tail -5 "$work/out")"
one=$(pgrep -f "^$ROCIN_TESTS/hold_qp $work/ready/1 ")
echo "$processes processes with $qps queue pairs each, ready after $SECONDS s: rocind takes" \
	"$(kilobytes "$daemon") KiB and $(descriptors "$daemon") descriptors, one of them" \
	"$(kilobytes "$one") KiB and $(descriptors "$one")"
# For each process, rocind needs sockets (one per address), memory for counters, and the connection:
# at most ten descriptors and 64 KiB.
[ "$(descriptors "$daemon")" -le $((10 * processes + 64)) ] || fail 'too many descriptors of rocind'
[ "$(kilobytes "$daemon")" -le $((64 * processes + 65536)) ] || fail 'too much memory of rocind'
# According to ARCHITECTURE.md a queue pair takes 2 KiB, and 64 bytes for each of its WQEs, of which
# it has 8 here; the rest is for the process itself.
[ "$(kilobytes "$one")" -le $((qps * 5 / 2 + 32768)) ] || fail 'too much memory of a process'
touch "$work/done"
wait "$all" || fail "a process failed: $(tail -5 "$work/out")"
# rocind keeps one group of sockets for each process of the time when most processes ran.
as_before() { [ "$(descriptors "$daemon")" -le $((before + processes + 4)) ]; }
wait_for as_before || fail "rocind had $before descriptors and keeps $(descriptors "$daemon")"
touch "$work/last"
wait "$first" || fail 'the first one'
echo "ok: all of them sent a message and went, and rocind keeps $(kilobytes "$daemon") KiB"
