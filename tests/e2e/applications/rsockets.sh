#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rsockets.sh - an unmodified program that uses TCP sockets runs over RDMA: librspreload replaces
# its socket calls by rsockets, which use the Rocin device.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
command -v iperf >/dev/null || skip 'iperf is not installed'
preload=$(dpkg -L librdmacm1 2>/dev/null | grep '/rsocket/librspreload\.so$' | head -1)
[ -e "$preload" ] || skip 'there is no librspreload'
limit=1800
# shellcheck disable=SC2016 # by the shell that is started
over_rdma=(bash -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$preload")

for options in '' -r; do
	next_port
	# shellcheck disable=SC2086 # none, or one
	wire='RC_WRITE_*_IMM RC_WRITE_* RC_ACK' play "iperf $options" "${over_rdma[@]}" iperf -s -P 1 -B "${server:?}" -p "$port" -- \
		"${over_rdma[@]}" iperf -c "${server:?}" -p "$port" -n 20M $options
	grep -q '20.0 MBytes' "$work/client.out" || fail "$(tail -3 "$work/client.out")"
done
