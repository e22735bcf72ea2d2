#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# perftest-kinds.sh - each operation of perftest, over the connections that send again what is
# lost.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
perf() { # PROGRAM OPTION...
	next_port
	pair "$*" "$@" -x 0 -F -p "$port" -n 500 -- "$@" -x 0 -F -p "$port" -n 500 127.0.0.1
}
for connection in RC XRC; do
	perf ib_send_bw -c "$connection" -s 4096
	perf ib_write_bw -c "$connection" -s 4096
	perf ib_read_bw -c "$connection" -s 4096
	perf ib_atomic_bw -c "$connection" -A FETCH_AND_ADD
	perf ib_atomic_bw -c "$connection" -A CMP_AND_SWAP
done
for program in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat; do
	perf "$program"
done
