#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# naks-perftest.sh - another user of the host, who knows the addresses and the queue pair, guesses
# PSNs of ib_write_bw and forges NAKs: they end it where everybody's packets count, and do nothing
# otherwise; whether its two ends talk through shared memory or by UDP.
#
# usage: naks-perftest.sh FORGE_NAKS
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
[ "$(id -u)" = 0 ] || skip 'becoming another user needs root'
command -v ib_write_bw >/dev/null || skip 'no perftest here'
quick_perftest
forge_naks=$1
step=256 # more packets than that are in flight

# attack NEIGHBOURS LOCAL SECONDS ROUNDS: ib_write_bw under forged NAKs; sets $status, $work/naks
moving() { [ "$(rocin stat --counters 2>/dev/null | awk '$1 == "rcvd_pkts" { n += $2 } END { print n + 0 }')" -gt 1000 ]; }
moving_or_over() { moving || ! kill -0 "$writer" 2>/dev/null; }
over() { ! kill -0 "$1" 2>/dev/null; }
begun() { [ -s "$work/naks" ] || over "$naks"; }
attack() {
	local server writer naks qpn
	local -a settings=(env "ROCIN_NEIGHBOURS=$1" "ROCIN_LOCAL=$2")
	next_port
	"${settings[@]}" rocin run --netdev "lo:$addr_a" -- stdbuf -oL \
		ib_write_bw -x 0 -F -D "$3" -s 65536 -p "$port" >"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for listening "$server" || fail "no server: $(cat "$work/server.out")"
	"${settings[@]}" rocin run --netdev "lo:$addr_b" -- stdbuf -oL \
		ib_write_bw -x 0 -F -D "$3" -s 65536 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	writer=$!
	pids+=("$writer")
	wait_for moving_or_over || fail "nothing moves: $(cat "$work/client.out")"
	qpn=$(sed -n 's/.*local address:.*QPN \(0x[0-9a-f]*\).*/\1/p' "$work/client.out")
	rm -f "$work/naks"
	"$forge_naks" "$addr_b" "$addr_a" "$qpn" "$step" "$4" >"$work/naks" 2>&1 &
	naks=$!
	pids+=("$naks")
	wait_for begun || fail 'the attack does not begin'
	grep -q '^attacking' "$work/naks" || fail "no attack: $(cat "$work/naks")"
	wait_for over "$writer" || fail "ib_write_bw does not end"
	wait "$writer"
	status=$?
	kill "$naks" 2>/dev/null
	wait "$naks" 2>/dev/null
	end_now "$server"
	rocin stop >/dev/null 2>&1
}

for local in auto off; do
	attack all "$local" 300 1000000
	[ "$status" != 0 ] || fail "all, $local: no NAK has ended it"
	grep -qiE 'invalid|error|fail' "$work/client.out" ||
		fail "all, $local: $(tail -3 "$work/client.out")"
	attack user "$local" 3 1000000
	[ "$status" = 0 ] || fail "user, $local: status $status: $(tail -3 "$work/client.out")"
	grep -qE '^ *65536 +[0-9]+ ' "$work/client.out" || fail "user, $local: no result"
done
echo 'ok: forged NAKs end ib_write_bw where everybody counts, and nowhere else'
