# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lib.sh - what the end-to-end tests share; sourced, with ROCIN_BIN set by CTest.
#
# Each test has its own runtime directory, its own rocind and its own addresses
# ($addr_a, $addr_b), so that tests run side by side. Everything started here is ended by
# its process id when the script ends, however it ends.
#
# A test that says network=own before it comes here runs in a network namespace of its own,
# with nothing but a loopback interface, if such a thing can be had: $own_network. One whose
# programs have a /dev/shm of their own says memory=own: they would not find what is in ours.
# shellcheck shell=bash

set -u
# shellcheck source=../../kit/verdict.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../kit/verdict.sh"
own_network=${ROCIN_OWN_NETWORK:-}
if [ "${network:-}" = own ] && [ -z "$own_network" ]; then
	for how in -n -rn; do
		unshare "$how" true 2>/dev/null && exec env ROCIN_OWN_NETWORK=1 unshare "$how" "$0" "$@"
	done
fi
[ -z "$own_network" ] || ip link set lo up
unset ROCIN_OWN_NETWORK
PATH=$ROCIN_BIN:$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
# In memory, as XDG_RUNTIME_DIR is: each `rocin run` writes some hundred files there.
runtime=$work
[ "${memory:-}" = own ] || runtime=$(mktemp -d -p /dev/shm 2>/dev/null) || runtime=$work
export ROCIN_RUNTIME_DIR=$runtime/run ROCIN_IDLE_MS=500
unset ROCIN_RECORD ROCIN_RECORD_LIMIT
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_CC ROCIN_LOCAL ROCIN_GSO ROCIN_ICRC ROCIN_CREDITS \
	ROCIN_PIN ROCIN_PCIE ROCIN_PCIE_DEVICE ROCIN_PCIE_TRAP ROCIN_SANITIZE

[ -z "${ROCIN_TEST_UDP:-}" ] || export ROCIN_LOCAL=off
# The same test with faults on all of its devices, for who asks how a program takes them.
[ -z "${ROCIN_TEST_FAULT:-}" ] || export ROCIN_FAULT=$ROCIN_TEST_FAULT

# Two addresses of 127.0.0.0/8 that no other test has: the process id is in them.
addr_a=127.$((100 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
addr_b=127.$((164 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
port=$((10000 + $$ % 20000))
# Who is to be stopped is started by setsid: when a process ends and one of a group that has no
# shell above it is stopped, the kernel sends SIGHUP to that group, which is ctest's.
pids=() namespaces=()

# A program instrumented for a sanitizer wants its runtime first in LD_PRELOAD.
# What programs have lost of Rocin's memory at their end is written down (kit/leaks.c).
if [ -n "${ROCIN_TEST_PRELOAD:-}" ]; then
	mkdir -p "$work/leaks"
	export LD_PRELOAD=$ROCIN_TEST_PRELOAD ROCIN_TEST_LEAKS=$work/leaks
fi

# pgrep looks at processes in the way of a shell: it is not under test, and the runtime of
# a sanitizer in it once hung in textdomain().
pgrep() { LD_PRELOAD='' command pgrep "$@"; }

# Nor is a snippet of Python that reads what programs said: with that runtime in it, it takes twice
# the time to start, and what waits asks it again and again. A script in a file may start programs
# that want the runtime. One in the background is to be `command python3': $! is its own then.
python3() {
	case $1 in
	-c | -) LD_PRELOAD='' command python3 "$@" ;;
	*) command python3 "$@" ;;
	esac
}

# quick_perftest: perftest, from now on, is quick to find out how fast the processor is
quick_perftest() {
	export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$ROCIN_TESTS/quick_clock.so
}

# descendants PID...: these and all that they started, and those, as far as their parents live
descendants() {
	LD_PRELOAD='' ps -e -o pid=,ppid= | LD_PRELOAD='' awk -v first="$*" '
		{ parent[$1] = $2 }
		END {
			split(first, pids, " ")
			for (i in pids) want[pids[i]]
			do {
				more = 0
				for (pid in parent)
					if (!(pid in want) && parent[pid] in want) { want[pid]; more = 1 }
			} while (more)
			for (pid in want) print pid
		}'
}

# end_now PID...: with what each has started: timeout(1) and a shell would leave theirs behind
#
# SIGTERM would not do: timeout(1) sends SIGCONT behind it, and if the program looks for leaks at
# that moment, its tracer waits for ever for a thread that SIGCONT has kept from stopping.
end_now() {
	[ "$#" = 0 ] && return
	# shellcheck disable=SC2046 # several
	kill -9 $(descendants "$@") 2>/dev/null
}

# no_leaks: nothing that Rocin allocated was lost, in no program that has ended
no_leaks() {
	local reports
	reports=$(find "$work/leaks" -type f 2>/dev/null)
	# shellcheck disable=SC2086 # several
	[ -z "$reports" ] || awk -v source="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)" \
		-f "$(dirname "${BASH_SOURCE[0]}")/../../kit/leaks.awk" $reports
}

# count_opcodes FILE: what all programs of this test put on the wire, as lines "OPCODE NUMBER",
# when it ends, without messages of the connection manager, which go to queue pair 1; for who asks
# for it by ROCIN_TEST_OPCODES.
counting=()
count_opcodes() {
	# The capture starts rocind, in whose log rdmacm_lib.sh looks.
	export ROCIN_LOG=info:$work/log
	mkfifo "$work/packets"
	rocin dump --json - <"$work/packets" 2>/dev/null | LD_PRELOAD='' awk -v file="$1" '
		!/"qp":1,/ && match($0, /"name":"[^"]*"/) { seen[substr($0, RSTART + 8, RLENGTH - 9)]++ }
		END { for (name in seen) print name, seen[name] >file }' &
	counting=("$!")
	rocin capture --snaplen 128 --filter outbound --write - >"$work/packets" 2>"$work/counting.err" &
	counting+=("$!")
	wait_for grep -qs '^capturing' "$work/counting.err" || fail "$(cat "$work/counting.err")"
}
end_counting() {
	[ "${#counting[@]}" = 0 ] && return
	kill -INT "${counting[1]}"
	wait "${counting[@]}"
}

own_cleanup() { :; } # what a test has to do first at its end, if it says so
cleanup() {
	local status=$? ns
	own_cleanup
	end_now "${pids[@]}"
	end_counting
	export LD_PRELOAD=''
	for ns in "${namespaces[@]}"; do
		timeout 60 nsenter --net="/run/netns/$ns" rocin stop >/dev/null 2>&1
		ip netns del "$ns"
	done
	timeout 60 rocin stop >/dev/null 2>&1
	if ! no_leaks; then
		echo 'FAILED: this memory of Rocin was lost'
		status=1
	fi
	rm -rf "$work" "$runtime"
	exit "$status"
}
trap cleanup EXIT

# daemon_pid [PREFIX...]: rocind's, where the commands after PREFIX run
daemon_pid() {
	"$@" rocin stat --daemon --json | python3 -c '
import json, sys
print(json.load(sys.stdin)[0]["pid"])'
}

# counter NAME [PREFIX...]: its sum over all programs, where the commands after PREFIX run
counter() {
	"${@:2}" rocin stat --counters 2>/dev/null |
		awk -v "name=$1" '$1 == name { n += $2 } END { print n + 0 }'
}

# cm_counts NAME...: of what rdma_cm has, in all programs together
cm_counts() {
	rocin stat --daemon --json | python3 -c '
import json, sys
cm = json.load(sys.stdin)[0]["rdma_cm"]
print(*(cm[name] for name in sys.argv[1:]))' "$@"
}

# next_port: another TCP port for the programs' own exchange that nobody listens on, none
# of those that the kernel gives to whoever connects
next_port() {
	local i
	for i in $(seq 200); do
		port=$((10000 + (port - 10000 + 7919) % 20000))
		[ -n "$(LD_PRELOAD='' ss -ltnH "sport = :$port")" ] || return 0
	done
	fail 'no free TCP port'
}

# ended_well STATUS OUTPUT: 0, or what rping may make of it: at its end it closes the channel of
# events while a thread of its own goes back to read there, and the thread ends the program.
ended_well() {
	[ "$1" = 0 ] || { [ "$1" = 255 ] && [ "$(grep -vE 'DISCONNECT EVENT|^ping data: |^wait for .* state 10$' "$2")" = \
		'rdma_get_cm_event: Bad file descriptor' ]; }
}

# wait_for COMMAND...: until it succeeds; false if that takes longer than on any machine
wait_for() {
	local end=$((SECONDS + 1200))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		LD_PRELOAD='' sleep 0.02
	done
}

listening() {
	[ -n "$(LD_PRELOAD='' ss -ltnH "sport = :$port")" ] || ! kill -0 "$1" 2>/dev/null
}

# new_namespace NAME: a network namespace with a loopback interface, removed by cleanup
new_namespace() {
	[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
	ip netns add "$1" 2>/dev/null || skip 'network namespaces cannot be made here'
	namespaces+=("$1")
	ip -n "$1" link set lo up
	# Addresses count at once: nobody else can have them.
	nsenter --net="/run/netns/$1" sysctl -qw net.ipv6.conf.default.accept_dad=0 2>/dev/null
}

carrier() { ip -n "$1" link show "$2" | grep -q 'state UP'; }
# settled NAMESPACE INTERFACE: it is up, and so is the link-local address that it gets then
settled() {
	carrier "$1" "$2" && [ -z "$(ip -n "$1" -6 addr show dev "$2" tentative)" ] &&
		{ [ ! -e /proc/net/if_inet6 ] || [ -n "$(ip -n "$1" -6 addr show dev "$2" scope link)" ]; }
}

# two_hosts NET [MTU]: the namespaces $a and $b, joined by a veth pair; commands after the
# words of in_a and in_b run there.
#
#   [$a: 10.NET.0.1, fdNET::1] va --- vb [$b: 10.NET.0.2, fdNET::2]
two_hosts() {
	a=rocin-a-$$ b=rocin-b-$$
	new_namespace "$a"
	new_namespace "$b"
	ip -n "$a" link add va mtu "${2:-1500}" type veth peer name vb mtu "${2:-1500}" netns "$b"
	ip -n "$a" addr add "10.$1.0.1/24" dev va
	ip -n "$b" addr add "10.$1.0.2/24" dev vb
	ip -n "$a" addr add "fd$1::1/64" dev va nodad
	ip -n "$b" addr add "fd$1::2/64" dev vb nodad
	ip -n "$a" link set va up
	ip -n "$b" link set vb up
	both_settled() { settled "$a" va && settled "$b" vb; }
	wait_for both_settled || fail 'the veth pair does not come up'
	in_a=(nsenter --net="/run/netns/$a")
	in_b=(nsenter --net="/run/netns/$b")
}

# capture OPTION...: until end_capture_live; $capture_pid
capture() {
	rm -f "$work/capture.err" # the one before
	rocin capture "$@" 2>"$work/capture.err" &
	capture_pid=$!
	pids+=("$capture_pid")
	wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
}
end_capture_live() {
	kill -INT "$capture_pid"
	wait "$capture_pid" || fail "rocin capture: $(cat "$work/capture.err")"
	grep -q ' 0 missed$' "$work/capture.err" || fail "$(cat "$work/capture.err")"
}

# another_user: from now on `as_nobody COMMAND...` runs a command as nobody, with a home and a
# runtime directory of its own, which go at the end with what runs there.
another_user() {
	theirs=$(mktemp -d)
	chown 65534:65534 "$theirs"
	own_cleanup() {
		as_nobody rocin stop >/dev/null 2>&1
		rm -rf "$theirs"
	}
}
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		env ROCIN_RUNTIME_DIR="$theirs/run" HOME="$theirs" "$@"
}

# capture_wire INTERFACE [PREFIX...]: tcpdump of it, with PREFIX before the command, writes
# $work/wire.pcap until end_capture.
capture_wire() {
	local interface=$1
	shift
	"$@" tcpdump -i "$interface" -B 16384 -s "${snap:-0}" -U -w "$work/wire.pcap" \
		udp port 4791 2>"$work/tcpdump.out" &
	tcpdump_pid=$!
	pids+=("$tcpdump_pid")
	wait_for grep -q 'listening on' "$work/tcpdump.out" || skip 'tcpdump cannot capture here'
}
end_capture() {
	kill -INT "$tcpdump_pid"
	wait "$tcpdump_pid"
}

# What a program put on the wire, as its client captured it: with
#
#	wire='RC_SEND_ONLY RC_ACK RC_WRITE_*?' pair ...
#
# (or play, or what calls them) each of these opcodes must have been there, those with a
# question mark may, and no other. Kept whole, so it is for runs of some thousand packets.
wire=
record_wire() { # COMMAND...: run it, with a capture if one is asked for
	if [ -z "$wire" ]; then
		"$@"
	else
		ROCIN_PCAP=$work/wire.pcap "$@"
	fi
}
judge_wire() { # NAME
	[ -n "$wire" ] || return 0
	# Who ends by _exit(), as fio's jobs do, cuts the last packets off.
	rocin dump --json "$work/wire.pcap" >"$work/wire.json" 2>"$work/wire.err" ||
		grep -q truncated "$work/wire.err" || fail "$1: $(cat "$work/wire.err")"
	# With faults requests are resumed in the middle, which makes other opcodes.
	# shellcheck disable=SC2086 # one word, or none
	python3 - "$work/wire.json" "$wire" ${ROCIN_TEST_FAULT:+faults} <<-'P' || fail "$1: other opcodes than these: $wire"
		import collections, fnmatch, json, sys
		seen = collections.Counter(json.loads(line)["name"] for line in open(sys.argv[1]))
		want = [(w.rstrip("?"), w.endswith("?")) for w in sys.argv[2].split()]
		missing = [w for w, may in want if not may and not fnmatch.filter(seen, w)]
		strange = [s for s in seen if not any(fnmatch.fnmatch(s, w) for w, _ in want)]
		if missing or (strange and not sys.argv[3:]):
		    print("on the wire:", *(f"{name} ({n})" for name, n in sorted(seen.items())))
		    print("missing:", *missing, "\nnot expected:", *strange)
		    sys.exit(1)
	P
	rm "$work/wire.pcap"
}

# pair NAME SERVER-COMMAND -- CLIENT-COMMAND: run both ends; the server first, until it
# listens on $port. Both must end with status 0 within $limit seconds.
limit=1800
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
	wait_for listening "$pid" || fail "$name: server does not listen"
	record_wire timeout "$limit" rocin run --netdev "${client_dev:-lo:$addr_b}" -- "${client[@]}" \
		>"$work/client.out" 2>&1
	client_status=$?
	[ "$client_status" = 0 ] || sleep 0.2
	[ "$client_status" = 0 ] || end_now "$pid"
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
	judge_wire "$name"
	echo "ok: $name${wire:+, $wire}"
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
	[ "$status" = 0 ] || end_now "$pid"
	if ! wait "$pid" || [ "$status" != 0 ]; then
		tail -n 5 "$work/a.out" "$work/b.out"
		rocin stat
		fail "$name (status $status)"
	fi
	echo "ok: $name: $(tail -1 "$work/b.out")"
}

[ -z "${ROCIN_TEST_OPCODES:-}" ] || count_opcodes "$ROCIN_TEST_OPCODES"
