# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lib.sh - what the end-to-end tests share; sourced, with ROCIN_BIN set by CTest.
#
# Each test has its own runtime directory, its own rocind and its own addresses
# ($addr_a, $addr_b), so that tests run side by side. Everything started here is ended by
# its process id when the script ends, however it ends.
# shellcheck shell=bash

set -u
PATH=$ROCIN_BIN:$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
export ROCIN_RUNTIME_DIR=$work/run ROCIN_IDLE_MS=500
unset ROCIN_RECORD ROCIN_RECORD_LIMIT
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_CC ROCIN_GSO ROCIN_ICRC ROCIN_CREDITS \
	ROCIN_PCIE ROCIN_PCIE_DEVICE ROCIN_PCIE_TRAP ROCIN_SANITIZE

# Two addresses of 127.0.0.0/8 that no other test has: the process id is in them.
addr_a=127.$((100 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
addr_b=127.$((164 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
port=$((10000 + $$ % 20000))
pids=()

# A program instrumented for a sanitizer wants its runtime first in LD_PRELOAD.
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD

cleanup() {
	local pid
	for pid in "${pids[@]}"; do
		kill -9 "$pid" 2>/dev/null
	done
	LD_PRELOAD='' timeout 5 rocin stop >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "FAILED: $*"
	exit 1
}

skip() {
	echo "skipped: $*"
	exit 77
}

# next_port: another TCP port for the programs' own exchange that nobody listens on
next_port() {
	local i
	for i in $(seq 200); do
		port=$((port + 7919))
		[ "$port" -lt 60000 ] || port=$((port - 49000))
		[ -n "$(ss -ltnH "sport = :$port")" ] || return 0
	done
	fail 'no free TCP port'
}

# wait_for SECONDS COMMAND...: until it succeeds; false if it does not in time
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

listening() {
	[ -n "$(ss -ltnH "sport = :$port")" ] || ! kill -0 "$1" 2>/dev/null
}

# pair NAME SERVER-COMMAND -- CLIENT-COMMAND: run both ends; the server first, until it
# listens on $port. Both must end with status 0 within $limit seconds.
limit=60
server_dev='' client_dev=''
pair() {
	local name=$1 server_status client_status pid
	local -a server=() client
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	client=("$@")
	timeout "$limit" rocin run --netdev "${server_dev:-lo:$addr_a}" -- "${server[@]}" \
		>"$work/server.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for 20 listening "$pid" || fail "$name: server does not listen"
	timeout "$limit" rocin run --netdev "${client_dev:-lo:$addr_b}" -- "${client[@]}" \
		>"$work/client.out" 2>&1
	client_status=$?
	[ "$client_status" = 0 ] || sleep 0.2
	[ "$client_status" = 0 ] || kill "$pid" 2>/dev/null
	wait "$pid"
	server_status=$?
	if [ "$client_status" != 0 ] || [ "$server_status" != 0 ]; then
		echo "--- server (status $server_status): ${server[*]}"
		tail -15 "$work/server.out"
		echo "--- client (status $client_status): ${client[*]}"
		tail -15 "$work/client.out"
		rocin stat 2>/dev/null | head -60
		fail "$name"
	fi
	echo "ok: $name"
}

# verify_pair NAME OPTION...: the two ends of `verify`, which meet at a socket and check
# every byte. How each is started stands in run_a and run_b, what it said in $work/a.out
# and $work/b.out.
run_a=(rocin run --netdev "lo:$addr_b" --)
run_b=(rocin run --netdev "lo:$addr_a" --)
verify_pair() {
	local name=$1 pid status
	shift
	rm -f "$work/meet"
	timeout "$limit" "${run_b[@]}" "$ROCIN_TESTS/verify" --role b --socket "$work/meet" "$@" \
		>"$work/b.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	timeout "$limit" "${run_a[@]}" "$ROCIN_TESTS/verify" --role a --socket "$work/meet" "$@" \
		>"$work/a.out" 2>&1
	status=$?
	[ "$status" = 0 ] || kill "$pid" 2>/dev/null
	if ! wait "$pid" || [ "$status" != 0 ]; then
		tail -n 5 "$work/a.out" "$work/b.out"
		rocin stat
		fail "$name (status $status)"
	fi
	echo "ok: $name: $(tail -1 "$work/b.out")"
}
