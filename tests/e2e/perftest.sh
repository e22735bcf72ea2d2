#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# perftest.sh - the distribution's perftest between two processes.
#
# usage: perftest.sh PROGRAM   (ib_send_bw, ib_write_lat, ...)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
program=$1

# perf NAME OPTION...
perf() {
	local name=$1
	shift
	next_port
	pair "$program $name" "$program" -x 0 -F -p "$port" "$@" -- \
		"$program" -x 0 -F -p "$port" "$@" 127.0.0.1
	grep -qE '^ *[0-9]+ +[0-9]+ ' "$work/client.out" || fail "$name: no result printed"
}

# interrupt SIGNAL: Ctrl-C and kill end both ends in the middle of a transfer
moving() { [ "$(rocin stat --counters 2>/dev/null | awk '$1 == "rcvd_pkts" { n += $2 } END { print n + 0 }')" -gt 1000 ]; }
interrupt() {
	local signal=$1 server client status pid
	next_port
	# A shell starts background jobs with SIGINT ignored.
	env --default-signal=INT rocin run --netdev "lo:$addr_a" -- \
		"$program" -x 0 -F -D 60 -p "$port" >"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for 20 listening "$server" || fail 'server does not listen'
	env --default-signal=INT rocin run --netdev "lo:$addr_b" -- \
		"$program" -x 0 -F -D 60 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	client=$!
	pids+=("$client")
	wait_for 20 moving || fail "no data moves: $(tail -3 "$work/client.out")"
	kill "-$signal" "$client" "$server"
	for pid in "$client" "$server"; do
		wait "$pid"
		status=$?
		[ "$status" -gt 128 ] || fail "SIG$signal: status $status"
	done
	echo "ok: SIG$signal ends both ends of $program"
}

case $program in
ib_send_bw)
	for connection in RC UC UD XRC; do
		perf "$connection" -c "$connection" -s 2048 -n 2000
	done
	for connection in RC UD; do
		perf "$connection, SRQ" -c "$connection" -s 2048 -n 2000 --use-srq -q 4
	done
	perf 'all sizes' -a -n 20
	perf '16 QPs' -q 16 -s 4096 -n 500
	perf 'bidirectional' -b -s 65536 -n 500
	perf 'events' -e -s 4096 -n 1000
	perf 'duration' -D 1 -s 4096
	interrupt INT
	interrupt TERM
	;;
ib_write_bw)
	for connection in RC UC XRC; do
		perf "$connection" -c "$connection" -n 1000
	done
	perf 'all sizes' -a -n 20
	perf '16 QPs' -q 16 -n 200
	perf 'bidirectional' -b -n 500
	perf 'duration' -D 1
	;;
ib_read_bw)
	perf RC -n 1000
	perf XRC -c XRC -n 1000
	perf 'all sizes' -a -n 20
	perf '16 QPs' -q 16 -n 100
	perf 'bidirectional' -b -n 500
	perf 'events' -e -n 500
	perf 'duration' -D 1
	;;
ib_atomic_bw)
	perf 'fetch and add' -A FETCH_AND_ADD -n 2000
	perf 'compare and swap' -A CMP_AND_SWAP -n 2000
	perf XRC -c XRC -n 1000
	perf '16 QPs' -q 16 -n 200
	perf 'bidirectional' -b -n 1000
	perf 'events' -e -n 1000
	perf 'duration' -D 1
	;;
ib_send_lat)
	for connection in RC UC UD XRC; do
		perf "$connection" -c "$connection" -n 200
	done
	perf 'all sizes' -a -n 20
	perf 'events' -e -n 200
	perf 'duration' -D 1
	;;
ib_write_lat)
	for connection in RC UC; do
		perf "$connection" -c "$connection" -n 200
	done
	perf 'all sizes' -a -n 20
	perf 'duration' -D 1
	;;
ib_read_lat)
	perf RC -n 200
	perf 'all sizes' -a -n 20
	perf 'events' -e -n 200
	perf 'duration' -D 1
	;;
ib_atomic_lat)
	perf 'fetch and add' -A FETCH_AND_ADD -n 200
	perf 'compare and swap' -A CMP_AND_SWAP -n 200
	perf 'events' -e -n 200
	perf 'duration' -D 1
	;;
*)
	fail "no such program: $program"
	;;
esac
