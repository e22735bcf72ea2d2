#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tour.sh - `rocin tour': its statements are true, the commands that it proposes work, it works in a
# terminal, and no processes or files are left at its end.
#
# usage: tour.sh stops|tries|terminal|leaving
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
source_dir=$(dirname "$0")/../../..
# The directory in which the tour creates its own directory.
export XDG_RUNTIME_DIR=$runtime/xdg
mkdir -m 700 "$XDG_RUNTIME_DIR"
names='register send write read atomic rnr lost gpu'

# leftovers: prints directories of a tour, and processes that run in such a directory
leftovers() {
	local proc
	find "$XDG_RUNTIME_DIR" -mindepth 1 -maxdepth 1
	for proc in /proc/[0-9]*; do
		{ tr '\0' '\n' <"$proc/environ"; } 2>/dev/null |
			grep -q "^ROCIN_RUNTIME_DIR=$XDG_RUNTIME_DIR/rocin-tour" &&
			echo "process ${proc#/proc/}: $(tr '\0' ' ' <"$proc/cmdline")"
	done
}
nothing_left() { [ -z "$(leftovers)" ]; }

# stop NAME [SETTING...]: runs a stop, with its output in $work/out; no statement in it may be
# marked as wrong
stop() {
	timeout 1800 rocin tour --stop "$@" >"$work/out" 2>"$work/err" ||
		fail "tour --stop $*: status $?: $(cat "$work/err" "$work/out")"
	[ ! -s "$work/err" ] || fail "tour --stop $*: $(cat "$work/err")"
	! grep -F 'NOT SO' "$work/out" || fail "tour --stop $*"
	[ "$(grep -c '^  \[ok\] ' "$work/out")" -ge 5 ] || fail "tour --stop $*: few claims"
	nothing_left || fail "tour --stop $* leaves $(leftovers)"
}

# has COUNT PATTERN: that many lines of the output must match the pattern
has() {
	local n
	n=$(grep -c -- "$2" "$work/out")
	[ "$n" = "$1" ] || fail "$1 lines with \"$2\", not $n: $(cat "$work/out")"
}

# row KIND FROM TO BYTES TLPS WHAT: prints the number of this line in the table "On PCIe"
row() {
	grep -n "^ *[0-9.]*  $1  *$2 *-> $3  *$4  *$5  $6\$" "$work/out" | cut -d: -f1 |
		grep . || fail "no such TLPs: $*: $(cat "$work/out")"
}

# The C lines under "The calls" must be lines of the program's source, and none may be missing.
calls_are_run() {
	local line n=0
	while IFS= read -r line; do
		sed 's/[[:space:]]\+/ /g; s/^ //' "$source_dir"/tools/tour/*.c |
			grep -qxF -- "$line" || fail "$1: \"$line\" is not run"
		n=$((n + 1))
	done < <(sed -n '/^The calls/,/^On the wire/p' "$work/out" | grep '^    ' |
		sed 's/[[:space:]]\+/ /g; s/^ //')
	[ "$n" -ge 6 ] || fail "$1: $n lines of C"
}

# copy_tree: makes a copy of Rocin in $tree, in which another program can be put at $program.
# $plugins is the directory of the original of that program.
copy_tree() {
	tree=$work/tree
	plugins=$(realpath "$(dirname "$(find "$ROCIN_BIN/.." -maxdepth 4 -name rocin-tour -type f)")")
	program=$tree/${plugins#"$(realpath "$ROCIN_BIN/..")/"}/rocin-tour
	mkdir -p "$tree/bin" "$(dirname "$program")"
	cp "$ROCIN_BIN/rocin" "$tree/bin"
	ln -s "$ROCIN_BIN/rocind" "$tree/bin"
	ln -s "$plugins"/* "$(dirname "$program")"
	rm "$program"
}

# wrong_tree: a copy_tree() in which no packet is lost, and in which the R_Key of the stop `register'
# permits the access (offset=0), so that statements of the tour are wrong
wrong_tree() {
	copy_tree
	cat >"$program" <<END
#!/bin/sh
unset ROCIN_FAULT
exec $plugins/rocin-tour "\$@" offset=0
END
	chmod +x "$program"
}

# Statements that are not true must be marked.
what_is_not_so() {
	wrong_tree
	"$tree/bin/rocin" tour --stop lost >"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail "a packet that was not lost: $(cat "$work/err" "$work/out")"
	has 1 '\[NOT SO\] 0 packet was dropped on its way$'
	has 1 "\[NOT SO\] A's device sent from there again: it did not$"
	"$tree/bin/rocin" tour --stop register >"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail "a key that opens: $(cat "$work/err" "$work/out")"
	has 1 "\[NOT SO\] B's device refused it: NAK, remote access error$"
	# A program that fails, a program that is killed, and a missing program.
	printf '#!/bin/sh\nexit 3\n' >"$program"
	"$tree/bin/rocin" tour --batch >"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail 'a program that fails'
	grep -q 'rocin: register: the program of this stop ended with status 3$' "$work/err" ||
		fail "no sentence: $(cat "$work/err")"
	printf '#!/bin/sh\nkill -KILL $$\n' >"$program"
	"$tree/bin/rocin" tour --stop send >"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail 'a program that is ended'
	grep -q 'rocin: send: the program of this stop was ended by signal 9$' "$work/err" ||
		fail "no sentence: $(cat "$work/err")"
	rm "$program"
	"$tree/bin/rocin" tour --stop send >"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail 'a program that is not there'
	grep -q 'rocin: send: .*/rocin-tour: No such file or directory; install Rocin again' "$work/err" ||
		fail "no sentence: $(cat "$work/err")"
	nothing_left || fail "left: $(leftovers)"
	echo 'ok: what is not so'
}

test_stops() {
	local name data entry
	rocin tour --list >"$work/list" || fail 'tour --list'
	[ "$(awk '/^[0-9]/ { printf "%s ", $2 }' "$work/list")" = "$names " ] || fail "$(cat "$work/list")"
	for name in $names; do
		stop "$name"
		awk -v n="$name" 'length > 80 { print n ": " length ": " $0; bad = 1 } END { exit bad }' \
			"$work/out" || fail 'lines are too long'
		! grep -q "$(printf '\033')" "$work/out" || fail "$name: colours in a file"
		calls_are_run "$name"
		cp "$work/out" "$work/$name"
		echo "ok: $name"
	done

	cp "$work/register" "$work/out"
	has 1 '|---- WRITE_ONLY psn 100 dmalen 64 len 64 ackreq -*>|$'
	has 1 '|<~~~ NAK remote access error msn 0, psn 100 ~*|$'
	has 1 'B: request refused: R_Key does not open: R_Key 0x[0-9a-f]*, 64$'
	row MRd "A's NIC" memory 64 1 "A's buffer" >/dev/null
	has 0 "-> memory .*B's buffer"

	cp "$work/send" "$work/out"
	has 1 '|---- SEND_ONLY psn 100 len 64 ackreq -*>|$'
	has 1 '|<--- ACK msn 1, psn 100 -*|$'
	data=$(row MWr "B's NIC" memory 64 1 "B's buffer")
	entry=$(row MWr "B's NIC" memory 64 1 'CQE of B')
	[ "$data" -lt "$entry" ] || fail 'the CQE is before the data'
	has 1 '^    B before   *2e 2e 2e'
	has 1 '^    B after   *48 65 6c 6c 6f 20 66 72 6f 6d 20 41 2e 2e 2e 2e  Hello from A....$'

	cp "$work/write" "$work/out"
	has 1 '|---- WRITE_ONLY psn 100 dmalen 64 len 64 ackreq -*>|$'
	has 0 'CQE of B'

	cp "$work/read" "$work/out"
	has 1 '|---- READ_REQUEST psn 100 dmalen 3000 ackreq -*>|$'
	has 1 '|<--- READ_RESPONSE_FIRST psn 100 ACK msn 1 len 1024 -*|$'
	has 1 '|<--- READ_RESPONSE_MIDDLE psn 101 len 1024 -*|$'
	has 1 '|<--- READ_RESPONSE_LAST psn 102 ACK msn 1 len 952 -*|$'
	row CplD memory "B's NIC" 3000 12 "B's buffer" >/dev/null

	cp "$work/atomic" "$work/out"
	has 1 '|---- FETCH_ADD psn 100 swap/add 1 compare 0 ackreq -*>|$'
	has 1 '|<--- ATOMIC_ACK psn 100 ACK msn 1 original 41 -*|$'

	cp "$work/rnr" "$work/out"
	[ "$(grep -c 'RNR NAK 10.24 ms msn 0, psn 100 ~*|$' "$work/out")" -ge 1 ] || fail 'no RNR NAK'
	[ "$(grep -c '|==== SEND_ONLY psn 100 len 64 ackreq =*>|$' "$work/out")" -ge 1 ] || fail 'not again'

	cp "$work/lost" "$work/out"
	has 1 'B: dropped on purpose by rule 1 about faults$'
	has 1 '|<~~~ NAK PSN sequence error msn 0, psn 101 ~*|$'
	grep -A1 '|==== SEND_MIDDLE psn 101 ' "$work/out" | grep -q 'again: after a NAK' ||
		fail 'not again after the NAK'

	cp "$work/gpu" "$work/out"
	entry=$(row MWr "A's NIC" memory 64 1 'CQE of A')
	data=$(row MWr "A's NIC" GPU 4096 16 'GPU memory')
	[ "$entry" -lt "$data" ] || fail 'the data is before the CQE'
	has 1 'the first kernel read 0 new bytes of 4096: stale$'
	has 1 'after a flush the second one read 4096 of 4096$'

	has 1 '^    first saw  00 00 00 00'
	has 1 '^    second saw 5a 5a 5a 5a'

	# The same in the form for programs (--json).
	rocin tour --json >"$work/json" 2>"$work/err" ||
		fail "tour --json: status $?: $(cat "$work/err" && grep -o '[^{]*"is_so": *false[^}]*' "$work/json")"
	python3 - "$work/json" <<'END' || fail "$(head -c 3000 "$work/json")"
import json, sys
stops = [json.loads(line) for line in open(sys.argv[1])]
assert [s["number"] for s in stops] == list(range(1, 9))
for s in stops:
    assert s["is_all_so"] and len(s["claims"]) >= 5 and all(c["is_so"] for c in s["claims"])
    assert s["packets"] and s["tlps"] and s["completions"]
lost = {s["stop"]: s for s in stops}["lost"]
again = [p for p in lost["packets"] if "again" in p]
# A requester that gets no processor in time may request an acknowledgement once more.
assert list(dict.fromkeys(p["psn"] for p in again)) == [101, 102], again
assert [p["psn"] for p in lost["packets"] if "dropped on purpose" in p["receiver_says"]] == [101]
assert lost["settings"] == {"size": "3000", "lost": "middle"}
END

	# Wrong arguments lead to an error, and no stop runs.
	for wrong in '--stop 9' '--stop none' '--stop send size=0' '--stop send colour=red' \
		'--stop send size' '--width 79' 'size=5'; do
		# shellcheck disable=SC2086 # words
		rocin tour $wrong >"$work/out" 2>"$work/err"
		[ $? = 64 ] || fail "rocin tour $wrong: not refused"
	done
	# Settings in the user's environment have no effect on the tour.
	ROCIN_FAULT='drop tx chance=100%' ROCIN_PCIE=adversarial ROCIN_NETDEVS=nowhere0 stop send
	what_is_not_so
}

test_tries() {
	local -a commands
	rocin tour --batch >"$work/whole" 2>&1 || fail "$(cat "$work/whole")"
	mapfile -t commands < <(sed -n 's/^  \$ rocin //p' "$work/whole")
	[ "${#commands[@]}" -ge 16 ] || fail "${#commands[@]} things to try"
	[ "$(grep -c '^Try this$' "$work/whole")" = 8 ] || fail 'something to try at each stop'
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # words
		timeout 1800 rocin $command >"$work/out" 2>&1 || fail "$command: $(cat "$work/out")"
		! grep -F 'NOT SO' "$work/out" || fail "$command"
		echo "ok: $command"
	done
	# The results of the settings that the tour proposes.
	stop register offset=4032 && has 1 "and wrote 64 bytes$"
	stop send size=5000 && has 3 '|---- SEND_MIDDLE '
	stop send size=5000 mtu=4096 && has 0 '|---- SEND_MIDDLE '
	stop write imm=yes && has 1 'CQE of B$'
	stop read mtu=4096 && has 1 '|<--- READ_RESPONSE_ONLY '
	stop atomic cswap=yes && has 1 "B's counter: 41, now 1000$"
	stop atomic by=pcie && has 1 '  AtomicOp  '
	stop rnr rnr_timer=26 && has 1 'RNR NAK 81.92 ms'
	timeout 1800 rocin tour --stop rnr rnr_retry=0 >"$work/out" || fail "$(cat "$work/out")"
	has 1 "A's completion: IBV_WC_RNR_RETRY_EXC_ERR$"
	stop lost lost=last && has 1 'sent from there again: after a timeout$'
	stop lost lost=ack && has 1 "B's device knew them, and acknowledged again$"
	stop gpu flush=yes && has 1 'the first kernel read 4096 new bytes of 4096: flushed$'
	stop gpu ordering=owner && has 1 '4096 new bytes of 4096: its flag pushed the data$'
}

# ------------------------------------------------------------------------ a terminal
mux() { LD_PRELOAD='' tmux -S "$work/tmux.$terminals" -f "$work/tmux.conf" "$@"; }
own_cleanup() { mux kill-server 2>/dev/null; }

# open_terminal: opens a terminal of 80 x 24 characters in which the tour runs, with $settings. Each
# terminal has its own tmux server, because a server that is ending refuses new sessions.
settings='' terminals=0
open_terminal() {
	command -v tmux >/dev/null || skip 'there is no tmux'
	echo 'set -g history-limit 5000' >"$work/tmux.conf"
	# Ctrl-C goes to all processes in the terminal; the shell must survive it.
	cat >"$work/tty.sh" <<END
trap : INT QUIT
stty -a | grep -o '.icanon\\|.echo ' >$work/modes.before
$settings LD_PRELOAD='$ROCIN_TEST_PRELOAD' rocin tour
echo "status \$?" >$work/status
stty -a | grep -o '.icanon\\|.echo ' >$work/modes.after
exec sleep 1000
END
	rm -f "$work/modes.after" "$work/status"
	terminals=$((terminals + 1))
	mux new-session -d -x 80 -y 24 "sh $work/tty.sh" || skip 'tmux cannot run here'
	wait_for asks || fail "no question: $(mux capture-pane -p)"
}

screen() { mux capture-pane -p; }
whole() { mux capture-pane -p -S -; }
shows() { screen | grep -q -- "$1"; }
has_ended() { [ -s "$work/modes.after" ]; }
# A question that waits for a key is the last line of the screen.
asks() { screen | grep -v '^$' | tail -1 | grep -q '^\[Enter: .*\]'; }
position() { mux display-message -p '#{history_size} #{cursor_y} #{cursor_x}'; }
has_moved() { [ "$(position)" != "$before" ]; }
asks_or_has_ended() { asks || has_ended; }
has_one_question() { [ "$(whole | grep -c '^\[Enter')" = 1 ]; }

# press KEY: presses the key, and waits for the next question or the end
press() {
	before=$(position)
	mux send-keys "$1"
	wait_for has_moved || fail "key $1: nothing: $(screen)"
	wait_for asks_or_has_ended || fail "key $1: no question: $(screen)"
}

# walk_to PATTERN: presses Enter until the screen matches the pattern
walk_to() {
	local _
	for _ in $(seq 60); do
		! shows "$1" || return 0
		! has_ended || break
		press Enter
	done
	fail "\"$1\" does not come: $(screen)"
}

# is_over STATUS: the tour must end with this status, restore the terminal, and leave nothing behind
is_over() {
	wait_for has_ended || fail "it does not end: $(screen)"
	[ "$(cat "$work/status")" = "status $1" ] || fail "$(cat "$work/status"), not $1: $(screen)"
	cmp "$work/modes.before" "$work/modes.after" || fail 'the terminal is not as it was'
	wait_for nothing_left || fail "left: $(leftovers)"
	mux kill-server
}

test_terminal() {
	open_terminal
	mux capture-pane -p -e | grep -q "$(printf '\033')\[1m1 of 8" || fail 'no colours in a terminal'
	walk_to '^8 of 8  '
	while ! has_ended; do
		press Enter
	done
	whole >"$work/out"
	[ "$(grep -c '^[1-8] of 8  ' "$work/out")" = 8 ] || fail "$(grep '^[1-8] of 8' "$work/out")"
	for part in 'The calls' 'On the wire' 'On PCIe' 'What happened, checked' 'Try this.*'; do
		has 8 "^$part\$"
	done
	has 0 'NOT SO'
	has 0 '^\[Enter'
	is_over 0
	echo 'ok: from one end to the other'

	open_terminal
	shows '^1 of 8  ' || fail "$(screen)"
	press 3
	shows '^3 of 8  RDMA WRITE' || fail "a number: $(screen)"
	press t
	walk_to 'WRITE_ONLY_IMM psn 100'
	press b
	shows '^2 of 8  SEND' || fail "b: $(screen)"
	press '?'
	shows 'back to the stop before' || fail "?: $(screen)"
	press 8
	walk_to 'new bytes of 4096: stale'
	press q
	is_over 0
	echo 'ok: keys'

	settings=NO_COLOR=1
	open_terminal
	press Enter
	! mux capture-pane -p -e -S - | grep "$(printf '\033')" || fail 'NO_COLOR'
	has_one_question || fail "questions stay: $(whole)"
	press q
	is_over 0
	# In a terminal that cannot erase lines, a question is followed by a new line.
	settings=TERM=dumb
	open_terminal
	press Enter
	! has_one_question || fail 'a question was erased'
	press q
	is_over 0
	echo 'ok: without colours'

	# A wrong statement changes the exit status only if the user has seen it.
	wrong_tree
	settings="PATH=$tree/bin:\$PATH"
	open_terminal
	press q
	is_over 0
	open_terminal
	walk_to '\[NOT SO\]'
	press q
	is_over 1
	echo 'ok: claims that were not seen'
}

# ended_by STATUS KEY...: presses the keys at once, without waiting for an answer; the tour must end
# with STATUS
ended_by() {
	local status=$1
	shift
	open_terminal
	mux send-keys "$@"
	is_over "$status"
	echo "ok: ended by $*"
}

no_process() { ! leftovers | grep process; }

test_leaving() {
	local pid
	ended_by 0 q
	ended_by 0 C-d
	ended_by 130 C-c
	# Ctrl-C while a stop runs, or just after it.
	ended_by 130 7 C-c
	ended_by 131 8 'C-\'

	# The tour is killed by another process. None of its processes may remain.
	rocin tour --stop rnr rnr_timer=31 >"$work/out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for sh -c "grep -q rocin-tour /proc/[0-9]*/comm 2>/dev/null"
	kill -TERM "$pid"
	wait "$pid"
	[ $? = 143 ] || fail "SIGTERM: $(cat "$work/out")"
	wait_for nothing_left || fail "left: $(leftovers)"
	rocin tour --batch >"$work/out" 2>&1 &
	pid=$!
	pids+=("$pid")
	wait_for grep -q '^The calls' "$work/out"
	kill -KILL "$pid"
	wait "$pid"
	wait_for no_process || fail "left: $(leftovers)"
	rm -rf "$XDG_RUNTIME_DIR"/rocin-tour*

	# The reader of the output closes the pipe early.
	rocin tour --batch 2>"$work/err" | head -3 >/dev/null
	wait_for nothing_left || fail "left: $(leftovers)"
	echo 'ok: signals'

	# Two tours run at the same time.
	rocin tour --stop send >"$work/other" 2>&1 &
	pid=$!
	pids+=("$pid")
	timeout 1800 rocin tour --stop write >"$work/out" 2>&1 || fail "$(cat "$work/out")"
	wait "$pid" || fail "$(cat "$work/other")"
	wait_for nothing_left || fail "left: $(leftovers)"
	echo 'ok: side by side'
	any_user
}

# A user without a directory of its own.
any_user() {
	local -a as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR)
	if [ "$(id -u)" != 0 ] || ! "${as_nobody[@]}" test -x "$ROCIN_BIN/rocin"; then
		return
	fi
	"${as_nobody[@]}" rocin tour --stop send >"$work/out" 2>&1 || fail "nobody: $(cat "$work/out")"
	has 0 'NOT SO'
	[ -z "$(find /dev/shm /tmp -maxdepth 1 -user 65534 -name 'rocin-tour*' 2>/dev/null)" ] ||
		fail 'another user leaves something'
	echo 'ok: another user'
}

case "${1:-}" in
stops | tries | terminal | leaving) "test_$1" ;;
*) fail 'usage: tour.sh stops|tries|terminal|leaving' ;;
esac
