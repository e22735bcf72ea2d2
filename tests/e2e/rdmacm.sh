#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm.sh - programs that connect through librdmacm, between two processes on loopback
# addresses or between two network namespaces.
#
# usage: rdmacm.sh lo|veth4|veth6
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
where=$1
server=$addr_a
if [ "$where" = lo ]; then
	run_client=(rocin run --netdev "lo:$addr_b" --)
	run_server=(rocin run --netdev "lo:$addr_a" --)
else
	two_hosts 79
	run_client=("${in_a[@]}" rocin run --netdev va --)
	run_server=("${in_b[@]}" rocin run --netdev vb --)
	server=10.79.0.2
	[ "$where" = veth4 ] || server=fd79::2
fi

# Only rocind knows when a server listens, and says so in its log.
export ROCIN_LOG=info:$work/log
touch "$work/log"
listens() {
	[ "$(grep -c 'listens for connections' "$work/log")" -gt "$before" ] ||
		! kill -0 "${pids[-1]}" 2>/dev/null
}
start_server() {
	before=$(grep -c 'listens for connections' "$work/log")
	timeout "$limit" "${run_server[@]}" "$@" >"$work/server.out" 2>&1 &
	pids+=("$!")
	wait_for 30 listens || fail "$1 does not listen"
}

# play NAME SERVER-COMMAND -- CLIENT-COMMAND: both must end well.
play() {
	local name=$1 status
	local -a command=()
	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	start_server "${command[@]}"
	timeout "$limit" "${run_client[@]}" "$@" >"$work/client.out" 2>&1
	status=$?
	[ "$status" = 0 ] || kill "${pids[-1]}" 2>/dev/null
	if ! wait "${pids[-1]}" || [ "$status" != 0 ]; then
		echo "--- server: ${command[*]}"
		tail -15 "$work/server.out"
		echo "--- client (status $status): $*"
		tail -15 "$work/client.out"
		fail "$name"
	fi
	echo "ok: $name"
}

play 'rping, data checked' rping -s -a "$server" -C 1000 -V -- \
	rping -c -a "$server" -C 1000 -V
play '100 connections, both directions' ucmatose -b "$server" -c 100 -C 10 -t 8 -- \
	ucmatose -s "$server" -c 100 -C 10 -t 8
play 'datagrams' udaddy -b "$server" -C 10 -- udaddy -s "$server" -C 10
play 'a stream, rsockets' rstream -b "$server" -S 10000 -I 20 -C 20 -- \
	rstream -s "$server" -S 10000 -I 20 -C 20
play 'I/O mapping, rsockets' riostream -b "$server" -S 4096 -I 5 -C 50 -- \
	riostream -s "$server" -S 4096 -I 5 -C 50
if [ "$where" != veth6 ]; then
	next_port
	play 'rdma_client' rdma_server -s "$server" -p "$port" -- \
		rdma_client -s "$server" -p "$port"
	play 'a shared receive queue' rdma_xserver -c r -p "$port" -- \
		rdma_xclient -s "$server" -c r -p "$port"
	# Its client connects for a second time without asking whether the server listens
	# again, and is refused now and then.
	for attempt in 1 2 3; do
		next_port
		(play perftest ib_write_bw -R -n 200 -p "$port" -- \
			ib_write_bw -R -n 200 -p "$port" "$server") && break
		[ "$attempt" != 3 ] || fail 'perftest'
	done
fi

# A server that never ends by itself.
start_server cmtime -b "$server"
timeout "$limit" "${run_client[@]}" cmtime -s "$server" -c 100 >"$work/client.out" 2>&1 ||
	fail "cmtime: $(tail -5 "$work/client.out")"
echo "ok: 100 connections at a time: $(grep '^connect ' "$work/client.out")"
kill -9 "${pids[-1]}"
wait "${pids[-1]}" 2>/dev/null

group=239.79.0.1
[ "$where" != veth6 ] || group=ff1e::79:1
timeout "$limit" "${run_server[@]}" stdbuf -oL mckey -m "$group" -b "$server" \
	>"$work/server.out" 2>&1 &
pids+=("$!")
wait_for 20 grep -q 'joined dgid' "$work/server.out" || fail 'mckey does not join'
client=$addr_b
[ "$where" != veth4 ] || client=10.79.0.1
[ "$where" != veth6 ] || client=fd79::1
timeout "$limit" "${run_client[@]}" mckey -m "$group" -s -b "$client" >"$work/client.out" 2>&1 ||
	fail "mckey: $(tail -5 "$work/client.out")"
wait_for 20 grep -q 'return status 0' "$work/server.out" || fail 'mckey receives nothing'
echo 'ok: a multicast group'
