#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fault-same.sh - the same seed loses the same packets of the same program, though queue pair
# numbers and PSNs differ from run to run; another seed loses others.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# run NAME SEED: a ping-pong whose ends both have faults, captured
run() {
	local name=$1 pid
	export ROCIN_FAULT="drop=7%,seed=$2"
	next_port
	timeout "$limit" rocin run --netdev "lo:$addr_a" --pcap "$work/$name.a.pcapng" -- \
		ibv_rc_pingpong -g 0 -n 300 -s 1500 -p "$port" >"$work/a.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for listening "$pid" || fail 'server does not listen'
	timeout "$limit" rocin run --netdev "lo:$addr_b" --pcap "$work/$name.b.pcapng" -- \
		ibv_rc_pingpong -g 0 -n 300 -s 1500 -p "$port" 127.0.0.1 >"$work/b.out" 2>&1 ||
		fail "client: $(cat "$work/b.out")"
	wait "$pid" || fail "server: $(cat "$work/a.out")"
}
run one 9
run two 9
run other 10
unset ROCIN_FAULT

# Of the requests that an end sends for the first time, those that a rule met: their places.
for run in one two other; do
	for end in a b; do
		addr=$addr_a
		[ "$end" = a ] || addr=$addr_b
		rocin dump "$work/$run.$end.pcapng" | awk -v from="$addr" '
			/^ *#/ { if (is_new && /dropped on purpose by rule/) print place; next }
			{ is_new = $2 == from && /RC_SEND/ && !/again: /; place += is_new }
		' >"$work/$run.$end"
	done
	cat "$work/$run.a" "$work/$run.b" >"$work/$run"
done
# 600 packets of each end, 7 % of them: 84, and four deviations of 9.
count=$(wc -l <"$work/one")
[ "$count" -gt 48 ] && [ "$count" -lt 120 ] || fail "$count faults"
cmp "$work/one" "$work/two" || fail "the same seed: $(diff "$work/one" "$work/two" | head)"
! cmp -s "$work/one" "$work/other" || fail 'another seed loses the same'
for end in "$work"/*.pcapng; do
	rocin dump --check "$end" >"$work/out" || fail "$end: $(grep -B1 violation "$work/out")"
done
echo "ok: $count faults, the same in two runs"
