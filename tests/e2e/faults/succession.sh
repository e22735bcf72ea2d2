#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# succession.sh - rocind is killed repeatedly while programs run: each time a successor takes over,
# and no program notices it. Every byte and completion of the traffic is checked, each connection is
# made and ended, and no device is lost.
#
# usage: succession.sh traffic|cm|programs|keeper|replace|stop|both|all SECONDS [SEED]
#   traffic   data of RC, UC and UD, with and without shared memory
#   cm        connections by librdmacm, made and broken as fast as it goes, and a listener that
#             sleeps in between
#   programs  perftest, rping and UCX, as far as they are installed
#   keeper    the keeper is killed, then rocind
#   replace   a rocind of another build goes on in place of the one that runs, while there are
#             data, connections and a capture; who may not is refused
#   stop      rocind is stopped and goes on: data goes on meanwhile, new programs wait
#   both      rocind and its keeper are killed at once
#   all       traffic, cm, programs and rdma-core's own tests in turn, until SECONDS are over
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
what=$1 seconds=$2
RANDOM=${3:-1}
port_in_use=7175
gone() { ! kill -0 "$1" 2>/dev/null; }
# ended PID: true if the process has ended. It is no child of this script, so it may be a zombie for
# a while.
ended() { [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline")" ]; }

# lock_pid: prints the process id in the lock file of this runtime directory
lock_pid() { cat "$ROCIN_RUNTIME_DIR"/rocind*.lock 2>/dev/null; }

# kill_again: kills a rocind about every 300 ms, at times that depend on the seed, until
# stop_killing; each must have a successor within a second
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
# replace_again: the same by rocind --replace; after every third replacement, a kill
replace_again() {
	local i=0
	while [ ! -e "$work/stop" ]; do
		sleep "0.$((100 + RANDOM % 200))"
		if [ $((++i % 4)) = 0 ]; then
			kill -9 "$(lock_pid)"
		else
			"$work/newer/rocind" --replace >"$work/replaced" 2>&1 ||
				echo "$(cat "$work/replaced")" >>"$work/not-replaced"
		fi
		echo >>"$work/kills"
	done
}
start_killing() {
	rm -f "$work/stop"
	"${1:-kill_again}" &
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

# new_go: creates the FIFO that keeps the standard input of a server open. (The byte that has ended
# the server before is still in the old one.)
new_go() {
	rm -f "$work/go"
	mkfifo "$work/go"
	exec 3<>"$work/go"
}

# serve_cm: starts a server for connections; storm SECONDS SIZE: runs a client of this server
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

# cm SECONDS: runs server and client
cm() {
	serve_cm
	# The server sleeps in poll(), so no thread of it notices that rocind has died.
	sleep 0.7
	storm "$1" 8
	echo >&3
	wait "$server" || fail "server: $(tail -3 "$work/server")"
	grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
	grep -q ' failed 0 ' "$work/storm" || fail "$(tail -3 "$work/storm")"
	echo "ok: $(tail -1 "$work/storm")"
}

# perftest PROGRAM OPTION...: runs both ends of the program
perftest() {
	next_port
	pair "$1" "$@" -x 0 -F -p "$port" -- "$@" -x 0 -F -p "$port" 127.0.0.1
}

programs() {
	perftest ib_write_bw -D 2
	perftest ib_send_lat -n 20000
	time_left || return
	perftest ib_read_bw -D 2
	perftest ib_atomic_bw -D 2
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
		# UCX drops a peer that does not answer for 30 s; on a busy machine an answer may
		# take longer.
		UCX_TLS=rc_v UCX_NET_DEVICES=rocin0:1 UCX_UD_VERBS_TIMEOUT=30m ucx
	fi
}
# The tests that cannot run here are listed by e2e.pyverbs-lo. The suite itself checks whether it is
# installed.
rdma_core() {
	(
		rm -rf "$work/suite" # left by the run before
		# shellcheck source=../suites/pyverbs_lib.sh
		. "$(dirname "$0")/../suites/pyverbs_lib.sh"
		pyverbs lo "lo:$addr_a" ''
	)
	case $? in
	0 | 77) ;;
	*) exit 1 ;;
	esac
}
rping_listens() { [ "$(cm_counts ports)" -ge 1 ]; }
ucx() {
	next_port
	pair 'ucx_perftest' ucx_perftest -p "$port" -t tag_lat -n 20000 -- \
		ucx_perftest 127.0.0.1 -p "$port" -t tag_lat -n 20000
}

: >"$work/kills"
end=$((SECONDS + seconds))
# Starts a rocind
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
replace)
	# A copy of the program in another file, as after an upgrade
	mkdir "$work/newer"
	cp "$ROCIN_BIN/rocind" "$work/newer"
	rocin stop >/dev/null
	[ "$("$work/newer/rocind" --replace)" = 'no rocind runs; nothing is replaced' ] ||
		fail 'a rocind is replaced that is not there'
	serve_cm
	first=$(daemon_pid)
	keeper=$(pgrep -o -x rocin-keeper -P "$first")
	rocin doctor | grep -q "rocind .* runs, process $first$" || fail 'the doctor does not see rocind'
	capture --qp 1 -w "$work/live.pcapng"
	start_killing replace_again
	often() { [ "$(kills)" -gt 4 ]; }
	end=$((SECONDS + seconds))
	while time_left || ! often; do
		storm 1 4
		verify_pair 'RC' --type rc -n 1000
		ROCIN_LOCAL=off verify_pair 'RC by UDP' --type rc -n 1000
	done
	stop_killing
	[ ! -e "$work/not-replaced" ] || fail "$(cat "$work/not-replaced")"
	wait_for ended "$first" || fail 'the first rocind is there yet'
	wait_for ended "$keeper" || fail 'its keeper is there yet'
	[ "$(cm_counts channels ids ports)" = '1 1 1' ] || fail "lost: $(cm_counts channels ids ports)"
	echo >&3
	wait "$server" || fail "server: $(tail -3 "$work/server")"
	grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
	# The capture must contain the connections of the last storm.
	end_capture_live
	requests=$(rocin dump "$work/live.pcapng" | grep -c ' REQ ')
	made=$(sed -n 's/^accepted \([0-9]*\),.*/\1/p' "$work/server")
	[ "$made" -gt 0 ] && [ "$requests" -ge "$made" ] || fail "$made connections, $requests requests in the capture"
	echo "ok: $(kills) times"
	# A rocind that a service manager has started (--foreground) is not replaced.
	rocin stop >/dev/null
	rocind --foreground --idle-ms=0 2>/dev/null &
	server=$!
	pids+=("$server")
	listens() { [ "$(lock_pid)" = "$server" ] && rocin stat --daemon >/dev/null 2>&1; }
	wait_for listens || fail 'no rocind in the foreground'
	rocind --replace >"$work/refused" 2>&1 && fail "$(cat "$work/refused")"
	grep -q 'in the foreground; restart it there' "$work/refused" || fail "$(cat "$work/refused")"
	gone "$server" && fail 'the one in the foreground has ended'
	kill "$server"
	wait "$server"
	echo 'ok: one in the foreground goes on'
	exit 0
	;;
stop)
	# While rocind is stopped, data and a listener must work, and programs that request
	# something from rocind must wait.
	serve_cm
	next_port
	rocin run --netdev "lo:$addr_a" -- ib_write_bw -x 0 -F -D 3600 -p "$port" >"$work/data-s" 2>&1 &
	pids+=($!)
	wait_for listening $! || fail 'no server'
	rocin run --netdev "lo:$addr_b" -- ib_write_bw -x 0 -F -D 3600 -p "$port" 127.0.0.1 >"$work/data-c" 2>&1 &
	client=$!
	pids+=("$client")
	moved() { rocin stat --json | python3 -c '
import json, sys
print(sum(c["hw_counters"].get("sent_pkts", 0) for c in json.load(sys.stdin)))'; }
	flows() { [ "$(moved)" -gt 1000 ]; }
	wait_for flows || fail 'no data moves'
	daemon=$(daemon_pid)
	kill -STOP "$daemon"
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" $port_in_use 0.1 2 \
		>"$work/storm" 2>&1 &
	waiter=$!
	pids+=("$waiter")
	(
		next_port
		pair 'a pair that was started meanwhile' ib_send_bw -x 0 -F -n 500 -p "$port" -- \
			ib_send_bw -x 0 -F -n 500 -p "$port" 127.0.0.1
	) >"$work/pair" 2>&1 &
	pair=$!
	pids+=("$pair")
	sleep "$seconds"
	gone "$waiter" && fail "connected without rocind: $(cat "$work/storm")"
	gone "$pair" && fail "a device without rocind: $(cat "$work/pair")"
	gone "$client" && fail "the transfer has ended: $(tail -3 "$work/data-c")"
	kill -CONT "$daemon"
	before=$(moved)
	more() { [ "$(moved)" -gt $((before + 1000)) ]; }
	wait_for more || fail 'the data does not go on'
	wait "$waiter" || fail "storm: $(tail -3 "$work/storm")"
	grep -q ' failed 0 ' "$work/storm" || fail "$(tail -3 "$work/storm")"
	wait "$pair" || fail "$(cat "$work/pair")"
	[ "$(daemon_pid)" = "$daemon" ] || fail 'there is another rocind'
	echo 'ok: all goes on after rocind was stopped'
	# If rocind is stopped for too long, new programs fail with a message, and running programs
	# keep their devices.
	kill -STOP "$daemon"
	ROCIN_LOG=error:$work/late rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/writes" 1 >"$work/writes" 2>&1 &&
		fail 'a device without rocind'
	grep -q 'did not answer within\|did not take this process in within' "$work/late" "$work/writes" ||
		fail "no sentence: $(cat "$work/late" "$work/writes")"
	gone "$client" && fail "the transfer has ended: $(tail -3 "$work/data-c")"
	kill -CONT "$daemon"
	before=$(moved)
	wait_for more || fail 'the data does not go on'
	echo >&3
	wait "$server" || fail "server: $(tail -3 "$work/server")"
	echo 'ok: who has waited for too long is told so'
	exit 0
	;;
both)
	# Only the programs still have copies of the sockets, so there can be no successor: the
	# programs are notified, and the next program starts a new rocind at once.
	next_port
	rocin run --netdev "lo:$addr_a" -- ib_write_bw -x 0 -F -D 3600 -p "$port" >"$work/data-s" 2>&1 &
	pids+=($!)
	wait_for listening $! || fail 'no server'
	ROCIN_LOG=info:$work/client.log rocin run --netdev "lo:$addr_b" -- ib_write_bw -x 0 -F -D 3600 -p "$port" \
		127.0.0.1 >"$work/data-c" 2>&1 &
	client=$!
	pids+=("$client")
	attached() { grep -qs 'rocin0: slot' "$work/client.log"; }
	wait_for attached || fail 'no device'
	daemon=$(daemon_pid)
	kill -STOP "$daemon" # otherwise it would start another keeper before it is killed
	kill -9 "$(pgrep -x rocin-keeper -P "$daemon")" "$daemon"
	next_port
	pair 'a pair right after' ib_send_bw -x 0 -F -n 500 -p "$port" -- \
		ib_send_bw -x 0 -F -n 500 -p "$port" 127.0.0.1
	wait_for gone "$client" || fail 'a program goes on without its device'
	grep -q 'rocind has ended' "$work/client.log" || fail "no sentence: $(cat "$work/client.log")"
	echo 'ok: both killed: the programs are told'
	exit 0
	;;
all)
	start_killing
	while time_left; do
		traffic
		cm 2
		programs
		rdma_core
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
