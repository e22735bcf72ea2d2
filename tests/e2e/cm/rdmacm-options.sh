#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm-options.sh - the options of librdmacm's programs: sizes, threads, ways to wait, types of
# service, many clients at a time.
#
# usage: rdmacm-options.sh lo|veth4|veth6 [long]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=$1
rounds=200 pings=1000 clients=6 connections=100
[ "${2:-}" != long ] || rounds=10000 pings=5000 clients=20 connections=1000
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"

ping_pong() { # NAME ADDRESS OF THE SERVER, OF THE SAME FOR THE CLIENT, OPTION...
	local name=$1 listens=$2 asks=$3
	shift 3
	play "$name" rping -s -a "$listens" -V "$@" -- rping -c -a "$asks" -V "$@"
}

ping_pong "$rounds times, data checked" "$server" "$server" -C "$rounds"
ping_pong 'as long as it can be' "$server" "$server" -C $((rounds / 10)) -S 65535
ping_pong 'on threads of their own' "$server" "$server" -C "$rounds" -q
if [ "$where" = veth6 ]; then
	ping_pong 'to any address of the server' :: "$server" -C 20
	local_b=$(ip -n "$b" -6 addr show dev vb scope link | sed -n 's/.*inet6 \(.*\)\/.*/\1/p')
	ping_pong 'link-local, with a scope' "$local_b%vb" "$local_b%va" -C 20
else
	ping_pong 'to any address of the server' 0.0.0.0 "$server" -C 20
fi

# A persistent server. It processes one request at a time and loses requests that come meanwhile, so
# each client begins when the one before has got its first answer.
start_server rping -s -P -a "$server"
started=()
for i in $(seq "$clients"); do
	touch "$work/client.$i"
	timeout "$limit" "${run_client[@]}" stdbuf -oL rping -c -a "$server" -C "$pings" -V -v \
		>"$work/client.$i" 2>&1 &
	started+=("$!")
	pids+=("$!")
	wait_for grep -q 'ping data' "$work/client.$i" ||
		fail "client $i of $clients: $(tail -3 "$work/client.$i")"
done
for i in $(seq "$clients"); do
	wait "${started[$((i - 1))]}"
	ended_well $? "$work/client.$i" && [ "$(grep -c '^ping data: ' "$work/client.$i")" = "$pings" ] ||
		fail "client $i of $clients: $(tail -3 "$work/client.$i")"
done
echo "ok: $clients clients at a time of one server"
kill -0 "$server_pid" || fail 'the server has ended'
stop_server

play "messages of 64 KiB" ucmatose -b "$server" -c 4 -C 20 -S 65536 -- \
	ucmatose -s "$server" -b "$client" -c 4 -C 20 -S 65536
play 'ids that move to another channel' ucmatose -b "$server" -c 10 -C 5 -m -t 16 -- \
	ucmatose -s "$server" -c 10 -C 5 -m -t 16
play 'datagrams with a type of service' udaddy -b "$server" -c 10 -C 10 -S 1000 -t 32 -- \
	udaddy -s "$server" -c 10 -C 10 -S 1000 -t 32
# The remaining tests do not depend on the address, so they run only between hosts (veth4), or with
# "long".
[ "$where" = veth4 ] || [ "${2:-}" = long ] || exit 0

# A server that may fork listens at a TCP socket, and connects once more from there.
next_port
tcp_play "$port" 'a stream, server forks' \
	rstream -b "$server" -p "$port" -T fork -S 60000 -I 5 -C 5 -- \
	rstream -s "$server" -p "$port" -T fork -S 60000 -I 5 -C 5
for how in blocking nonblocking resolve verify; do
	play "a stream, $how" rstream -b "$server" -T "$how" -S 60000 -I 5 -C 5 -- \
		rstream -s "$server" -T "$how" -S 60000 -I 5 -C 5
done
# Only the server polls. In the client, rpoll() returns POLLHUP together with the last data if the
# server has already finished, and the program treats that as an error.
play 'a stream, server polls' rstream -b "$server" -T async -S 60000 -I 5 -C 5 -- \
	rstream -s "$server" -S 60000 -I 5 -C 5
play 'a stream, little room' rstream -b "$server" -B 4096 -i 16 -S 20000 -I 5 -C 5 -- \
	rstream -s "$server" -B 4096 -i 16 -S 20000 -I 5 -C 5
play 'a mapped stream, verified' riostream -b "$server" -T verify -S 10000 -I 5 -C 5 -- \
	riostream -s "$server" -T verify -S 10000 -I 5 -C 5
if [ "${2:-}" = long ]; then
	play 'all sizes of a stream' rstream -b "$server" -S all -- rstream -s "$server" -S all
	# Each size takes 100 000 round trips of programs that poll memory, which takes minutes. So
	# only some sizes are tested.
	for size in 64 4096 65536 1048576; do
		play "a mapped stream, $size bytes" riostream -b "$server" -S "$size" -I 500 -C 2 -- \
			riostream -s "$server" -S "$size" -I 500 -C 2
	done
	start_server cmtime -b "$server"
	timeout "$limit" "${run_client[@]}" cmtime -s "$server" -c "$connections" \
		>"$work/client.out" 2>&1 || fail "cmtime: $(tail -5 "$work/client.out")"
	echo "ok: $connections connections at a time: $(grep '^connect ' "$work/client.out")"
	stop_server
fi

# The server of rcopy serves one file after the other, and listens on all addresses. Its client does
# not accept addresses with colons.
[ "$where" != veth6 ] || exit 0
head -c 1000000 /dev/urandom >"$work/file"
start_server rcopy
timeout "$limit" "${run_client[@]}" rcopy "$work/file" "$server:$work/copy" >"$work/client.out" 2>&1 ||
	fail "rcopy: $(tail -5 "$work/client.out")"
stop_server
cmp "$work/file" "$work/copy" || fail 'rcopy: the copy differs'
echo 'ok: a file, copied'
