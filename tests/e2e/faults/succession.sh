#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# succession.sh - rocind is killed again and again while programs work: each time a
# successor takes over, and no program notices. Every byte and completion of the traffic is
# checked, each connection is made and ended, and no device is lost.
#
# usage: succession.sh traffic|cm|programs|keeper|hang SECONDS [SEED]
#   traffic   data of RC, UC and UD, with and without shared memory
#   cm        connections by librdmacm, made and broken as fast as it goes, and a listener that
#             sleeps in between
#   programs  perftest, rping and UCX, as far as they are installed
#   keeper    the keeper is killed, then rocind
#   all       traffic, cm and programs in turn, until SECONDS are over
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
what=$1 seconds=$2
RANDOM=${3:-1}
port_in_use=7175
gone() { ! kill -0 "$1" 2>/dev/null; }

# lock_pid: the process that has signed the lock of this runtime directory
lock_pid() { cat "$ROCIN_RUNTIME_DIR"/rocind*.lock 2>/dev/null; }

# kill_again: a rocind about every 300 ms, at times that depend on the seed, until
# stop_killing; each must have a successor within a second.
kill_again() {
	local pid last=0 begin
	while [ ! -e "$work/stop" ]; do
		sleep "0.$((200 + RANDOM % 200))"
		pid=$(lock_pid)
		[ -n "$pid" ] && [ "$pid" != "$last" ] && kill -9 "$pid" 2>/dev/null || continue
		last=$pid
		echo >>"$work/kills"
		begin=$SECONDS
		while [ "$(lock_pid)" = "$last" ] && [ $((SECONDS - begin)) -lt 60 ]; do
			[ ! -e "$work/stop" ] || return
			sleep 0.01
		done
	done
}
start_killing() {
	rm -f "$work/stop"
	kill_again &
	killer=$!
	pids+=("$killer")
}
stop_killing() {
	touch "$work/stop"
	wait "$killer"
}
kills() { wc -l <"$work/kills"; }
time_left() { [ "$SECONDS" -lt "$end" ]; }

traffic() {
	verify_pair 'RC' --type rc -n 400
	ROCIN_LOCAL=off verify_pair 'RC by UDP' --type rc -n 400
	time_left || return
	verify_pair 'UC' --type uc -n 300
	verify_pair 'UD with events' --type ud -n 300 --events
}

# new_go: what keeps a server's standard input open. The byte that ends a server stays in it.
new_go() {
	rm -f "$work/go"
	mkfifo "$work/go"
	exec 3<>"$work/go"
}

# serve_cm: a server that listens for connections; storm SECONDS SIZE: a client of it
serve_cm() {
	new_go
	rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" $port_in_use \
		<"$work/go" >"$work/server" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for grep -q listening "$work/server" || fail 'the server does not listen'
}
storm() {
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" $port_in_use "$@" \
		>"$work/storm" 2>&1 || fail "storm: $(tail -3 "$work/storm")"
}

# cm SECONDS
cm() {
	serve_cm
	# It sleeps in poll(); nobody in this process looks after rocind.
	sleep 0.7
	storm "$1" 8
	echo >&3
	wait "$server" || fail "server: $(tail -3 "$work/server")"
	grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
	grep -q ' failed 0 ' "$work/storm" || fail "$(tail -3 "$work/storm")"
	echo "ok: $(tail -1 "$work/storm")"
}

programs() {
	next_port
	pair 'ib_write_bw' ib_write_bw -x 0 -F -D 2 -p "$port" -- ib_write_bw -x 0 -F -D 2 -p "$port" 127.0.0.1
	time_left || return
	next_port
	pair 'ib_send_lat' ib_send_lat -x 0 -F -n 20000 -p "$port" -- \
		ib_send_lat -x 0 -F -n 20000 -p "$port" 127.0.0.1
	if command -v rping >/dev/null; then
		rocin run --netdev "lo:$addr_a" -- rping -s -a "$addr_a" -C 2000 >"$work/rping-s" 2>&1 &
		server=$!
		pids+=("$server")
		wait_for rping_listens || fail 'rping does not listen'
		rocin run --netdev "lo:$addr_b" -- rping -c -a "$addr_a" -C 2000 >"$work/rping-c" 2>&1
		ended_well $? "$work/rping-c" || fail "rping: $(tail -3 "$work/rping-c")"
		wait "$server"
		ended_well $? "$work/rping-s" || fail "rping server: $(tail -3 "$work/rping-s")"
		echo 'ok: rping'
	fi
	time_left || return
	if command -v ucx_perftest >/dev/null; then
		UCX_TLS=rc_v UCX_NET_DEVICES=rocin0:1 ucx
	fi
}
rping_listens() { [ "$(cm_counts ports)" -ge 1 ]; }
ucx() {
	next_port
	pair 'ucx_perftest' ucx_perftest -p "$port" -t tag_lat -n 20000 -- \
		ucx_perftest 127.0.0.1 -p "$port" -t tag_lat -n 20000
}

: >"$work/kills"
end=$((SECONDS + seconds))
# A rocind to begin with
rocin run --netdev "lo:$addr_a" -- true
case $what in
keeper)
	serve_cm
	first=$(daemon_pid)
	keeper=$(pgrep -o -x rocin-keeper -P "$first")
	[ -n "$keeper" ] || fail 'no keeper'
	kill -9 "$keeper"
	another() { pgrep -x rocin-keeper -P "$first" | grep -qvx "$keeper"; }
	wait_for another || fail 'no other keeper'
	echo 'ok: rocind starts another keeper'
	kill -9 "$first"
	succeeded() { [ "$(lock_pid)" != "$first" ]; }
	wait_for succeeded || fail 'no successor'
	[ "$(cm_counts channels ids ports)" = '1 1 1' ] || fail "lost: $(cm_counts channels ids ports)"
	storm 0.3 4
	echo 'ok: the second keeper starts a successor'
	echo >&3
	wait "$server" || fail "server: $(tail -3 "$work/server")"
	exit 0
	;;
all)
	start_killing
	while time_left; do
		traffic
		cm 2
		programs
	done
	;;
*)
	start_killing
	while time_left; do
		"$what" "$seconds"
	done
	;;
esac
stop_killing
[ "$(kills)" -ge $((seconds > 3 ? seconds / 3 : 1)) ] || fail "only $(kills) kills"
echo "ok: $(kills) kills of rocind"
