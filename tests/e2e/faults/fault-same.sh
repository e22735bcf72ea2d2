#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fault-same.sh - equal seeds lose the same packets of a program, although queue pair numbers and
# PSNs differ from run to run; another seed loses other packets.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# run NAME SEED: captures a ping-pong in which both ends have faults
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

# Prints the positions of the requests that a rule has hit, among the requests that an end sends for
# the first time.
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
# Each end sends 600 packets, 7 % of which are 42, so 84 are expected. The limits are four standard
# deviations (of 9) away.
count=$(wc -l <"$work/one")
[ "$count" -gt 48 ] && [ "$count" -lt 120 ] || fail "$count faults"
cmp "$work/one" "$work/two" || fail "the same seed: $(diff "$work/one" "$work/two" | head)"
! cmp -s "$work/one" "$work/other" || fail 'another seed loses the same'
for end in "$work"/*.pcapng; do
	rocin dump --check "$end" >"$work/out" || fail "$end: $(grep -B1 violation "$work/out")"
done
echo "ok: $count faults, the same in two runs"
