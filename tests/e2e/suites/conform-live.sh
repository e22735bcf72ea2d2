#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform-live.sh - the conformance suite against Rocin's devices over UDP: the results must be
# those in virtual time, except for those in conform-live-skips.txt. Also checks the messages of the
# tester about a target that it cannot use. The test runs in its own network namespace, which has
# IPv6 addresses; without one, scenarios that need them are skipped. Most of the time is spent
# waiting, so there are several devices, each with a tester and a share of the suite.

# shellcheck disable=SC2034 # by lib.sh
network=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
here=$(dirname "$0")
suite=$here/../../sim/scenario
shares=4

# Addresses for documentation, which the scenario about the IPv6 header contains.
ipv6=''
if [ -n "$own_network" ]; then
	ip -6 addr add 2001:db8::1/128 dev lo nodad 2>/dev/null &&
		ip -6 addr add 2001:db8::2/128 dev lo nodad && ipv6=+2001:db8::1
fi

# shellcheck source=conform_lib.sh
. "$here/conform_lib.sh"

# expect_2 TEXT COMMAND...: the command must end with status 2, and its one line of output must
# contain TEXT
expect_2() {
	local text=$1
	shift
	timeout 1800 "$@" >"$work/out" 2>&1
	local status=$?
	[ "$status" = 2 ] || fail "$*: status $status: $(cat "$work/out")"
	[ "$(wc -l <"$work/out")" = 1 ] || fail "$*: $(cat "$work/out")"
	grep -q "$text" "$work/out" || fail "$*: $(cat "$work/out")"
}

first=$(agent_address 0)

expect_2 'no agent' rocin conform --target "$first" "$suite"
for n in $(seq 0 $((shares - 1))); do
	start_agent "$n"
done

# Invalid commands, and valid ones at the wrong time, end the connection, but not the agent.
python3 - "$first" <<'PY' || fail "rubbish: $(cat "$work/agent0")"
import random, socket, sys
words = {'hello': 1, 'begin': 7, 'mr': 4, 'mw': 2, 'srq': 3, 'qp': 8, 'modify': 20, 'unmap': 1, 'post': 16,
         'bind': 9, 'recv': 5, 'srecv': 5, 'limit': 2, 'group': 2, 'poll': 0, 'query': 1,
         'memory': 3, 'dereg': 1, 'arm': 2, 'frob': 2, 'listen': 4, 'unlisten': 1, 'take': 1,
         'connect': 10, 'accept': 10, 'ready': 1, 'reject': 2, 'established': 1, 'disconnect': 1,
         'close': 1, 'told': 1}
numbers = [0, 1, 2, 3, 4, 7, 8, 9, 10, 16, 64, 4096, 0xffff, 1 << 31, (1 << 32) - 1,
           1 << 63, (1 << 64) - 1]
draw = random.Random(4791)

def connect():
    s = socket.create_connection((sys.argv[1], 18516), 60)
    return s, s.makefile('rw')

def ask(f, text):
    f.write(text + '\n')
    f.flush()
    try:
        return f.readline()
    except ConnectionResetError:
        return ''

for text in 'qp x', 'x' * 2000, 'poll  1', '', 'poll 1\0', 'arm' + ' 0' * 41:
    s, f = connect()
    answer = ask(f, text)
    assert answer == '' or answer.startswith('no '), (text, answer)
    s.close()
s, f = connect()
for i in range(4000):
    word = draw.choice(list(words))
    if i % 100 == 0:
        text = 'begin 10 0 7f0000010000ffff 0 0 0 0'
    else:
        count = words[word] if draw.random() < 0.95 else draw.randrange(12)
        text = ' '.join([word] + ['%x' % draw.choice(numbers) for _ in range(count)])
    answer = ask(f, text)
    assert answer.startswith(('ok', 'no ')), (i, text, answer)
assert ask(f, 'hello 4').startswith('ok 4 ')
PY

# The suite is divided among the testers, without the connections, which conform-connections.sh
# tests.
mapfile -t files < <(find "$suite" -name '*.scn' -not -path '*/N-connections/*' | LC_ALL=C sort)
start_testers() {
	for n in $(seq 0 $((shares - 1))); do
		share=()
		for i in "${!files[@]}"; do
			if grep -q '^device ipv6' "${files[i]}"; then
				[ "$n" = 0 ] && share+=("${files[i]}")
			elif [ $((i % shares)) = "$n" ]; then
				share+=("${files[i]}")
			fi
		done
		own=()
		[ "$n" != 0 ] || [ -z "$ipv6" ] || own=(--address 2001:db8::2)
		start_tester "$n" "${own[@]}" "${share[@]}"
	done
}
start_testers
await_testers
grep -v '^#' "$here/conform-live-skips.txt" >"$work/expected"
if [ -z "$ipv6" ]; then
	for file in $(grep -l '^device ipv6' "${files[@]}"); do
		sed -i "\|^${file#"$suite/"} |d" "$work/expected"
		echo "${file#"$suite/"} of IPv6, and the device has no such address" >>"$work/expected"
	done
fi
LC_ALL=C sort "$work/expected" | diff - "$work/skips" || fail 'other skips'
[ "$(cat "$work"/?.xml | grep -c '<skipped')" = "$(wc -l <"$work/skips")" ] || fail 'JUnit'
[ "$(cat "$work"/?.xml | grep -c '<testcase')" = "${#files[@]}" ] || fail 'not all were run'

# If a device lacks an address family, the tester must not run scenarios that need it.
if [ -n "$ipv6" ]; then
	mapfile -t six < <(grep -l '^device ipv6' "${files[@]}")
	rocin conform --target "$(agent_address 1)" --address 2001:db8::2 "${six[@]}" >"$work/out" 2>&1
	[ "$(grep -c ': skipped: of IPv6, and the device has no such address$' "$work/out")" = "${#six[@]}" ] ||
		fail "a device of IPv4 alone: $(cat "$work/out")"
fi

# The agent dies during a run.
rocin conform --progress --target "$first" "$suite/H-requester" >"$work/out" 2>&1 &
tester=$!
pids+=("$tester")
wait_for grep -q '^2 of ' "$work/out" || fail "no tester: $(cat "$work/out")"
kill -9 "${agents[0]}"
wait "$tester"
[ $? = 2 ] || fail "agent killed: $(cat "$work/out")"
grep -q '^rocin: the agent is gone$' "$work/out" || fail "agent killed: $(cat "$work/out")"
grep -q ': the agent died: ' "$work/out" || fail "agent killed: $(cat "$work/out")"
grep -q ' 1 failed,.* not run' "$work/out" || fail "agent killed: $(cat "$work/out")"

# An agent with another version of the protocol.
command python3 - "$addr_b" >"$work/other" <<'PY' &
import socket, sys
s = socket.create_server((sys.argv[1], 18516))
print('listening', flush=True)
c = s.accept()[0]
c.recv(100)
c.sendall(b'ok 63 0 0\n')
c.recv(100)
PY
pids+=("$!")
wait_for grep -q "^listening" "$work/other" || fail 'no agent of another version'
expect_2 'version 99' rocin conform --target "$addr_b" "$suite"
