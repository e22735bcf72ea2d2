#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform-live.sh - the conformance suite against a device of ours over UDP: the same
# results as in virtual time, but for what conform-live-skips.txt lists; and what the
# tester says of a target that is of no use.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
suite=$here/../scenario

start_agent() {
	rocin conform --agent --netdev="lo:$addr_a" >"$work/agent" 2>&1 &
	agent=$!
	pids+=("$agent")
	wait_for 20 grep -q '^listening' "$work/agent" || fail "agent: $(cat "$work/agent")"
}

# expect_2 TEXT COMMAND...: it ends with 2 and says so in one line
expect_2() {
	local text=$1
	shift
	timeout 60 "$@" >"$work/out" 2>&1
	local status=$?
	[ "$status" = 2 ] || fail "$*: status $status: $(cat "$work/out")"
	[ "$(wc -l <"$work/out")" = 1 ] || fail "$*: $(cat "$work/out")"
	grep -q "$text" "$work/out" || fail "$*: $(cat "$work/out")"
}

has_tester() {
	[ -n "$(ss -tnH state established src "$addr_a:18516")" ]
}

expect_2 'no agent' rocin conform --target "$addr_a" "$suite"

start_agent
# Rubbish ends the connection, not the agent.
long=$(printf 'x%.0s' {1..2000})
for text in 'frob 1 2' 'qp' 'memory ffffffffffffffff 0 ffffffff' 'mr 1' "$long"; do
	exec 3<>"/dev/tcp/$addr_a/18516" || fail 'the agent is gone'
	printf '%s\n' "$text" >&3
	answer=''
	read -r -t 20 answer <&3 2>/dev/null
	case $answer in '' | no\ *) ;; *) fail "$text: $answer" ;; esac
	exec 3>&-
done

# The device's timers run in real time: where the tester came too late for one, the device
# is right to send again. Such a scenario must pass alone.
timeout 250 rocin conform --target "$addr_a" --junit "$work/x.xml" --slack 10000 "$suite" \
	>"$work/report"
status=$?
[ "$status" -le 1 ] || fail "status $status: $(tail -3 "$work/report")"
late=$(sed -n 's|^\(/.*\.scn\):[0-9]*: .*|\1|p' "$work/report")
[ "$(wc -w <<<"$late")" -le 3 ] || fail "$(grep -v ': skipped: ' "$work/report")"
for file in $late; do
	echo "once more, alone: $(grep -F "$file:" "$work/report")"
	rocin conform --target "$addr_a" --slack 10000 "$file" ||
		rocin conform --target "$addr_a" --slack 10000 "$file" || fail "$file"
done
sed -n 's|.*/scenario/\(.*\): skipped: |\1 |p' "$work/report" | LC_ALL=C sort >"$work/skips"
grep -v '^#' "$here/conform-live-skips.txt" | diff - "$work/skips" || fail 'other skips'
[ "$(grep -c '<skipped' "$work/x.xml")" = "$(wc -l <"$work/skips")" ] || fail 'JUnit'
tail -1 "$work/report"

# The agent dies while a tester is at work.
rocin conform --target "$addr_a" "$suite/H-requester" >"$work/out" 2>&1 &
tester=$!
pids+=("$tester")
wait_for 20 has_tester || fail 'no tester'
kill -9 "$agent"
wait "$tester"
[ $? = 2 ] || fail "agent killed: $(cat "$work/out")"
[ "$(wc -l <"$work/out")" = 1 ] || fail "agent killed: $(cat "$work/out")"

# One that speaks another version.
python3 - "$addr_b" >"$work/other" <<'PY' &
import socket, sys
s = socket.create_server((sys.argv[1], 18516))
print('listening', flush=True)
c = s.accept()[0]
c.recv(100)
c.sendall(b'ok 63 0 0\n')
c.recv(100)
PY
pids+=("$!")
wait_for 20 grep -q "^listening" "$work/other" || fail 'no agent of another version'
expect_2 'version 99' rocin conform --target "$addr_b" "$suite"
