#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# refused.sh - the host of a peer refuses packets to UDP port 4791 by ICMP: this is logged once, and
# counted. Packets that are dropped silently are not.
#
# usage: refused.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
command -v nft >/dev/null || skip 'nft is not installed'
net=$((10 + $$ % 80))
two_hosts $net
"${in_b[@]}" nft add table inet f 2>/dev/null || skip 'no nftables here'
"${in_b[@]}" nft add chain inet f in '{ type filter hook input priority 0; }' || skip 'no nftables here'
"${in_b[@]}" nft 'add rule inet f in udp dport 5999 reject' 2>/dev/null || skip 'nftables cannot reject here'

# Hosts limit the rate of ICMP messages, and the runs of this test follow quickly, so the limit is
# removed.
"${in_b[@]}" sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 2>/dev/null

"${in_a[@]}" rocin doctor --netdev va | grep -q '^note .*firewall .*must let UDP port 4791 through' ||
	fail 'rocin doctor does not name the port'

# The programs exchange their QPNs by TCP. The client runs until eight timeouts of 268 ms have
# passed, or SCALE times as long, so that `rocin stat` can see it.
ends() { # GID-INDEX SCALE
	local pid
	next_port
	"${in_b[@]}" timeout 1800 rocin run --netdev vb -- ibv_rc_pingpong -s 64 -g "$1" -p "$port" >"$work/b.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	heard() { [ -n "$("${in_b[@]}" ss -ltnH "sport = :$port")" ]; }
	wait_for heard || fail "the server: $(cat "$work/b.out")"
	ROCIN_LOG=warn ROCIN_TIMEOUT_SCALE=$2 "${in_a[@]}" timeout 1800 rocin run --netdev va -- \
		ibv_rc_pingpong -s 64 -g "$1" -p "$port" "${peers[0]}" >"$work/a.out" 2>&1 &
	client=$!
	pids+=("$client")
	refused=0
	while kill -0 "$client" 2>/dev/null; do
		now=$(counter icmp_refused "${in_a[@]}")
		[ "$now" -le "$refused" ] || refused=$now
		sleep 0.1
	done
	wait "$client" && fail 'the program does not notice'
	end_now "$pid"
	wait "$pid" 2>/dev/null
	grep -q 'status.*12' "$work/a.out" || fail "another end: $(cat "$work/a.out")"
	lines=$(grep -c 'refuses packets' "$work/a.out")
}
peers=("10.$net.0.2")
[ ! -e /proc/net/if_inet6 ] || peers+=("fd$net::2")
for peer in "${peers[@]}"; do
	case $peer in *:*) index=1 ;; *) index=0 ;; esac
	for how in port-unreachable admin-prohibited; do
		"${in_b[@]}" nft flush chain inet f in
		"${in_b[@]}" nft "add rule inet f in udp dport 4791 reject with icmpx $how"
		# If the machine is so busy that the client ends before rocin stat has seen it, the
		# client gets more time.
		for scale in 2 8 32 128 512; do
			ends "$index" "$scale"
			[ "$refused" = 0 ] || break
		done
		[ "$lines" = 1 ] || fail "$how: $lines lines: $(cat "$work/a.out")"
		[ "$refused" -ge 1 ] || fail "$how: icmp_refused is $refused"
		echo "ok: $(grep -m1 'refuses packets' "$work/a.out"), counted $refused times"
	done
	grep -q "$peer refuses packets: .*firewall.* UDP port 4791" "$work/a.out" || fail "$(cat "$work/a.out")"
done
"${in_b[@]}" nft flush chain inet f in
"${in_b[@]}" nft 'add rule inet f in udp dport 4791 drop'
peer=${peers[0]}
ends 0 2
[ "$lines" = 0 ] && [ "$refused" = 0 ] || fail "silence: $lines lines, counted $refused"
echo 'ok: silence is no refusal'
