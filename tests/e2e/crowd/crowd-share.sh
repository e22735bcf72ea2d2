#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd-share.sh - compares the throughput of perftest's streams on two processors, which other
# programs use, too, with that of raw UDP that has as many messages in flight.
#
# usage: crowd-share.sh ROUNDS SECONDS [HOGS]
#
# Each round runs each stream once, so that other load of the machine disturbs all equally; ratios
# are computed within a round. The numbers are printed and not checked: the decisions on which they
# depend are tested in virtual time (unit.policy, unit.engine_crowd).
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=hogs_lib.sh
. "$(dirname "$0")/hogs_lib.sh"
rounds=$1 seconds=$2 hogs=${3:-20}
only_two_processors
start_hogs "$hogs"

# perftest does not count the first and the last second, so it runs two seconds longer.
perftest() { # PROGRAM SIZE: sets $rate to the messages per second
	local -a how=(-x 0 -F -s "$2" -D $((seconds + 2)) -f 1)
	next_port
	pair "$1" "$1" "${how[@]}" -p "$port" -- "$1" "${how[@]}" -p "$port" 127.0.0.1 >/dev/null
	rate=$(awk '$1 ~ /^[0-9]+$/ && NF == 5 { printf "%.0f\n", $5 * 1e6 }' "$work/client.out")
}
udp() { # SIZE
	"$ROCIN_TESTS/udp_stream" "$1" "$seconds" >"$work/udp.out" || fail 'raw UDP'
	rate=$(awk '{ print $NF }' "$work/udp.out")
}
for ((i = 1; i <= rounds; i++)); do
	for size in 64 32768; do
		udp "$size"
		[ "${rate:-0}" -gt 0 ] || fail "raw UDP: $(cat "$work/udp.out")"
		echo "round $i udp $size $rate"
		for program in ib_send_bw ib_write_bw; do
			perftest "$program" "$size"
			[ "${rate:-0}" -gt 0 ] || fail "$program: $(tail -5 "$work/client.out")"
			echo "round $i $program $size $rate"
		done
	done
done | tee "$work/rates"
[ "${PIPESTATUS[0]}" = 0 ] || exit 1
python3 - "$work/rates" <<'PY'
import statistics, sys
rate = {}
for line in open(sys.argv[1]):
    _, i, program, size, n = line.split()
    rate[program, int(size), int(i)] = float(n)
rounds = sorted({i for _, _, i in rate})
for size in (64, 32768):
    for program in ("ib_send_bw", "ib_write_bw"):
        ratios = [rate[program, size, i] / rate["udp", size, i] for i in rounds]
        median = statistics.median(rate[program, size, i] for i in rounds)
        print(f"ok: {program}, {size} bytes: {median:.0f} messages a second, "
              f"{statistics.median(ratios):.2f} of raw UDP's rate ({min(ratios):.2f} to {max(ratios):.2f})")
PY
