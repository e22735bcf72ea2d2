#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# doctor-ask.sh - `rocin doctor --peer` asks the rocind of another host: it finds open ports,
# firewalls that drop packets silently, paths with a smaller MTU, and differences of the other end.
#
#   [$a: 10.NET.0.1, fdNET::1] va --- ra [router] rb --- vb [$b: 10.NET.1.2, fdNET:1::2]
#
# usage: doctor-ask.sh
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
net=$((10 + $$ % 80))
peer4=10.$net.1.2 peer6=fd$net:1::2
a=rocin-a-$$ r=rocin-r-$$ b=rocin-b-$$
for ns in "$a" "$r" "$b"; do
	new_namespace "$ns"
done
in_a=(nsenter --net="/run/netns/$a") in_r=(nsenter --net="/run/netns/$r") in_b=(nsenter --net="/run/netns/$b")
ip -n "$a" link add va mtu 9000 type veth peer name ra mtu 9000 netns "$r"
ip -n "$b" link add vb mtu 9000 type veth peer name rb mtu 9000 netns "$r"
"${in_r[@]}" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 2>/dev/null
"${in_b[@]}" sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 2>/dev/null
# address NAMESPACE INTERFACE IPv4 IPv6 GATEWAY4 GATEWAY6
address() {
	ip -n "$1" addr add "$3/24" dev "$2"
	ip -n "$1" addr add "$4/64" dev "$2" nodad 2>/dev/null
	ip -n "$1" link set "$2" up
	[ -z "${5:-}" ] || ip -n "$1" route add default via "$5"
	[ -z "${6:-}" ] || ip -n "$1" -6 route add default via "$6" 2>/dev/null
}
address "$r" ra "10.$net.0.254" "fd$net::fe"
address "$r" rb "10.$net.1.254" "fd$net:1::fe"
address "$a" va "10.$net.0.1" "fd$net::1" "10.$net.0.254" "fd$net::fe"
address "$b" vb "$peer4" "$peer6" "10.$net.1.254" "fd$net:1::fe"
both_settled() { settled "$a" va && settled "$b" vb; }
wait_for both_settled || fail 'the veth pairs do not come up'

# asks PEER STATUS PATTERN...: each pattern must match a line of the output. When an answer is
# expected, the timeouts are long, so that a slow answer on a busy machine does not count as
# silence.
patience=20
asks() {
	local peer=$1 status=$2 rc pattern
	shift 2
	ROCIN_TIMEOUT_SCALE=$patience "${in_a[@]}" rocin doctor --netdev va --peer "$peer" >"$work/out" 2>&1
	rc=$?
	for pattern in "$@"; do
		grep -qE "$pattern" "$work/out" || fail "no \"$pattern\": $(tail -6 "$work/out")"
	done
	[ "$rc" = "$status" ] || fail "status $rc: $(tail -6 "$work/out")"
}

# has_device SETTING...: runs a program with a device in $b until ends_device
has_device() {
	rm -f "$work/ready" "$work/done"
	"${in_b[@]}" env "$@" rocin run --netdev vb -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" >"$work/hold" 2>&1 &
	holder=$!
	pids+=("$holder")
	wait_for test -e "$work/ready" || fail "no queue pair: $(cat "$work/hold")"
}
ends_device() {
	touch "$work/done"
	wait "$holder" || fail "hold_qp: $(cat "$work/hold")"
	"${in_b[@]}" rocin stop >/dev/null
}

patience=1
asks "$peer4" 1 "^FAULT  $peer4 refuses packets: nobody listens there on UDP port 4791"
patience=20
echo 'ok: no Rocin there'

has_device A=1
peers=("$peer4")
[ ! -e /proc/net/if_inet6 ] || peers+=("$peer6")
for peer in "${peers[@]}"; do
	asks "$peer" 0 "^ok     $peer answers within [0-9]+ us, so UDP port 4791 is open in both directions; rocin .* is there, too" \
		'^ok     packets of path MTU 4096 get through in both directions' \
		'^ok     ICRCs fit, and are checked alike' '^ok     the clocks of both hosts agree to within'
	echo "ok: $(grep -o "$peer answers within [0-9]* us" "$work/out")"
done

# A firewall drops the question, or the answer.
drops() { # NAMESPACE-WORDS HOOK
	local -n where=$1
	"${where[@]}" nft add table inet f && "${where[@]}" nft add chain inet f c "{ type filter hook $2 priority 0; }" &&
		"${where[@]}" nft add rule inet f c udp dport 4791 drop
}
opens() {
	local -n where=$1
	"${where[@]}" nft delete table inet f
}
if command -v nft >/dev/null && drops in_b input 2>/dev/null; then
	patience=1
	asks "$peer4" 1 "^FAULT  $peer4 refuses nothing and does not answer: a firewall drops packets in silence"
	opens in_b
	drops in_a input || fail 'nftables'
	asks "$peer4" 1 "^FAULT  $peer4 refuses nothing and does not answer: a firewall drops packets in silence"
	opens in_a
	echo 'ok: a firewall that drops in silence, in either direction'
	# NAT changes addresses, which makes ICRCs wrong.
	if "${in_r[@]}" nft add table ip n && "${in_r[@]}" nft add chain ip n c '{ type filter hook forward priority 0; }' &&
		"${in_r[@]}" nft add rule ip n c ip saddr "$peer4" ip saddr set "10.$net.1.3" 2>/dev/null; then
		asks "$peer4" 1 "^FAULT  answers of $peer4 come with a wrong ICRC: something on the way changes packets, such as NAT"
		echo 'ok: addresses that are changed on the way'
	fi
	"${in_r[@]}" nft delete table ip n
else
	echo 'note: no nftables here: what a firewall drops was not seen'
fi
patience=20

# The router's path to $b has a smaller MTU, in both directions.
"${in_r[@]}" ip link set rb mtu 1500
"${in_b[@]}" ip link set vb mtu 1500
asks "$peer4" 1 '^FAULT  packets of path MTU 4096, which rocin0 has, get lost on the way.*, and those of 1024 get through: ip link set va mtu 1120'
grep -q 'the interface there carries 1024' "$work/out" || fail "$(tail -6 "$work/out")"
"${in_b[@]}" ip link set vb mtu 9000
"${in_r[@]}" ip link set rb mtu 2200
asks "$peer4" 1 'packets of path MTU 4096, which rocin0 has, get lost on the way, and those of 2048 get through: ip link set va mtu 2144'
"${in_r[@]}" ip link set rb mtu 9000
"${in_a[@]}" ip route flush cache
ends_device
echo 'ok: a path, and an interface, that carry less'

has_device ROCIN_ICRC=exact
asks "$peer4" 0 '^note   ICRCs fit, but ROCIN_ICRC is exact there and not here'
ROCIN_ICRC=exact asks "$peer4" 0 '^ok     ICRCs fit, and are checked alike'
ends_device
echo 'ok: another ICRC mode'

has_device ROCIN_PEER_INFO=off
asks "$peer4" 0 "^ok     $peer4 answers, so UDP port 4791 is open in both directions, and tells nothing of itself: an older rocin"
ends_device
echo 'ok: one that does not know the question'

# Another program has bound the port and does not answer.
"${in_b[@]}" python3 -c "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('$peer4', 4791))
open('$work/bound', 'w').close()
time.sleep(3600)" &
pids+=($!)
wait_for test -e "$work/bound" || fail 'the port is not bound'
patience=1
asks "$peer4" 1 "^FAULT  $peer4 refuses nothing and does not answer"
echo 'ok: something old that does not answer'

ROCIN_TIMEOUT_SCALE=1 "${in_a[@]}" rocin doctor --netdev lo --peer "$peer4" >"$work/out" 2>&1
grep -q "^note   $peer4 refuses nothing, and is not asked more, as no device here has the address" "$work/out" ||
	fail "$(tail -4 "$work/out")"
echo 'ok: no device here that packets leave from'
