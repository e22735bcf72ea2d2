#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# activation.sh - a service manager starts rocind and passes a socket to it, as the units
# rocind.socket and rocind.service describe.
#
# usage: activation.sh DIRECTORY-OF-UNITS
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
units=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -m 700 "$ROCIN_RUNTIME_DIR" "$work/xdg"
name=rocind-$(stat -Lc %i /proc/self/ns/net).sock

# The command in the unit, with systemd's specifiers replaced, makes the name that programs look
# for.
link=$(sed -n "s,^ExecStartPost=/bin/sh -c '\(.*\)'\$,\1,p" "$units/rocind.socket" |
	sed "s,%t,$work/xdg,g; s,%%,%,g; s,\\$\\$,\$,g")
[ -n "$link" ] || fail 'rocind.socket has no ExecStartPost'
mkdir -m 700 "$work/xdg/rocin"
sh -c "$link" || fail "$link"
[ "$(readlink "$work/xdg/rocin/$name")" = rocind.sock ] || fail "no link $name: $(ls "$work/xdg/rocin")"
grep -q '^ListenSequentialPacket=%t/rocin/rocind.sock$' "$units/rocind.socket" || fail 'another socket'
echo 'ok: the unit makes the name'
if command -v systemd-analyze >/dev/null && [ -z "${ROCIN_TEST_PRELOAD:-}" ]; then
	mkdir "$work/units"
	cp "$units"/rocind.s* "$work/units/"
	# systemd-analyze checks that the program exists, which is not installed here.
	sed -i "s,ExecStart=rocind,ExecStart=$ROCIN_BIN/rocind," "$work/units/rocind.service"
	XDG_RUNTIME_DIR=$work/xdg systemd-analyze --user --man=no verify "$work/units/rocind.socket" \
		"$work/units/rocind.service" >"$work/verify" 2>&1 || fail "systemd-analyze: $(cat "$work/verify")"
	echo "ok: systemd-analyze"
fi

# From here on, activation.py is the service manager.
manage() { # ARGUMENT...: after "--" those of rocind
	rm -f "$ROCIN_RUNTIME_DIR/rocind.sock"
	ln -sfn rocind.sock "$ROCIN_RUNTIME_DIR/$name"
	"$here/activation.py" "$@" >"$work/manager" 2>&1 &
	manager=$!
	pids+=("$manager")
	wait_for grep -q listening "$work/manager" || fail "activation.py: $(cat "$work/manager")"
}
starts() { grep -c '^start' "$work/manager"; }
ends() { grep -c '^end 0' "$work/manager"; }
started_and_ended() { [ "$(starts)" = "$1" ] && [ "$(ends)" = "$1" ]; }
socket=$ROCIN_RUNTIME_DIR/rocind.sock

manage "$socket" rocind --foreground --idle-ms=100
[ "$(starts)" = 0 ] || fail 'rocind is started before anybody asks'
verify_pair 'over a rocind that was started by its socket' --type rc -n 50
daemon=$(daemon_pid)
grep -q "^start $daemon\$" "$work/manager" || fail "another rocind serves: $daemon, $(cat "$work/manager")"
wait_for started_and_ended "$(starts)" || fail "it does not end when it is idle: $(cat "$work/manager")"
[ -S "$socket" ] && [ -L "$ROCIN_RUNTIME_DIR/$name" ] || fail 'it took the socket along'
before=$(starts)
verify_pair 'once more' --type rc -n 50
[ "$(starts)" -gt "$before" ] || fail 'no second start'
rocin stop || fail 'rocin stop'
wait_for started_and_ended "$(starts)" || fail 'it does not end by rocin stop'
rocin stat --daemon >/dev/null || fail 'no start after rocin stop'
kill "$manager"
wait "$manager"

# Many clients connect to a rocind that is about to end. With a sanitizer there are fewer, because
# it starts slowly.
clients=60
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || clients=20
manage "$socket" rocind --foreground --idle-ms=1
for i in $(seq $clients); do
	rocin stat --daemon --json >"$work/stat" 2>&1 || fail "client $i: $(cat "$work/stat") $(cat "$work/manager")"
done
[ "$(starts)" -gt $((clients / 12)) ] || fail 'it never ended meanwhile'
kill "$manager"
wait "$manager"
echo "ok: $clients clients, $(starts) starts"

# refused WORDS ARGUMENT...: rocind must end at once, with a message
refused() {
	local words=$1
	shift
	manage "$@"
	wait "$manager" && fail "not refused: $words"
	grep -q "$words" "$work/manager" || fail "instead of \"$words\": $(cat "$work/manager")"
	echo "ok: $(grep "$words" "$work/manager")"
}
refused 'is no listening SOCK_SEQPACKET socket' --pass stream "$socket" rocind -f
refused '2 sockets were passed' --pass two "$socket" rocind -f
rm -f "$ROCIN_RUNTIME_DIR/elsewhere.sock"
refused 'does not lead to the socket' "$ROCIN_RUNTIME_DIR/elsewhere.sock" rocind -f &
refusal=$!
wait_for [ -S "$ROCIN_RUNTIME_DIR/elsewhere.sock" ] || fail 'no socket elsewhere'
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$ROCIN_RUNTIME_DIR/elsewhere.sock"
wait "$refusal" || fail 'a socket that clients do not find'

# The variables name another process: rocind must create a socket of its own.
rm -f "$ROCIN_RUNTIME_DIR/$name"
"$here/activation.py" --pass other "$socket.other" rocind -f --idle-ms=0 >"$work/manager" 2>&1 &
manager=$!
pids+=("$manager")
wait_for [ -S "$ROCIN_RUNTIME_DIR/$name" ] || fail "no socket: $(cat "$work/manager")"
rocind -f >"$work/second" 2>&1 && fail 'two of them'
grep -q "another rocind, process $(daemon_pid), holds " "$work/second" || fail "$(cat "$work/second")"
kill "$manager"
wait "$manager"
[ ! -e "$ROCIN_RUNTIME_DIR/$name" ] || fail 'its own socket is left'
echo 'ok: a socket for somebody else'

# systemd itself, as far as that works without a user manager.
if command -v systemd-socket-activate >/dev/null && [ -z "${ROCIN_TEST_PRELOAD:-}" ]; then
	rm -f "$socket"
	ln -sfn rocind.sock "$ROCIN_RUNTIME_DIR/$name"
	systemd-socket-activate --seqpacket -l "$socket" -E ROCIN_RUNTIME_DIR \
		"$ROCIN_BIN/rocind" -f >"$work/manager" 2>&1 &
	manager=$!
	pids+=("$manager")
	wait_for [ -S "$socket" ] || fail "systemd-socket-activate: $(cat "$work/manager")"
	verify_pair 'systemd-socket-activate' --type rc -n 50
	[ "$(daemon_pid)" = "$manager" ] || fail 'another rocind serves'
fi
