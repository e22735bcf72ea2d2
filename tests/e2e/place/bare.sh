#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bare.sh - containers that lack /proc, /dev/shm, or both.
#
# usage: bare.sh [inside WHAT]   (the second form runs in a mount namespace of its own)
# shellcheck disable=SC2034 # by lib.sh
memory=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
if [ "${1:-}" = inside ]; then
	case $2 in *proc*) mount -t tmpfs none /proc ;; esac
	case $2 in *shm*) mount -t tmpfs -o ro none /dev/shm ;; esac
	# The default directory is used, which is not in /dev/shm if that cannot be written.
	unset ROCIN_RUNTIME_DIR XDG_RUNTIME_DIR
	export TMPDIR=$work
	next_port
	pair "without $2" ibv_rc_pingpong -g 0 -c -e -p "$port" -- \
		ibv_rc_pingpong -g 0 -c -e -p "$port" 127.0.0.1
	rocin doctor --netdev "lo:$addr_a" >"$work/doctor" || fail "rocin doctor: $(cat "$work/doctor")"
	grep -q '^ok .*through shared memory' "$work/doctor" || fail 'rocin doctor does not tell of local wires'
	rocin stop >/dev/null
	exit 0
fi
[ "$(id -u)" = 0 ] || skip 'mount namespaces need root'
unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
# The leak checker needs /proc, and rocind does not inherit the variable that turns it off.
all='proc shm proc+shm'
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || all=shm
for what in $all; do
	unshare -m "$0" inside "$what" || fail "without $what"
done
