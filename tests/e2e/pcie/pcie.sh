#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pcie.sh - the distribution's programs and Rocin's own with the PCIe layer on, between two
# processes. They rely only on what verbs guarantee, so all of them work.
#
# usage: pcie.sh KNOBS pingpong|perftest|verify|failure|fetch
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
export ROCIN_PCIE=$1

# both NAME PROGRAM OPTION...: runs the program as server and as client
both() {
	local name=$1
	shift
	next_port
	pair "$ROCIN_PCIE: $name" "$@" -p "$port" -- "$@" -p "$port" 127.0.0.1
}

gone() { ! kill -0 "$1" 2>/dev/null; }
moving() { [ "$(counter rcvd_pkts)" -gt 200 ]; }

# fetching: true if a device under load has got doorbells, fetched WQEs, and used and read
# translations
fetching() {
	rocin stat --counters 2>/dev/null |
		awk '/^ *pcie_/ && $2 > 0 { seen[$1] = 1 } END { exit length(seen) < 4 }'
}

# write_on: runs ib_write_bw between $target and $requester until one of them is killed
write_on() {
	next_port
	rocin run --netdev "lo:$addr_a" -- ib_write_bw -x 0 -F -D 3600 -p "$port" \
		>"$work/server.out" 2>&1 &
	target=$!
	pids+=("$target")
	wait_for listening "$target" || fail 'server does not listen'
	rocin run --netdev "lo:$addr_b" -- ib_write_bw -x 0 -F -D 3600 -p "$port" 127.0.0.1 \
		>"$work/client.out" 2>&1 &
	requester=$!
	pids+=("$requester")
}

case $2 in
pingpong)
	for kind in rc uc ud srq xsrq; do
		both "ibv_${kind}_pingpong" "ibv_${kind}_pingpong" -g 0 -n 200
		both "ibv_${kind}_pingpong -e" "ibv_${kind}_pingpong" -g 0 -n 200 -e
	done
	both 'ibv_rc_pingpong -c' ibv_rc_pingpong -g 0 -n 100 -c
	;;
perftest)
	for program in write_bw read_bw send_bw atomic_bw write_lat read_lat send_lat atomic_lat; do
		both "ib_$program" "ib_$program" -x 0 -F -n 100
	done
	both 'ib_send_bw -e' ib_send_bw -x 0 -F -n 100 -e
	both 'ib_write_bw, 8 QPs, both ways' ib_write_bw -x 0 -F -n 20 -q 8 -b
	both 'ib_write_bw, 1 MiB' ib_write_bw -x 0 -F -n 5 -s 1048576
	;;
verify)
	# Each answer needs several threads one after the other, so on a busy machine a timeout of 4
	# ms is too short.
	for kind in rc uc ud; do
		options=(--type "$kind" --timeout 14)
		verify_pair "$ROCIN_PCIE: $kind" "${options[@]}" -n 300
		verify_pair "$ROCIN_PCIE: $kind, events" "${options[@]}" -n 200 --events
		ROCIN_FAULT=drop=1%,seed=3 verify_pair "$ROCIN_PCIE: $kind, 1 % loss" \
			"${options[@]}" -n 200 --lossy
	done
	verify_pair "$ROCIN_PCIE: rc, path MTU 4096" --type rc --timeout 14 -n 200 --mtu 4096 \
		--max 100000
	;;
failure)
	# A program unmaps its memory while the device writes to it, and other misuse.
	timeout "$limit" rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/misuse" ||
		fail misuse
	# This program reads what a WRITE has written after the completion of its own side.
	timeout "$limit" rocin run --pcie="$ROCIN_PCIE,ack=placed" --netdev "lo:$addr_a" -- \
		"$ROCIN_TESTS/lifecycle" || fail lifecycle
	write_on
	wait_for moving || fail "no data moves: $(tail -3 "$work/client.out")"
	kill -9 "$target"
	wait_for gone "$requester" || fail 'the client survives its peer'
	wait "$requester" && fail 'the client ended as if all were well'
	grep -q 'status 12\|Completion with error' "$work/client.out" ||
		fail "no error completion: $(tail -5 "$work/client.out")"
	echo "ok: $ROCIN_PCIE: kill -9 of the target under load"
	both 'a new pair right after' ib_send_bw -x 0 -F -n 100
	;;
fetch)
	# The device's own reads are counted, and nothing else changes.
	write_on
	wait_for fetching || fail "no fetches: $(rocin stat --counters | grep pcie_)"
	kill -9 "${pids[@]}"
	echo "ok: $ROCIN_PCIE: doorbells, WQEs and translations under load"
	verify_pair "$ROCIN_PCIE: rc" --type rc --timeout 14 -n 300
	verify_pair "$ROCIN_PCIE: ud, events" --type ud --timeout 14 -n 200 --events
	both 'ibv_rc_pingpong' ibv_rc_pingpong -g 0 -n 100
	both 'ibv_srq_pingpong' ibv_srq_pingpong -g 0 -n 100
	both 'ib_send_bw, inline' ib_send_bw -x 0 -F -n 100 -s 64 -I 64
	;;
*)
	fail "usage: $0 KNOBS pingpong|perftest|verify|failure|fetch"
	;;
esac
