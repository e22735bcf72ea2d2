#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# closers.sh - programs close descriptors that they have not opened, by libc or by system calls, all
# at once or one at a time, with epoll and with io_uring.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

run() {
	timeout 1800 rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/closers" "$@" \
		>"$work/out" 2>&1
}

for io in plain uring; do
	[ "$io" = plain ] || export ROCIN_IO=uring
	run || fail "$io: status $?: $(cat "$work/out")"
	run range || fail "$io: all: status $?: $(cat "$work/out")"
	for n in $(seq 0 63); do
		run "$n"
		status=$?
		[ "$status" != 3 ] || break
		[ "$status" = 0 ] || fail "$io: number $n: status $status: $(cat "$work/out")"
	done
	[ "$n" -ge 4 ] || fail "$io: there are but $n"
	echo "ok: $io: $n descriptors"
done
