#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lab-ends.sh - however a lab ends, its exit status shows how, and nothing of it remains.
#
# usage: lab-ends.sh root|nobody
who=$1
# shellcheck source=lab_lib.sh
. "$(dirname "$0")/lab_lib.sh"

# Programs that no other test runs: the argument of sleep identifies them.
nap="sleep 41$$"
napping() { pgrep -fx "$nap" >/dev/null; }
none_naps() { ! napping; }
naps() { [ "$(pgrep -fxc "$nap")" = "$1" ]; }
begun() { wait_for naps "$1" || fail 'it does not begin'; } # COUNT: waits until that many programs run
outside() { # what a lab could leave behind
	grep -E 'rocin-lab|boot_id|/etc/host' /proc/self/mounts
	ip -o link show | grep -E ': (br0|h[0-9]+)[@:]'
	ls "$ROCIN_RUNTIME_DIR" 2>/dev/null
	hostname
}
before=$(outside)
nothing_left() {
	wait_for none_naps || fail "$1: a program is left"
	[ -z "$lab_pid" ] || ! pgrep -P "$lab_pid" >/dev/null || fail "$1: the lab is left"
	[ "$(outside)" = "$before" ] || fail "$1: left: $(diff <(echo "$before") <(outside))"
	echo "ok: $1, and nothing is left"
}
lab_pid=''
# start OPTION...: starts a lab in the background; sets $lab_pid. SIGINT is set to its default,
# because a shell script starts background programs with SIGINT ignored.
start() {
	"${as[@]}" env --default-signal=INT rocin lab "$@" >"$work/out" 2>"$work/err" </dev/null &
	lab_pid=$!
	pids+=("$lab_pid")
}
ended() { # STATUS WHAT
	wait "$lab_pid"
	status=$?
	said "$1" "$2"
}

# The program of one host ends after the lab has noticed the end of another host's program.
# shellcheck disable=SC2016 # the hosts' shell is to see it
lab --hosts 3 -- sh -c '
	case $ROCIN_LAB_RANK in
	1)
		until [ -s "$0" ] && ! kill -0 "$(cat "$0")" 2>/dev/null; do sleep 0.02; done
		sleep 0.3
		exit 9
		;;
	2) echo $$ >"$0.new" && mv "$0.new" "$0" && exit 3 ;;
	esac' "$home/third"
said 3 'the status is that of the first that fails'
grep -q 'first h3 failed, with status 3' "$work/err" || fail 'it is not named'
lab -- /nosuchprogram
said 127 'a program that is not there'
# shellcheck disable=SC2016
lab --on h1 'kill -9 $$'
said 137 'a program that is killed'
lab --halt --on h1 "rocin stat >/dev/null; $nap" --on h2 'exit 5'
said 5 'one that fails ends all'
nothing_left 'a failure'

lab --timeout 0.4 --on h1 "$nap" --on h2 'trap "" TERM; sleep 0.1'
said 124 'no time any more'
has err 'rocin: h1 has not ended within 0.4 s'
nothing_left 'a timeout'

for sig in INT TERM HUP; do
	start --loss 1% -- sh -c "trap 'echo told; exit 6' $sig; $nap & wait"
	begun 2
	kill -$sig "$lab_pid"
	ended $((128 + $(kill -l $sig))) "SIG$sig"
	has out 'h1 | told' 'h2 | told'
	nothing_left "SIG$sig"
done

# A second signal makes the lab end even if its programs ignore signals.
start -- sh -c "trap '' TERM; $nap"
begun 2
until ! kill -TERM "$lab_pid" 2>/dev/null; do sleep 0.1; done
ended 143 'told twice'
grep -q 'told twice' "$work/err" || fail 'it waits all the same'
nothing_left 'told twice'

start --hosts 3 --capture "$home/c.pcapng" -- sh -c "setsid $nap & $nap"
begun 6
inside=$(pgrep -P "$lab_pid" -f 'rocin lab') # the lab's own process
kill -9 "$lab_pid"
wait "$lab_pid" 2>/dev/null
nothing_left 'kill -9'
gone() { [ ! -e "/proc/$inside" ] || grep -q '^State:.Z' "/proc/$inside/status"; }
wait_for gone || fail 'the lab is left'

start --hosts 3 -- sh -c "setsid $nap & $nap"
begun 6
kill -9 "$(pgrep -P "$lab_pid")"
ended 137 'the lab itself is killed'
has err 'rocin: the lab was killed: Killed'
nothing_left 'the lab itself is killed'

# shellcheck disable=SC2216
timeout 1800 "${as[@]}" rocin lab -q --hosts 1 -- sh -c "$nap & yes" 2>/dev/null | head -1 >"$work/out"
has out 'h1 | y'
nothing_left 'nobody reads'

# Ctrl-C at a terminal.
TERM=dumb timeout 1800 script -qec "${as[*]} rocin lab --hosts 1 -- sh -c '
	trap \"touch $home/told; exit 3\" INT; touch $home/begun; $nap & wait'" /dev/null >"$work/out" 2>&1 \
	< <(wait_for test -e "$home/begun" && printf '\003' && wait_for test -e "$home/told")
status=$?
said 130 'Ctrl-C'
[ -e "$home/told" ] || fail 'the program is not told'
nothing_left 'Ctrl-C'

# Kept until somebody says so; others come from outside.
start --keep --hosts 2 --on h2 'echo done'
done_here() { grep -q 'the hosts stay' "$work/err"; }
wait_for done_here || fail 'nothing is said'
"${as[@]}" rocin lab-exec --lab="$lab_pid" h2 'hostname; exit 2' >"$work/inside"
status=$?
said 2 'a command from outside'
[ "$(cat "$work/inside")" = h2 ] || fail 'it was not on h2'
"${as[@]}" rocin lab-exec --lab="$lab_pid" h1 "setsid $nap >/dev/null 2>&1 &"
wait_for napping || fail 'nothing begins inside'
kill -INT "$lab_pid"
ended 0 'a lab that was kept'
nothing_left 'a lab that was kept'
"${as[@]}" rocin lab-exec --lab=1 h1 true 2>"$work/err" && fail 'process 1 is no lab'
"${as[@]}" rocin lab-exec h1 true 2>"$work/err"
status=$?
said 1 'no lab around'
has err 'rocin: this is no host of a lab; start it by rocin lab, or give --lab=PID'
