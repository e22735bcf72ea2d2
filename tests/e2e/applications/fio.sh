#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fio.sh - fio's rdma engine: one job receives, another sends by RDMA WRITE and by RDMA READ.
#
# usage: fio.sh lo|veth4
# SEND is not tested: fio may send before its peer has posted the receives, and connects without RNR
# retries, so the test would fail at random on any device.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=$1
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
command -v fio >/dev/null || skip 'fio is not installed'

size=$((16 << 20))
declare -A wire_of=(
	[write]='RC_WRITE_FIRST RC_WRITE_MIDDLE RC_WRITE_LAST RC_SEND_* RC_ACK'
	[read]='RC_READ_REQUEST RC_READ_RESPONSE_FIRST RC_READ_RESPONSE_MIDDLE RC_READ_RESPONSE_LAST
		RC_SEND_* RC_ACK'
)
for verb in write read; do
	next_port
	job=(--name=job --ioengine=rdma --port="$port" --bs=64k --size="$size" --iodepth=8)
	wire=${wire_of[$verb]} play "fio by $verb" fio "${job[@]}" --rw=read -- \
		fio --output-format=json --output="$work/job" "${job[@]}" \
		--rw=write --verb="$verb" --hostname="$server"
	python3 - "$work/job" "$size" <<-'P' || fail "fio by $verb: not all of it"
		import json, sys
		job = json.load(open(sys.argv[1]))["jobs"][0]
		sys.exit(job["error"] != 0 or job["write"]["io_bytes"] != int(sys.argv[2]))
	P
done
