#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# congestion.sh - congestion control between two hosts: network namespaces connected by a slow veth
# pair, which marks packets that come too fast.
#
#   [host a: 10.78.0.1] va --(nftables marks above 4000 packets/s, 50 Mbit/s)--> vb [host b]
#
# RED is not in every kernel, so nftables marks packets: those that exceed a rate, before a queue
# builds up.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
two_hosts 78
tc -n "$a" qdisc add dev va root handle 1: tbf rate 50mbit burst 32k limit 2m 2>/dev/null ||
	skip 'the kernel has no tbf'
"${in_a[@]}" nft 'add table inet t;
	add chain inet t o { type filter hook postrouting priority 0; };
	add rule inet t o udp dport 4791 ip ecn 2 limit rate over 4000/second burst 30 packets ip ecn set ce' \
	2>/dev/null || skip 'nftables cannot mark'

run_a=("${in_a[@]}" rocin run --netdev va --cc=on:100M --)
run_b=("${in_b[@]}" rocin run --netdev vb --cc=on:100M --)
export ROCIN_GSO=off # so that the capture has no super-packets

snap=128 capture_wire vb "${in_b[@]}"

# Records the rate of the sender, and the queue of the slow device, while the test runs.
(
	while [ ! -e "$work/over" ]; do
		"${in_a[@]}" rocin stat --json >"$work/stat" 2>/dev/null &&
			[ -s "$work/stat" ] && cat "$work/stat" >>"$work/stats"
		"${in_a[@]}" rocin stat --qps >>"$work/text" 2>/dev/null
		tc -n "$a" -s qdisc show dev va | awk '/backlog/ { print $2 }' >>"$work/backlog"
		sleep 0.05
	done
) &
watcher=$!
pids+=("$watcher")
verify_pair 'rc through a link that marks' -n 600 --max 65536 --mtu 1024 --timeout 18
touch "$work/over"
wait "$watcher"
end_capture

tc -n "$a" -s qdisc show dev va | grep -q 'dropped 0,' || fail 'the queue overflowed'
echo "ok: nothing dropped, at most $(sort -n "$work/backlog" | tail -1) seen in the queue"

# The sender must have been limited below the rate of the link, and rocin stat must show it.
grep -q '"cc_phase": "recovery"' "$work/stats" || fail 'rocin stat shows no limit'
grep -Eq ' [0-9.]+M/s (recovery|additive|hyper) ' "$work/text" || fail "$(tail -3 "$work/text")"
rates=$(sed -n 's/.*"cc_rate_kbps": \([1-9][0-9]*\).*/\1/p' "$work/stats" | sort -n)
[ -n "$rates" ] || fail 'no rate was seen'
[ "$(tail -1 <<<"$rates")" -lt 100000 ] || fail "rates: $rates"
handled=$(sed -n 's/.*"rp_cnp_handled": \([0-9]*\).*/\1/p' "$work/stats" | sort -n | tail -1)
[ "$handled" -gt 0 ] || fail 'no notification has reached the sender'
echo "ok: $handled notifications seen, rates of $(head -1 <<<"$rates") to $(tail -1 <<<"$rates") kbit/s"

# In the capture: packets arrive marked, and b sends CNPs to a: opcode 0x81, BECN, DSCP 48, ECT, and
# 16 reserved bytes that are 0.
command -v tshark >/dev/null || skip 'tshark is not installed'
count() { tshark -r "$work/wire.pcap" -Y "$1" 2>/dev/null | wc -l; }
marked=$(count 'ip.dsfield.ecn == 3')
cnps=$(count 'udp.payload[0] == 81')
right=$(count 'udp.payload[0] == 81 && udp.payload[4] == 40 && ip.dsfield == 0xc2 && ip.len == 60 &&
	ip.src == 10.78.0.2 && udp.payload[8:20] == 00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00')
[ "$marked" -gt 0 ] || fail 'nothing came marked'
[ "$cnps" -gt 0 ] || fail 'no notification on the wire'
[ "$cnps" -le "$marked" ] || fail "$cnps notifications for $marked marks"
[ "$right" = "$cnps" ] || fail "$right of $cnps notifications are as they should be"
[ "$(count 'ip.dsfield.ecn == 0')" = 0 ] || fail 'a packet that cannot be marked'
echo "ok: $marked packets came marked, $cnps notifications went back"
