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
step=256 # fewer than the packets of the requests that are outstanding

moving() { [ "$(counter rcvd_pkts)" -gt 1000 ]; }
over() { ! kill -0 "$1" 2>/dev/null; }
moving_or_over() { moving || over "$writer"; }

# start_attack NEIGHBOURS LOCAL ROUNDS: ib_write_bw under forged NAKs; sets $server, $writer, $naks.
# The server is stopped: the requests that are outstanding stay the same, so that each round
# through all PSNs has some of them, however slow the machine is. With ACK timeouts of hours
# (-u 31) the client does not give up meanwhile.
start_attack() {
	local qpn
	local -a settings=(env "ROCIN_NEIGHBOURS=$1" "ROCIN_LOCAL=$2")
	next_port
	setsid "${settings[@]}" rocin run --netdev "lo:$addr_a" -- stdbuf -oL \
		ib_write_bw -x 0 -F -u 31 -n 1000000 -s 65536 -p "$port" >"$work/server.out" 2>&1 &
	server=$!
	pids+=("$server")
	wait_for listening "$server" || fail "no server: $(cat "$work/server.out")"
	"${settings[@]}" rocin run --netdev "lo:$addr_b" -- stdbuf -oL \
		ib_write_bw -x 0 -F -u 31 -n 1000000 -s 65536 -p "$port" 127.0.0.1 >"$work/client.out" 2>&1 &
	writer=$!
	pids+=("$writer")
	wait_for moving_or_over || fail "nothing moves: $(cat "$work/client.out")"
	kill -STOP "$server"
	qpn=$(sed -n 's/.*local address:.*QPN \(0x[0-9a-f]*\).*/\1/p' "$work/client.out")
	"$forge_naks" "$addr_b" "$addr_a" "$qpn" "$step" "$3" >"$work/naks" 2>&1 &
	naks=$!
	pids+=("$naks")
}

end_attack() {
	kill "$naks" 2>/dev/null
	wait "$naks" 2>/dev/null
	end_now "$server" "$writer"
	wait "$server" "$writer" 2>/dev/null
	rocin stop >/dev/null 2>&1
}

for local in auto off; do
	start_attack all "$local" 1000000
	wait_for over "$writer" || fail "all, $local: no NAK has ended it: $(cat "$work/naks")"
	wait "$writer" && fail "all, $local: it has ended well: $(cat "$work/client.out")"
	grep -qiE 'invalid|error|fail' "$work/client.out" ||
		fail "all, $local: $(tail -3 "$work/client.out")"
	end_attack

	start_attack user "$local" 2
	wait_for over "$naks" || fail "user, $local: no two rounds: $(cat "$work/naks")"
	grep -q ' packets in ' "$work/naks" || fail "user, $local: no attack: $(cat "$work/naks")"
	over "$writer" && fail "user, $local: it has ended: $(cat "$work/client.out")"
	before=$(counter rcvd_pkts)
	kill -CONT "$server"
	goes_on() { [ "$(counter rcvd_pkts)" -gt $((before + 1000)) ] || over "$writer"; }
	wait_for goes_on || fail "user, $local: nothing moves any more"
	over "$writer" && fail "user, $local: it has ended: $(cat "$work/client.out")"
	end_attack
done
echo 'ok: forged NAKs end ib_write_bw where everybody counts, and nowhere else'
