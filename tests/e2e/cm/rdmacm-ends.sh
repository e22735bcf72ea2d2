#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm-ends.sh - how connections made by librdmacm end if rocind dies, the server dies, the client
# dies, or one of the programs is stopped for a while.
#
# usage: rdmacm-ends.sh rocind|server|client
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# Without a keeper rocind has no successor, so programs notice its death.
export ROCIN_KEEPER=no
service=7175
many=100
gone() { ! kill -0 "$1" 2>/dev/null; }

# start NAME ADDRESS COMMAND...: starts the command in the background, with its output in
# $work/NAME; sets $pid to its process id
start() {
	local name=$1 address=$2
	shift 2
	: >"$work/$name"
	setsid rocin run --netdev "lo:$address" -- stdbuf -oL "$@" <"$work/go" >"$work/$name" 2>&1 &
	pid=$!
	pids+=("$pid")
}
said() { grep -q "$2" "$work/$1"; }
await() { wait_for said "$1" "$2" || fail "$1: no \"$2\": $(tail -3 "$work/$1")"; }

# ends NAME PID STATUS: fails unless the process ends by itself with this status
ends() {
	local status
	wait_for gone "$2" || fail "$1 still runs: $(tail -3 "$work/$1")"
	wait "$2"
	status=$?
	[ "$status" = "$3" ] || fail "$1 ends with status $status: $(tail -3 "$work/$1")"
	echo "ok: $1 ends: $(tail -1 "$work/$1")"
}

counts() { cm_counts channels ids ports; }
counts_are() { [ "$(counts)" = "$1" ]; }
# busy: true while connections are being made
busy() {
	local ids
	ids=$(cm_counts ids)
	[ "$ids" -gt 8 ]
}

# Keeps the standard input of cm_many open, because cm_many serves until its end of file.
mkfifo "$work/go"
exec 3<>"$work/go"

serve() {
	start "$1" "$addr_a" "$ROCIN_TESTS/cm_many" serve "$addr_a" "$service"
	server=$pid
	await "$1" listening
}
hold() {
	start "$1" "$addr_b" "$ROCIN_TESTS/cm_many" hold "$addr_a" "$service" "$many"
	client=$pid
	await "$1" "held $many"
}

case ${1:-} in
rocind)
	serve many-server
	hold many
	start rping-server "$addr_a" rping -s -v -a "$addr_a"
	rping_server=$pid
	start ucmatose "$addr_a" ucmatose -b "$addr_a" -p 7472
	ucmatose=$pid
	start mckey "$addr_a" mckey -m 239.82.0.1 -b "$addr_a"
	mckey=$pid
	await mckey 'joined dgid'
	# Three listeners, both ends of $many connections, and one id in a multicast group
	wait_for counts_are "5 $((2 * many + 4)) $((many + 4))" || fail "$(counts)"
	start rping "$addr_b" rping -c -v -a "$addr_a"
	rping=$pid
	await rping 'ping data'
	kill -9 "$(daemon_pid)"
	ends rping "$rping" 255
	ends rping-server "$rping_server" 255
	said rping-server 'device removal' || fail 'rping does not hear of the device'
	ends ucmatose "$ucmatose" 22
	ends mckey "$mckey" 0
	ends many "$client" 0
	said many "told 0 disconnected, $many removed, $many flushed" || fail "$(cat "$work/many")"
	# After the death of rocind, the descriptor of the program stays readable, and it can
	# destroy all of its objects.
	serve second-server
	hold second
	echo 'ok: a new rocind serves new programs'
	kill -9 "$server" "$client"
	;;
server)
	serve server
	hold many
	kill -9 "$server"
	wait "$server" 2>/dev/null
	serve again
	echo 'ok: the port of a dead server is free at once'
	ends many "$client" 0
	said many "told $many disconnected, 0 removed, $many flushed" || fail "$(cat "$work/many")"
	# One id: the new listener
	wait_for counts_are '1 1 1' || fail "left behind: $(counts)"
	start stopped "$addr_b" "$ROCIN_TESTS/cm_many" storm "$addr_a" "$service" 0.5 8
	client=$pid
	kill -STOP "$server"
	# While the server is stopped, requests wait and are sent again; later they are answered.
	sleep 0.3
	kill -CONT "$server"
	ends stopped "$client" 0
	;;
client)
	serve server
	hold many
	kill -9 "$client"
	wait_for counts_are '1 1 1' || fail "left behind: $(counts)"
	echo "ok: a client dies, its $many connections go"
	# Kills the client while it makes connections
	for round in 1 2 3; do
		start "storm-$round" "$addr_b" "$ROCIN_TESTS/cm_many" storm "$addr_a" "$service" 60 32
		wait_for busy || fail "nothing happens: $(counts)"
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
		wait_for counts_are '1 1 1' || fail "round $round: left behind: $(counts)"
	done
	echo 'ok: clients die in the middle of handshakes'
	start stopped "$addr_b" "$ROCIN_TESTS/cm_many" storm "$addr_a" "$service" 5 16
	client=$pid
	wait_for busy || fail "nothing happens: $(counts)"
	kill -STOP "$client"
	sleep 0.3
	kill -CONT "$client"
	ends stopped "$client" 0
	echo >&3
	ends server "$server" 0
	said server ' 0 alive' || fail "$(cat "$work/server")"
	;;
*)
	fail "no such part: ${1:-}"
	;;
esac
