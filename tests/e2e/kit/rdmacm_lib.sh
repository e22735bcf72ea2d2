# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm_lib.sh - a server and a client that connect through librdmacm, between two
# processes on loopback addresses or between two network namespaces; sourced after lib.sh,
# with $where set to lo, veth4 or veth6. Sets $server and $client, the addresses of the two.
# shellcheck shell=bash disable=SC2154

server=$addr_a
client=$addr_b
enter_server=()
if [ "$where" = lo ]; then
	run_client=(rocin run --netdev "lo:$addr_b" --)
	run_server=(rocin run --netdev "lo:$addr_a" --)
else
	two_hosts 79
	enter_server=("${in_b[@]}")
	run_client=("${in_a[@]}" rocin run --netdev va --)
	run_server=("${in_b[@]}" rocin run --netdev vb --)
	server=10.79.0.2 client=10.79.0.1
	[ "$where" = veth4 ] || server=fd79::2 client=fd79::1
fi

# Only rocind knows when a server listens, and says so in its log; unless the server waits
# at a socket of TCP first, whose port is $tcp_port then.
tcp_port=
export ROCIN_LOG=info:$work/log
touch "$work/log"
listens() {
	[ "$(grep -c 'listens for connections' "$work/log")" -gt "$before" ] ||
		{ [ -n "$tcp_port" ] &&
			[ -n "$("${enter_server[@]}" ss -ltnH "sport = :$tcp_port")" ]; } ||
		! kill -0 "$server_pid" 2>/dev/null
}
start_server() {
	before=$(grep -c 'listens for connections' "$work/log")
	timeout "$limit" "${run_server[@]}" "$@" >"$work/server.out" 2>&1 &
	server_pid=$!
	pids+=("$server_pid")
	wait_for listens || fail "$1 does not listen"
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
	record_wire timeout "$limit" "${run_client[@]}" "$@" >"$work/client.out" 2>&1
	status=$?
	! ended_well "$status" "$work/client.out" || status=0
	[ "$status" = 0 ] || end_now "$server_pid"
	wait "$server_pid"
	if ! ended_well $? "$work/server.out" || [ "$status" != 0 ]; then
		echo "--- server: ${command[*]}"
		tail -15 "$work/server.out"
		echo "--- client (status $status): $*"
		tail -15 "$work/client.out"
		fail "$name"
	fi
	judge_wire "$name"
	echo "ok: $name${wire:+, $wire}"
}

# tcp_play PORT NAME SERVER-COMMAND -- CLIENT-COMMAND: the same, of a server that waits
# there
tcp_play() {
	tcp_port=$1
	shift
	play "$@"
	tcp_port=
}

# stop_server: one that does not end by itself
stop_server() {
	end_now "$server_pid"
	wait "$server_pid" 2>/dev/null
}
