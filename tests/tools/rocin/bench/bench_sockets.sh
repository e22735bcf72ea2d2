#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bench_sockets.sh - what `rocin bench` sends by sockets arrives as it was sent; no device is there.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD

is 'sockets alone need no device' "$(status rocin bench --rounds 1 --slice-ms 2 --only tcp_lat \
	--only tcp_bw --only udp_lat --only udp_bw --only udp_crc_bw)" 0
is 'and have a figure each' "$(grep -cE ' (GB/s|us|M/s) ' "$work/out")" 5
finish
