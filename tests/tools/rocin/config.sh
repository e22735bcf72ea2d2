#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# config.sh - `rocin config`: every setting, its value, where it came from.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"
unset ROCIN_RUNTIME_DIR ROCIN_WINDOW ROCIN_TEST_PRELOAD ROCIN_BIN
source=$ROCIN_SOURCE version=$ROCIN_VERSION
unset ROCIN_SOURCE ROCIN_VERSION
export XDG_RUNTIME_DIR=$work/xdg
mkdir -m 700 "$XDG_RUNTIME_DIR"

# row NAME: its value and source
row() { rocin config 2>/dev/null | awk -v n="$1" '$1 == n { print $2, $3 }'; }

is 'nothing is wrong with the defaults' "$(status rocin config)" 0
is 'and nothing is said about them' "$(cat "$work/err")" ''
is 'a default' "$(row ROCIN_GSO)" 'on default'
is 'the environment' "$(ROCIN_GSO=off row ROCIN_GSO)" 'off environment'
is 'an empty variable counts for nothing' "$(ROCIN_GSO='' row ROCIN_GSO)" 'on default'
is 'the runtime directory by another variable' "$(row ROCIN_RUNTIME_DIR)" \
	"$XDG_RUNTIME_DIR/rocin XDG_RUNTIME_DIR"
is 'the receive buffer that the kernel gives, which doubles it' "$(row ROCIN_RCVBUF | cut -d' ' -f1)" \
	"$(python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
	s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
except PermissionError:
	s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2048, "K", sep="")')"
is 'the rocind that would be started' "$(row ROCIN_ROCIND)" "$(realpath "$(command -v rocind)") found"
is 'only what is set' "$(ROCIN_CC=on:25G rocin config --set | awk '/_CC/ { print $2 }')" on:25G
is 'JSON says the same' "$(ROCIN_CC=on rocin config --json | python3 -c '
import json, sys
print({v["name"]: v["value"] + v["source"] for v in json.load(sys.stdin)}["ROCIN_CC"])')" \
	onenvironment

# Every variable that the code reads is there, and no other; a lab sets some for programs.
is 'all that the code reads' "$(rocin config | awk '{ print $1 }' | sort | xargs)" \
	"$(grep -RhoE '"ROCIN_[A-Z_]+"' --include='*.c' "$source/provider" "$source/transport" \
		"$source/sim" "$source/tools" | tr -d '"' | grep -v '^ROCIN_LAB_' | sort -u | xargs)"
is 'what a lab tells programs is known' \
	"$(ROCIN_LAB_RANK=0 rocin config 2>&1 >/dev/null)" ''

is 'a wrong value fails' "$(ROCIN_GSO=maybe status rocin config)" 1
is 'and is named' "$(cat "$work/err")" 'rocin: ROCIN_GSO is "maybe"; it may be on or off'
for wrong in ROCIN_NETDEVS=nosuch0 ROCIN_PCIE=bogus ROCIN_PCIE_DEVICE=bogus ROCIN_SANITIZE=bogus \
	ROCIN_RUNTIME_DIR=relative ROCIN_FAULT=lose ROCIN_IDLE_MS=soon; do
	is "$wrong fails" "$(status env "$wrong" rocin config)" 1
done
is 'a name that nobody knows' "$(ROCIN_GOS=off status rocin config)" 0
is 'is told' "$(cat "$work/err")" 'rocin: ROCIN_GOS is set, but nothing reads it'
is 'so is one that a known name begins with' "$(ROCIN_GS=off rocin config 2>&1 >/dev/null)" \
	'rocin: ROCIN_GS is set, but nothing reads it'
is 'and one that begins with a known name' "$(ROCIN_GSOS=off rocin config 2>&1 >/dev/null)" \
	'rocin: ROCIN_GSOS is set, but nothing reads it'

ROCIN_LINGER_US=7 sleep 3600 &
sleeper=$!
trap 'kill $sleeper; rm -rf "$work" "$runtime"' EXIT
until [ "$(cat /proc/$sleeper/comm)" = sleep ]; do :; done
is 'what another process was started with' \
	"$(ROCIN_LINGER_US=9 rocin config --pid $sleeper --set | awk '/LINGER/ { print $2, $3 }')" '7 process'
is 'a process that is none' "$(status rocin config --pid 999999999)" 1
is 'is told' "$(cat "$work/err")" \
	'rocin: the environment of process 999999999 cannot be read: No such file or directory'
is 'a pid that is none is wrong usage' "$(status rocin config --pid x)" 64
is 'version is the one under test' "$(rocin --version)" "rocin $version"
finish
