#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# faults.sh - perftest, and a check of every byte of every operation, while 5 % of the packets are
# lost, 5 % are duplicated and 5 % are reordered, in both directions.
#
# usage: faults.sh ib_write_bw|ib_send_bw|verify
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest
program=$1
limit=1800
export ROCIN_FAULT=drop=5%,dup=5%,reorder=5%,seed=11

# perf NAME OPTION...: both ends must finish with a result, however low the throughput is
perf() {
	local name=$1
	shift
	next_port
	pair "$program $name, $ROCIN_FAULT" "$program" -x 0 -F -p "$port" -u 14 "$@" -- \
		"$program" -x 0 -F -p "$port" -u 14 "$@" 127.0.0.1
	grep -qE '^ *[0-9]+ +[0-9]+ ' "$work/client.out" || fail "$name: no result printed"
}

# Checks that the faults have occurred: many PSNs of the requester occur twice, and many are lower
# than the one before.
harmed() {
	rocin dump "$1" | awk '
		/RC_(SEND|RDMA)/ {
			for (i = 1; i < NF; i++)
				if ($i == "psn")
					psn = $(i + 1)
			if (seen[psn]++)
				again++
			if (psn < last)
				back++
			last = psn
			count++
		}
		END {
			printf "ok: of %d packets %d came again, %d went back\n", count, again, back
			exit !(again > 20 && back > 10)
		}' || fail 'few packets were lost, sent twice or out of order'
}

case $program in
ib_write_bw)
	perf '2 QPs' -c RC -s 65536 -n 25 -q 2
	;;
ib_send_bw)
	perf 'SRQ' -c RC -s 4096 -n 150 --use-srq -q 2
	;;
verify)
	run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcap" --)
	verify_pair "rc, $ROCIN_FAULT" --type rc -n 400 --lossy --timeout 14
	harmed "$work/a.pcap"
	;;
*)
	fail "no such program: $program"
	;;
esac
