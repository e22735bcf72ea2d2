#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# failure.sh - one end dies or stops, or rocind dies: what the other end does.
#
# usage: failure.sh kill|stop|rocind
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# Without a keeper rocind has no successor, so programs notice its death.
export ROCIN_KEEPER=no

# start_transfer [OPTION...]: runs ib_write_bw until one end is killed; sets $server and $client
patience=()
start_transfer() {
	next_port
	setsid rocin run "${patience[@]}" --netdev "lo:$addr_a" -- ib_write_bw -x 0 -F -D 3600 -p "$port" "$@" \
		>"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for listening "$server" || fail 'server does not listen'
	setsid rocin run "${patience[@]}" --netdev "lo:$addr_b" -- ib_write_bw -x 0 -F -D 3600 -p "$port" "$@" 127.0.0.1 \
		>"$work/client.out" 2>&1 &
	client=$!
	pids+=("$client")
	wait_for moving || fail 'no data moves'
	[ "${ROCIN_LOCAL:-}" = off ] || wait_for by_wire || fail 'no local wire'
}
by_wire() { [ "$(sent local_sent_pkts)" -gt 100 ]; }

moving() { [ "$(sent)" -gt 1000 ]; }
sent() {
	rocin stat --json | python3 -c '
import json, sys
print(max([c["hw_counters"].get(sys.argv[1], 0) for c in json.load(sys.stdin)] or [0]))' "${1:-sent_pkts}"
}
timed_out() { rocin stat --counters | grep -q local_ack_timeout_err; }
more() { [ "$(sent)" -gt $((before + 1000)) ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# expect_error server|client: this end must end by itself, with an error completion
expect_error() {
	local pid=$client
	[ "$1" = client ] || pid=$server
	wait_for gone "$pid" || fail "the $1 still runs: $(tail -3 "$work/$1.out")"
	wait "$pid" && fail "the $1 ended as if all were well"
	grep -q 'status 12\|Completion with error' "$work/$1.out" ||
		fail "no error completion: $(tail -5 "$work/$1.out")"
}

case $1 in
kill)
	start_transfer
	kill -9 "$server"
	expect_error client
	echo 'ok: kill -9 of the target: the requester gets RETRY_EXC_ERR'
	start_transfer -b
	kill -9 "$client"
	expect_error server
	echo 'ok: kill -9 of the other end, both sending: the same'
	# The slot of the dead process is free again, and its address can be used at once.
	next_port
	pair 'a new pair right after' ib_send_bw -x 0 -F -n 500 -p "$port" -- \
		ib_send_bw -x 0 -F -n 500 -p "$port" 127.0.0.1
	;;
stop)
	# Over the local wire, the running end knows that the stopped one still exists, and waits.
	# It waits longer than all retries would take (two seconds).
	start_transfer -b
	for stopped in "$server" "$client"; do
		kill -STOP "$stopped"
		sleep 3
		kill -CONT "$stopped"
		before=$(sent)
		wait_for more || fail "it does not go on: $(tail -n 3 "$work"/*.out)"
		gone "$client" && fail "the client has ended: $(tail -3 "$work/client.out")"
		gone "$server" && fail "the server has ended: $(tail -3 "$work/server.out")"
	done
	echo 'ok: SIGSTOP of either end, by the local wire: the transfer goes on'
	kill -STOP "$server"
	kill -9 "$server"
	expect_error client
	echo 'ok: kill -9 of one that is stopped: the requester gets RETRY_EXC_ERR'

	export ROCIN_LOCAL=off
	start_transfer
	kill -STOP "$server"
	expect_error client
	kill -CONT "$server"
	kill -9 "$server"
	echo 'ok: SIGSTOP of the target: the requester gets RETRY_EXC_ERR'
	start_transfer -b
	kill -STOP "$client"
	expect_error server
	kill -CONT "$client"
	kill -9 "$client"
	echo 'ok: SIGSTOP of the other end, both sending: the same'

	# With this option, one timeout takes longer than all retries did before, so neither end
	# gives up.
	patience=(--timeout-scale=10)
	start_transfer
	kill -STOP "$server"
	begin=${EPOCHREALTIME//[!0-9]/} # in microseconds
	wait_for timed_out || fail "no timeout: $(rocin stat; tail -3 "$work"/*.out)"
	# At least eight times 268 ms, which is the timeout of ib_write_bw without the option.
	[ $((${EPOCHREALTIME//[!0-9]/} - begin)) -gt 2147000 ] || fail 'a timeout that was not stretched'
	kill -CONT "$server"
	before=$(sent)
	wait_for more || fail "the client does not go on: $(tail -3 "$work/client.out")"
	gone "$client" && fail "the client has ended: $(tail -3 "$work/client.out")"
	echo 'ok: SIGSTOP with --timeout-scale: the transfer goes on'
	;;
rocind)
	start_transfer
	daemon=$(daemon_pid)
	kill -9 "$daemon"
	wait_for gone "$client" || fail 'the client survives rocind'
	wait_for gone "$server" || kill "$server"
	echo 'ok: rocind killed: the programs are told'
	next_port
	pair 'new programs right after' ib_send_bw -x 0 -F -n 500 -p "$port" -- \
		ib_send_bw -x 0 -F -n 500 -p "$port" 127.0.0.1
	;;
esac
