#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-check.sh - `rocin dump --check` finds no violations in the packets of the distribution's
# programs. All programs of a kind are in one capture, in which queue pair numbers occur again.
#
# usage: capture-check.sh plain|lossy
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
how=$1
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
[ "$how" = plain ] || export ROCIN_FAULT=drop=2%,dup=1%,reorder=1%,seed=4

# judged_only COMMAND...: runs a pair of programs; only the packets are checked. With packet loss,
# the last acknowledgement of a program that has already ended may be lost, so its peer may fail.
judged_only() {
	if [ "$how" = plain ]; then
		"$@"
	elif ! ("$@") >"$work/said" 2>&1; then
		grep -qiE 'retry counter exceeded|status 12|endpoint timeout' "$work/said" || fail "$(cat "$work/said")"
		echo "ok: ${*:2:4}, whose peer had gone"
	fi
}

# both COMMAND...: runs the command as a server and as its client
both() {
	next_port
	judged_only pair "$*" "$@" -p "$port" -- "$@" -p "$port" 127.0.0.1
}

# judged NAME: ends the capture; it must contain no violations
judged() {
	end_capture_live
	rocin dump --check "$work/$1.pcapng" >"$work/out" || fail "$1: $(grep -B1 -A1 violation "$work/out" | head -40)"
	# Without loss the capture is complete, so there must be no suspicions either.
	[ "$how" = lossy ] || grep -q ' 0 suspicions$' "$work/out" || fail "$1: $(head -40 "$work/out")"
	echo "ok: $1: $(tail -1 "$work/out")"
}

capture --buffer=65536 -w "$work/pingpong.pcapng"
for i in $(seq 10); do
	both ibv_rc_pingpong -g 0 -n 100 -s $((700 * i))
done
both ibv_srq_pingpong -g 0 -n 100 -q 4
[ "$how" = lossy ] || both ibv_uc_pingpong -g 0 -n 100
judged pingpong

capture --buffer=65536 -w "$work/perftest.pcapng"
for test in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat; do
	both "$test" -x 0 -F -n 200
done
both ib_send_bw -x 0 -F -n 200 -q 4 -s 5000
both ib_write_bw -x 0 -F -n 200 -q 4 -s 20000 -b
both ib_read_bw -x 0 -F -n 200 -q 4 -s 20000 -o 1
both ib_atomic_bw -x 0 -F -n 200 -o 1
judged perftest

capture --buffer=65536 -w "$work/rdmacm.pcapng"
for _ in $(seq 5); do
	judged_only play rping rping -s -a "$server" -C 20 -V -- rping -c -a "$server" -C 20 -V
done
judged_only play ucmatose ucmatose -b "$server" -c 8 -C 10 -- ucmatose -s "$server" -c 8 -C 10
judged rdmacm

command -v ucx_perftest >/dev/null || exit 0
export UCX_TLS=rc_v UCX_NET_DEVICES=rocin0:1
# UCX connects RC by UD packets, and drops a peer that does not answer for 30 s.
export UCX_UD_VERBS_TIMEOUT=30m
capture --buffer=65536 -w "$work/ucx.pcapng"
for test in ucp_put_bw ucp_get ucp_fadd tag_lat; do
	next_port
	judged_only pair "ucx_perftest $test" ucx_perftest -p "$port" -- \
		ucx_perftest -p "$port" -t "$test" -s "$([ "$test" = ucp_fadd ] && echo 8 || echo 3000)" -n 100 -w 5 127.0.0.1
done
judged ucx
