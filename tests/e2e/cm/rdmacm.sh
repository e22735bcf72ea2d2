#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm.sh - programs that connect through librdmacm, between two processes on loopback
# addresses or between two network namespaces.
#
# usage: rdmacm.sh lo|veth4|veth6
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=$1
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"

wire='RC_SEND_ONLY RC_READ_REQUEST RC_READ_RESPONSE_ONLY RC_WRITE_ONLY RC_ACK' \
	play 'rping, data checked' rping -s -a "$server" -C 1000 -V -- \
	rping -c -a "$server" -C 1000 -V
play '100 connections, both directions' ucmatose -b "$server" -c 100 -C 10 -t 8 -- \
	ucmatose -s "$server" -c 100 -C 10 -t 8
wire=UD_SEND_ONLY_IMM play 'datagrams' udaddy -b "$server" -C 10 -- udaddy -s "$server" -C 10
wire='RC_WRITE_*_IMM RC_WRITE_* RC_ACK RC_SEND_*?' \
	play 'a stream, rsockets' rstream -b "$server" -S 10000 -I 20 -C 20 -- \
	rstream -s "$server" -S 10000 -I 20 -C 20
wire='RC_WRITE_* RC_ACK RC_SEND_*?' \
	play 'I/O mapping, rsockets' riostream -b "$server" -S 4096 -I 5 -C 50 -- \
	riostream -s "$server" -S 4096 -I 5 -C 50
if [ "$where" != veth6 ]; then
	next_port
	wire='RC_SEND_ONLY RC_ACK' play 'rdma_client' rdma_server -s "$server" -p "$port" -- \
		rdma_client -s "$server" -p "$port"
	wire='RC_SEND_ONLY RC_ACK' play 'a shared receive queue' rdma_xserver -c r -p "$port" -- \
		rdma_xclient -s "$server" -c r -p "$port"
	next_port
	wire='XRC_SEND_ONLY XRC_ACK' play 'extended reliable connected, XRC' rdma_xserver -c x -p "$port" -- \
		rdma_xclient -s "$server" -c x -p "$port"
	# The client connects for a second time without waiting until the server listens again, so
	# it is refused from time to time. Such a run is repeated.
	for attempt in 1 2 3; do
		next_port
		(wire='RC_WRITE_FIRST RC_WRITE_MIDDLE RC_WRITE_LAST RC_ACK RC_SEND_ONLY?' play perftest ib_write_bw -R -n 200 -p "$port" -- \
			ib_write_bw -R -n 200 -p "$port" "$server") && break
		[ "$attempt" != 3 ] || fail 'perftest'
	done
fi

# This server never ends by itself.
start_server cmtime -b "$server"
timeout "$limit" "${run_client[@]}" cmtime -s "$server" -c 100 >"$work/client.out" 2>&1 ||
	fail "cmtime: $(tail -5 "$work/client.out")"
echo "ok: 100 connections at a time: $(grep '^connect ' "$work/client.out")"
stop_server

group=239.79.0.1
[ "$where" != veth6 ] || group=ff1e::79:1
timeout "$limit" "${run_server[@]}" stdbuf -oL mckey -m "$group" -b "$server" \
	>"$work/server.out" 2>&1 &
pids+=("$!")
wait_for grep -q 'joined dgid' "$work/server.out" || fail 'mckey does not join'
timeout "$limit" "${run_client[@]}" mckey -m "$group" -s -b "$client" >"$work/client.out" 2>&1 ||
	fail "mckey: $(tail -5 "$work/client.out")"
wait_for grep -q 'return status 0' "$work/server.out" || fail 'mckey receives nothing'
echo 'ok: a multicast group'
