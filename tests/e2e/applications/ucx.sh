#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ucx.sh - UCX on its verbs transports, between two processes.
#
# usage: ucx.sh rc | ud
# ucx_info lists the transport, ucp_data checks each byte of all kinds of traffic, and ucx_perftest
# runs its own tests.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
kind=$1
for program in ucx_info ucx_perftest; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
export UCX_TLS=${kind}_v UCX_NET_DEVICES=rocin0:1
# UCX drops a peer that does not answer for 30 s; on a busy machine an answer may take longer.
export UCX_UD_VERBS_TIMEOUT=30m

rocin run --netdev "lo:$addr_a" -- ucx_info -d >"$work/info.out" 2>&1 ||
	fail "ucx_info: $(tail -3 "$work/info.out")"
grep -q "Transport: ${kind}_verbs" "$work/info.out" || fail "ucx_info has no ${kind}_verbs"
if [ "$kind" = rc ]; then
	! grep -E "ERROR|WARN" "$work/info.out" || fail "ucx_info complains"
fi
echo "ok: ucx_info lists ${kind}_verbs"

# ucp_pair NAME DEVICE-B DEVICE-A: runs both ends of ucp_data
ucp_pair() {
	local pid status
	rm -f "$work/meet"
	timeout "$limit" rocin run --netdev "$2" -- "$ROCIN_TESTS/ucp_data" b "$work/meet" \
		>"$work/b.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	timeout "$limit" rocin run --netdev "$3" -- "$ROCIN_TESTS/ucp_data" a "$work/meet" \
		>"$work/a.out" 2>&1
	status=$?
	[ "$status" = 0 ] || kill "$pid" 2>/dev/null
	if ! wait "$pid" || [ "$status" != 0 ]; then
		tail -n 15 "$work/a.out" "$work/b.out"
		rocin stat
		fail "$1 (status $status)"
	fi
	echo "ok: $1: $(tail -1 "$work/b.out")"
}
ucp_pair 'ucp_data' "lo:$addr_a" "lo:$addr_b"
ROCIN_FAULT=drop=1% ucp_pair 'ucp_data, 1 % of the packets lost' "lo:$addr_a" "lo:$addr_b"

perf() {
	next_port
	pair "$1, $2 bytes" ucx_perftest -p "$port" -- \
		ucx_perftest -p "$port" -t "$1" -s "$2" -n "$3" -w 5 127.0.0.1
}
for test in tag_lat tag_bw tag_sync_lat ucp_am_lat ucp_am_bw stream_lat stream_bw \
	ucp_put_lat ucp_put_bw ucp_get; do
	for size in 8 4096 200000; do
		perf "$test" "$size" 50
	done
done
for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
	perf "$test" 8 50
done

# Checks which packets each operation of UCX's transport layer (UCT) sends. The layer above (UCP:
# ucp_fadd and so on) uses atomics of a device only if it has AND, OR and SWAP, which verbs do not
# have. So UCP sends messages instead, with rc_verbs of any device.
uct() { # TEST SIZE OPTION...
	local test=$1 size=$2
	shift 2
	next_port
	pair "$test, $size bytes" ucx_perftest -p "$port" -x "${kind}_verbs" -d rocin0:1 -- \
		ucx_perftest -p "$port" -x "${kind}_verbs" -d rocin0:1 -t "$test" -s "$size" -n 50 \
		-w 5 "$@" 127.0.0.1
}
if [ "$kind" = rc ]; then
	wire='RC_FETCH_ADD RC_ATOMIC_ACK RC_SEND_ONLY? RC_ACK?' uct fadd 8
	wire='RC_FETCH_ADD RC_ATOMIC_ACK RC_SEND_ONLY? RC_ACK?' uct add_mr 8
	wire='RC_CMP_SWAP RC_ATOMIC_ACK RC_SEND_ONLY? RC_ACK?' uct cswap 8
	wire='RC_WRITE_ONLY RC_ACK RC_SEND_ONLY?' uct put_bw 8 -D short
	wire='RC_WRITE_FIRST RC_WRITE_LAST RC_WRITE_*? RC_ACK RC_SEND_ONLY?' uct put_bw 65536 -D zcopy
	wire='RC_READ_REQUEST RC_READ_RESPONSE_ONLY RC_READ_RESPONSE_*? RC_SEND_ONLY? RC_ACK?' \
		uct get 1024 -D zcopy
	wire='RC_SEND_ONLY RC_ACK RC_WRITE_ONLY?' uct am_lat 8
	wire='RC_SEND_ONLY RC_ACK RC_*? UD_SEND_ONLY' perf ucp_fadd 8 50
else
	wire=UD_SEND_ONLY uct am_lat 8
	wire=UD_SEND_ONLY perf ucp_fadd 8 50
fi
