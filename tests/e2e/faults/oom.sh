#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# oom.sh - the kernel kills a program, and then rocind, because memory is short. The other programs
# are not disturbed: every byte of their data arrives, the peer of the killed program gets an error,
# rocind has a successor, and new programs connect. The programs that will be killed are in a
# control group whose memory another process uses up. If no control group can be created, the test
# kills them by SIGKILL instead, and says so in its last line.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
limit_mib=256 by='the kernel'

# make_box: creates a control group with a memory limit, and sets $box to its directory; empty:
# impossible
make_box() {
	local root
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		box=$root/rocin-oom-$$
		mkdir "$box" 2>/dev/null || continue
		echo "$((limit_mib << 20))" 2>/dev/null >"$box/memory.limit_in_bytes" && return
		echo "$((limit_mib << 20))" 2>/dev/null >"$box/memory.max" && return
		rmdir "$box"
	done
	box='' by='SIGKILL of this test, as there is no control group for memory'
}
box_is_gone() { [ ! -e "$box" ] || rmdir "$box" 2>/dev/null; }
own_cleanup() {
	[ -n "$box" ] || return
	end_now "${pids[@]}"
	timeout 60 rocin stop >/dev/null 2>&1
	wait_for box_is_gone
}
oom_kills() { cat "$box/memory.oom_control" "$box/memory.events" 2>/dev/null | awk '$1 == "oom_kill" { print $2 }'; }
gone() { [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline")" ]; }

# use_up PID: uses the memory of the group until the kernel kills process PID
use_up() {
	local before i takers=()
	if [ -z "$box" ]; then
		kill -9 "$1"
		return
	fi
	before=$(oom_kills)
	echo 1000 >"/proc/$1/oom_score_adj"
	# Each of these processes uses less than the process that is to be killed, so the kernel
	# chooses that one.
	for ((i = 0; i < 8; i++)); do
		"${in_box[@]}" timeout "$limit" python3 -c 'import os, sys, time
taken = []
def lives():
    try:
        return open("/proc/%s/cmdline" % sys.argv[1]).read()
    except OSError:
        return False
while lives():
    if len(taken) < int(sys.argv[2]):
        taken.append(bytearray(os.urandom(1) * (1 << 20)))
    else:
        time.sleep(0.01)' "$1" $((limit_mib / 4)) >"$work/taker-$i" 2>&1 &
		takers+=("$!")
	done
	pids+=("${takers[@]}")
	wait_for gone "$1" || fail "process $1 is still there: $(tail -qn 1 "$work"/taker-*)"
	wait "${takers[@]}"
	[ "$(oom_kills)" -gt "$before" ] || fail "process $1 was not killed by the kernel"
}

# Two programs that check each byte and never end by themselves.
names=() programs=()
bystanders() {
	local role addr
	for role in b a; do
		addr=$addr_a
		[ "$role" = b ] || addr=$addr_b
		env "${@:2}" rocin run --netdev "lo:$addr" -- "$ROCIN_TESTS/verify" --role "$role" \
			--socket "$work/meet-$1" --type rc -n 2000000000 --max 20000 >"$work/$1-$role" 2>&1 &
		pids+=("$!")
		programs+=("$!")
		names+=("$1-$role")
		disown
	done
}
received() { counter rcvd_pkts; }
more() { [ "$(received)" -gt $((before + 2000)) ]; }
go_on() {
	local i
	before=$(received)
	wait_for more || fail "$1: nothing moves any more"
	for i in "${!programs[@]}"; do
		kill -0 "${programs[i]}" 2>/dev/null ||
			fail "$1: ${names[i]} has ended: $(tail -3 "$work/${names[i]}")"
	done
}

make_box
# in_box: a prefix for commands, which puts them into the control group before they begin
# shellcheck disable=SC2016 # expanded within
in_box=(env LD_PRELOAD= bash -c '[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$box")
"${in_box[@]}" rocind --idle-ms=60000 || fail 'no rocind'
daemon=$(daemon_pid)
bystanders local
bystanders udp ROCIN_LOCAL=off
go_on 'before'

# A program in the group, and its peer outside.
verify=("$ROCIN_TESTS/verify" --socket "$work/meet-victim" --type rc -n 2000000000 --max 20000)
rocin run --netdev "lo:$addr_a" -- "${verify[@]}" --role b >"$work/peer" 2>&1 &
peer=$!
"${in_box[@]}" rocin run --netdev "lo:$addr_b" -- "${verify[@]}" --role a >"$work/victim" 2>&1 &
victim=$!
pids+=("$peer" "$victim")
begun() { rocin stat --json | grep -q "\"pid\": *$victim\b"; }
wait_for begun || fail "the program does not begin: $(tail -3 "$work/victim")"
before=$(received)
wait_for more || fail 'the program does not begin'
sleep 1
use_up "$victim"
peer_gone() { gone "$peer"; }
wait_for peer_gone || fail 'the peer of a program that was killed goes on'
wait "$peer" && fail 'the peer of a program that was killed ends well'
go_on 'a program was killed'
[ "$(daemon_pid)" = "$daemon" ] || fail 'rocind has another process id'
echo "ok: a program was killed by $by"

# The same for rocind
use_up "$daemon"
succeeded() { daemon=$(daemon_pid) && [ -n "$daemon" ] && ! gone "$daemon"; }
wait_for succeeded || fail 'rocind has no successor'
go_on 'rocind was killed'
verify_pair 'a new pair' --type rc -n 200 --max 20000
go_on 'and after it'
echo "ok: rocind was killed by $by"
