#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm-perftest.sh - perftest and qperf, connected through librdmacm.
#
# usage: rdmacm-perftest.sh lo|veth4 [long]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
where=$1
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"

# The client of perftest connects for a second time at once, without waiting until the server
# listens again. rocind keeps the request for a moment, but on a busy machine this may not suffice;
# the run is then repeated.
measure() { # NAME PROGRAM OPTION...
	local name=$1 attempt
	shift
	for attempt in 1 2; do
		next_port
		(play "$name" "$@" -R -n 100 -p "$port" -- "$@" -R -n 100 -p "$port" "$server") \
			>"$work/measured" 2>&1 && break
	done
	cat "$work/measured"
	grep -q '^ok: ' "$work/measured" || fail "$name"
}

measure 'WRITE, four queue pairs' ib_write_bw -q 4
measure 'READ' ib_read_lat
measure 'atomics, with a type of service' ib_atomic_bw --tos 32
measure 'SEND, both ways, waiting for events' ib_send_bw -e -b
measure 'UD' ib_send_bw -c UD
if [ "${2:-}" = long ]; then
	for program in ib_{write,read,send,atomic}_{bw,lat}; do
		measure "$program" "$program"
		# perftest does not support events for WRITE.
		[[ $program = ib_write_* ]] || measure "$program, events" "$program" -e
	done
	measure 'UD, round trips' ib_send_lat -c UD
	measure 'a shared receive queue' ib_send_bw -r 64 --use-srq
fi

# qperf connects to its server by TCP. Each of its tests takes at least a second.
command -v qperf >/dev/null || exit 0
next_port
tcp_port=$port
start_server qperf -lp "$port"
tcp_port=
tests=(rc_rdma_write_lat)
[ "${2:-}" != long ] || tests=(rc_lat rc_bw rc_bi_bw rc_rdma_write_bw rc_rdma_read_bw
	rc_rdma_read_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add)
"${run_client[@]}" timeout 1800 qperf "$server" -lp "$port" -cm 1 -t 1 "${tests[@]}" \
	>"$work/client.out" 2>&1 || fail "qperf: $(cat "$work/client.out")"
[ "$(grep -cE '(latency|bw|msg_rate) *=' "$work/client.out")" -ge "${#tests[@]}" ] ||
	fail "qperf: $(cat "$work/client.out")"
stop_server
echo "ok: qperf ${tests[*]}"
