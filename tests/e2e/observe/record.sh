#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# record.sh - the actions of live devices are recorded, and a replay does the same.
#
# usage: record.sh programs|faults|late|threads|killed|cut|full|mounted
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# record NAME COMMAND...: runs the command; each of its processes writes a file of its own
record() {
	name=$1
	shift
	rm -f "$work"/*.rec
	ROCIN_RECORD=$work/%p.rec "$@" || exit
}

# replay COUNT: there must be COUNT files; each replay must give the recorded outputs, with packets
# in both directions
replay() {
	local files=("$work"/*.rec) file
	if [ "${#files[@]}" != "$1" ] || [ ! -e "${files[0]}" ]; then
		fail "$name: recorded ${files[*]}, not $1 files"
	fi
	for file in "${files[@]}"; do
		rocin sim --replay "$file" >"$work/replay.out" 2>&1 ||
			fail "$name: $(cat "$work/replay.out")"
		grep -Eq 'same: .* [1-9][0-9]* packets in, [1-9][0-9]* packets out, [1-9]' \
			"$work/replay.out" || fail "$name: $(cat "$work/replay.out")"
	done
	echo "ok: $name is the same: $(tail -1 "$work/replay.out")"
}

# play KIND OPTION...
play() {
	next_port
	record "ibv_$1_pingpong" pair "$*" "ibv_$1_pingpong" -g 0 -p "$port" "${@:2}" -- \
		"ibv_$1_pingpong" -g 0 -p "$port" "${@:2}" 127.0.0.1
	replay 2
}

# connect_pair: runs rping, which connects by the connection manager. Only rocind can tell when it
# listens.
connect_pair() {
	timeout "$limit" rocin run --netdev "lo:$addr_a" -- rping -s -a "$addr_a" -C 20 -V \
		>"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for grep -q 'listens for connections' "$work/log" || fail 'rping does not listen'
	timeout "$limit" rocin run --netdev "lo:$addr_b" -- rping -c -a "$addr_a" -C 20 -V \
		>"$work/client.out" 2>&1
	ended_well $? "$work/client.out" || fail "rping: $(tail -n 5 "$work/client.out" "$work/server.out")"
	wait "$server"
	ended_well $? "$work/server.out" || fail "rping: $(tail -n 5 "$work/server.out")"
}

case $1 in
programs)
	export ROCIN_LOG=info:$work/log
	touch "$work/log"
	play rc -n 200 -c
	play uc -n 100
	play ud -n 100 -e
	play srq -n 100
	play xsrq -n 100
	next_port
	record ib_send_bw pair ib_send_bw ib_send_bw -x 0 -F -n 200 -p "$port" -- \
		ib_send_bw -x 0 -F -n 200 -p "$port" 127.0.0.1
	replay 2
	record rping connect_pair
	replay 2
	;;
faults)
	ROCIN_FAULT=drop=2%,dup=1%,reorder=1%,corrupt=1%,seed=11 \
		record 'verify with faults' verify_pair rc --type rc -n 200 --lossy
	replay 2
	;;
late)
	# Reads and atomics that complete late and out of order.
	ROCIN_PCIE=adversarial,seed=3 ROCIN_FAULT=drop=1%,seed=4 \
		record 'verify with late memory' verify_pair rc --type rc -n 60 --lossy
	replay 2
	;;
threads)
	rocind --idle-ms=30000 || fail "rocind ended with status $?"
	record threads timeout 1800 rocin run --netdev "lo:$addr_a" --record-limit 64M -- \
		"$ROCIN_TESTS/threads" >"$work/out" 2>&1
	replay 1
	;;
killed)
	# The recording has all actions until the program was killed.
	next_port
	file=$work/a.rec
	rocin run --netdev "lo:$addr_a" --record "$file" --record-limit 3M -- \
		ib_send_lat -x 0 -F -n 5000000 -p "$port" >"$work/server.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for listening "$pid" || fail 'server does not listen'
	rocin run --netdev "lo:$addr_b" --record "$work/b.rec" -- \
		ib_send_lat -x 0 -F -n 5000000 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	client=$!
	pids+=("$client")
	limited() { rocin sim --replay "$file" 2>&1 | grep -q 'reached its limit'; }
	wait_for limited || fail "no limit: $(rocin sim --replay "$file" 2>&1)"
	kill -9 "$pid" "$client"
	wait "$pid" "$client" 2>/dev/null
	name=killed
	replay 2

	# A file of another version, a file that is no recording, and a changed recording.
	printf 'rocinrec\x63\x031.9' >"$work/other"
	head -c 100000 /dev/urandom >"$work/rubbish"
	for file in other rubbish /dev/null "$work/none"; do
		(cd "$work" && rocin sim --replay "$file") >"$work/out" 2>&1
		if [ $? != 1 ] || [ "$(wc -l <"$work/out")" != 1 ]; then
			fail "$file: $(cat "$work/out")"
		fi
	done
	rocin sim --replay "$work/b.rec" --json | grep -q '"end": "same"' || fail json
	rocin sim --replay "$work/b.rec" --trace --until 40 >"$work/out" || fail trace
	grep -q qp_create "$work/out" || fail "trace: $(head "$work/out")"
	grep -q '^The same: 40 calls' "$work/out" || fail "until: $(tail -1 "$work/out")"
	ROCIN_NETDEVS=lo:$addr_a rocin fault --record "$work/c.rec" -- ibv_devinfo -v \
		>"$work/out" 2>&1 || fail "rocin fault --record: $(cat "$work/out")"
	rocin sim --replay "$work/c.rec" >"$work/out" || fail "$(cat "$work/out")"
	rocin run --record "$work/none/x" -- true 2>"$work/out"
	[ $? = 64 ] || fail "a file that cannot be made: $(cat "$work/out")"
	;;
cut)
	# Another process truncates the file during the recording: the program continues, reports
	# this once, and counts it.
	next_port
	file=$work/a.rec
	rocin run --netdev "lo:$addr_a" --record "$file" -- \
		ib_send_lat -x 0 -F -n 5000000 -p "$port" >"$work/server.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for listening "$pid" || fail 'server does not listen'
	rocin run --netdev "lo:$addr_b" -- \
		ib_send_lat -x 0 -F -n 5000000 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	client=$!
	pids+=("$client")
	lost() { rocin stat --json | grep -q '"record_lost": *[1-9]'; }
	lost && fail 'records are lost before the file is cut'
	: >"$file"
	wait_for grep -q 'the recording ends' "$work/server.out" ||
		fail "the end is not said: $(cat "$work/server.out")"
	wait_for lost || fail "not counted: $(rocin stat --json)"
	kill -0 "$pid" && kill -0 "$client" || fail 'they have died'
	[ "$(grep -c 'the recording ends' "$work/server.out")" = 1 ] || fail 'said twice'
	kill -9 "$pid" "$client"
	wait "$pid" "$client" 2>/dev/null
	echo 'ok: a file that is made shorter'
	;;
full)
	# The recording reaches a limit of the file size, or the disk is full (if the test may mount
	# one): the part that fits can be replayed, and the end of the recording is reported.
	filled() {
		next_port
		record "$1" pair "$1" "${@:2}" ibv_rc_pingpong -g 0 -p "$port" -n 5000 -- \
			ibv_rc_pingpong -g 0 -p "$port" -n 5000 127.0.0.1
		grep -q 'the recording ends: ' "$work/server.out" ||
			fail "$1: the end is not said: $(cat "$work/server.out")"
		[ "$(stat -c %s "$(ls -S "$work"/*.rec | tail -1)")" -gt 500000 ] ||
			fail "$1: $(ls -l "$work"/*.rec)"
	}
	filled 'files of a limited size' bash -c 'ulimit -f 1024; exec "$@"' -
	replay 2
	[ "$(id -u)" = 0 ] || exit 0
	cleanup
	exec unshare -m --propagation private bash "$0" mounted
	;;
mounted)
	full=$work/full
	mkdir "$full" && mount -t tmpfs -o size=1m none "$full" || fail 'cannot mount'
	next_port
	ROCIN_RECORD=$full/%p.rec pair 'a full disk' \
		ibv_rc_pingpong -g 0 -p "$port" -n 5000 -- \
		env -u ROCIN_RECORD ibv_rc_pingpong -g 0 -p "$port" -n 5000 127.0.0.1 || exit
	grep -q 'the recording ends: No space left' "$work/server.out" ||
		fail "the end is not said: $(cat "$work/server.out")"
	mv "$full"/*.rec "$work"
	umount "$full"
	name='a full disk'
	rm -f "$work"/b.rec
	for file in "$work"/*.rec; do
		[ "$(stat -c %s "$file")" -gt 300000 ] || rm "$file"
	done
	replay 1
	;;
esac
