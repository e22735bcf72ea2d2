#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# perftest.sh - the distribution's perftest between two processes.
#
# usage: perftest.sh PROGRAM   (ib_send_bw, ib_write_lat, ...)
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
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

# interrupt SIGNAL: SIGINT (Ctrl-C) and SIGTERM end both programs during a transfer
moving() { [ "$(counter rcvd_pkts)" -gt 1000 ]; }
interrupt() {
	local signal=$1 server client status pid
	next_port
	# SIGINT must be set to its default, because a shell starts background jobs with SIGINT
	# ignored.
	env --default-signal=INT rocin run --netdev "lo:$addr_a" -- \
		"$program" -x 0 -F -D 3600 -p "$port" >"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for listening "$server" || fail 'server does not listen'
	env --default-signal=INT rocin run --netdev "lo:$addr_b" -- \
		"$program" -x 0 -F -D 3600 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	client=$!
	pids+=("$client")
	wait_for moving || fail "no data moves: $(tail -3 "$work/client.out")"
	kill "-$signal" "$client" "$server"
	for pid in "$client" "$server"; do
		wait "$pid"
		status=$?
		[ "$status" -gt 128 ] || fail "SIG$signal: status $status"
	done
	echo "ok: SIG$signal ends both ends of $program"
}

# on_wire: runs each kind of connection, and checks the opcodes in its packets
read_wire='READ_REQUEST READ_RESPONSE_ONLY'
on_wire() { # CONNECTION OPCODES OPTION...
	local connection=$1 opcodes=$2
	shift 2
	wire=$(printf " ${connection}_%s" $opcodes) perf "$connection, on the wire" \
		-c "$connection" -n 100 "$@"
}
wire_of() { # the program's opcodes: messages of one packet, of several packets, and of unreliable services
	case $program in
	ib_send_*)
		on_wire RC 'SEND_ONLY ACK' -s 1024
		on_wire RC 'SEND_FIRST SEND_MIDDLE SEND_LAST ACK' -s 65536
		on_wire UC SEND_ONLY -s 1024
		on_wire UD SEND_ONLY -s 1024
		on_wire XRC 'SEND_ONLY ACK' -s 1024
		;;
	ib_write_*)
		on_wire RC "WRITE_ONLY ACK" -s 1024
		on_wire RC 'WRITE_FIRST WRITE_MIDDLE WRITE_LAST ACK' -s 65536
		on_wire UC WRITE_ONLY -s 1024
		;;
	ib_read_*)
		on_wire RC "$read_wire" -s 1024
		on_wire RC 'READ_REQUEST READ_RESPONSE_FIRST READ_RESPONSE_MIDDLE READ_RESPONSE_LAST' -s 65536
		;;
	ib_atomic_*)
		on_wire RC 'FETCH_ADD ATOMIC_ACK' -A FETCH_AND_ADD
		on_wire RC 'CMP_SWAP ATOMIC_ACK' -A CMP_AND_SWAP
		;;
	esac
}
wire_of

case $program in
ib_send_bw)
	for connection in RC XRC; do
		perf "$connection" -c "$connection" -s 2048 -n 2000
	done
	# UC and UD do not repeat lost messages. So the number of messages is not greater than the
	# number of receive WQEs: a server that gets no processor in time would lose the others, and
	# wait for them.
	for connection in UC UD; do
		perf "$connection" -c "$connection" -s 2048 -n 500
	done
	perf 'RC, SRQ' -c RC -s 2048 -n 2000 --use-srq -q 4
	perf 'UD, SRQ' -c UD -s 2048 -n 500 --use-srq
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
	wire="RC_READ_REQUEST RC_READ_RESPONSE_ONLY" perf '128 outstanding' -o 128 -s 1024 -n 2000
	ROCIN_FAULT=drop=1%,seed=9 perf '128 outstanding, 1 % lost' -o 128 -s 1024 -n 2000
	ROCIN_FAULT=drop=1%,seed=9 perf '128 outstanding both ways, 1 % lost' -o 128 -b -s 1024 -n 2000
	perf XRC -c XRC -n 1000
	perf 'all sizes' -a -n 20
	perf '16 QPs' -q 16 -n 100
	perf 'bidirectional' -b -n 500
	perf 'events' -e -n 500
	perf 'duration' -D 1
	;;
ib_atomic_bw)
	wire="RC_FETCH_ADD RC_ATOMIC_ACK" perf '128 outstanding' -o 128 -n 2000
	ROCIN_FAULT=drop=1%,seed=9 perf '128 outstanding both ways, 1 % lost' -o 128 -b -n 2000
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
