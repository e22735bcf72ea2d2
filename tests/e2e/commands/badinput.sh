#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# badinput.sh - each wrong input leads to one line of error message and a status other than 0, at
# once.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# refuse NAME STATUS PATTERN COMMAND...: the command must end with STATUS, and its standard error
# must match PATTERN
refuse() {
	local name=$1 want=$2 pattern=$3 status
	shift 3
	timeout 1800 "$@" >"$work/out" 2>"$work/err"
	status=$?
	[ "$status" = "$want" ] ||
		fail "$name: status $status, want $want: $(head -3 "$work/out" "$work/err")"
	grep -qE "$pattern" "$work/err" || fail "$name: stderr lacks \"$pattern\": $(cat "$work/err")"
	echo "ok: $name: $(grep -m1 -E "$pattern" "$work/err")"
}

refuse 'no such interface' 1 'nosuchif' rocin run --netdev nosuchif0 -- true
refuse 'no such address' 1 '192\.0\.2\.1' rocin run --netdev lo:192.0.2.1 -- true
refuse 'bad specification' 1 'is not an IPv4' rocin run --netdev lo::::: -- true
refuse 'no such program' 127 'no such program' rocin run -- no-such-program-here
refuse 'an empty name' 127 'no such program' rocin run -- ''
refuse 'no program' 64 'which program' rocin run
refuse 'no such command' 64 'no command' rocin frobnicate
refuse 'no such option' 64 'option' rocin devices --frobnicate
refuse 'directory as a program' 126 'cannot be executed' rocin run -- /tmp
mkdir "$work/programs"
printf '#!/bin/sh\n' >"$work/programs/ssh"
chmod +x "$work/programs/ssh"
refuse 'ssh behind it' 126 'ssh HOST rocin run' rocin run -- "$work/programs/ssh" localhost true

mkdir -m 755 "$work/open"
refuse 'runtime directory open to others' 1 "$work/open" \
	env ROCIN_RUNTIME_DIR="$work/open" rocin run -- true
refuse 'runtime directory not absolute' 1 'ROCIN_RUNTIME_DIR' \
	env ROCIN_RUNTIME_DIR=relative rocin run -- true
echo 'int main(void) { return 0; }' >"$work/static.c"
if cc -static -o "$work/static" "$work/static.c" 2>/dev/null; then
	refuse 'static program' 126 'statically linked' rocin run -- "$work/static"
	# The program has the section that each Go program has.
	printf '.section .go.buildinfo,"aw"\n.quad 1\n.section .note.GNU-stack,"",@progbits\n' >"$work/go.s"
	if cc -static -o "$work/go" "$work/static.c" "$work/go.s" 2>/dev/null; then
		refuse 'static Go program' 126 'CGO_ENABLED=1' rocin run -- "$work/go"
		rocin doctor --netdev "lo:$addr_a" -- "$work/go" >"$work/out" && fail 'doctor: a static Go program is well'
		grep -q "^FAULT  $work/go is a Go program" "$work/out" || fail "$(cat "$work/out")"
		cc -o "$work/cgo" "$work/static.c" "$work/go.s" || fail 'cc'
		rocin run --netdev "lo:$addr_a" -- "$work/cgo" || fail 'a Go program with C libraries runs'
		rocin doctor --netdev "lo:$addr_a" -- "$work/cgo" >"$work/out" || fail "$(cat "$work/out")"
		grep -q "^note   $work/cgo is a Go program with C libraries" "$work/out" || fail "$(cat "$work/out")"
		! grep -q 'All is well' "$work/out" || fail 'doctor: all is well for a Go program'
		rocin stop >/dev/null || fail 'rocind, which would hold the port below'
		echo 'ok: Go programs'
	fi
fi
if [ "$(id -u)" != 0 ]; then
	refuse 'set-user-ID program' 126 'set-user-ID' rocin run -- su
fi

# Another process holds UDP port 4791 of our address.
command python3 - "$addr_a" "$work/held" <<'PY' &
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 4791))
open(sys.argv[2], "w").close()
time.sleep(3600)
PY
holder=$!
pids+=("$holder")
wait_for [ -e "$work/held" ] || fail 'cannot hold the port'
next_port
refuse 'port 4791 held' 1 "4791.*$addr_a.*held" \
	rocin run --netdev "lo:$addr_a" --log error -- ibv_rc_pingpong -g 0 -p "$port" 127.0.0.1
grep -q "$holder" "$work/err" || fail "the holder $holder is not named: $(cat "$work/err")"
kill "$holder"

refuse 'RoCE without a GRH' 1 '.' rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/no_grh"
refuse 'unreadable capture' 1 'nosuchfile' rocin dump "$work/nosuchfile"
head -c 100 /dev/urandom >"$work/rubbish"
refuse 'rubbish as a capture' 1 '.' rocin dump "$work/rubbish"
refuse 'bad fault specification' 1 'ROCIN_FAULT|drop' \
	rocin run --netdev "lo:$addr_a" --log error --fault drop=lots -- \
	ibv_rc_pingpong -g 0 -p "$port" 127.0.0.1

# A shell that captures the output of `rocin run' must not wait for rocind, which runs longer than
# the program.
rocin stop >/dev/null 2>&1
x=$(ROCIN_IDLE_MS=600000 rocin run --netdev "lo:$addr_a" -- ibv_devices)
rocin stop >/dev/null || fail 'captured output came when rocind had ended'
grep -q rocin0 <<<"$x" || fail "no device: $x"
(
	ulimit -n 256
	next_port
	pair 'descriptor limit 256' ib_send_bw -x 0 -F -n 500 -p "$port" -- \
		ib_send_bw -x 0 -F -n 500 -p "$port" 127.0.0.1
) || exit 1

# Without --netdev, nothing must listen outside of the loopback interface. This is tested in a
# network namespace, because the default address may be in use on this machine.
[ "$(id -u)" = 0 ] || { echo 'not root: default device not tried'; exit 0; }
ns=rocin-d-$$
new_namespace "$ns"
ip -n "$ns" link add dummy0 type dummy
ip -n "$ns" addr add 10.77.9.1/24 dev dummy0
ip -n "$ns" link set dummy0 up
nsenter --net="/run/netns/$ns" rocin run -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
pid=$!
pids+=("$pid")
wait_for [ -e "$work/ready" ] || fail 'no queue pair on the default device'
inside=$(nsenter --net="/run/netns/$ns" ss -lunH 'sport = :4791' | awk '{ print $4 }')
[ -n "$inside" ] || fail 'nothing listens'
outside=$(grep -vE '^(127\.|\[::1\])' <<<"$inside")
[ -z "$outside" ] || fail "listens on $outside"
touch "$work/done"
wait "$pid" || fail 'hold_qp'
echo 'ok: only loopback listens'
