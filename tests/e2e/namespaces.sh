#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# namespaces.sh - two hosts: network namespaces joined by a veth pair.
#
#   [host a: 10.77.0.1, fd77::1] va ---- vb [host b: 10.77.0.2, fd77::2]
#
# usage: namespaces.sh MTU
# Every operation with and without 1 % loss by nftables, with and without GSO, IPv4 and
# IPv6; and a capture by tcpdump that tshark and scapy find right.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
mtu=$1
[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
a=rocin-a-$$ b=rocin-b-$$
ip netns add "$a" 2>/dev/null || skip 'network namespaces cannot be made here'
ip netns add "$b"
remove_namespaces() {
	local ns
	for ns in "$a" "$b"; do
		nsenter --net="/run/netns/$ns" timeout 5 rocin stop >/dev/null 2>&1
		ip netns del "$ns"
	done
	cleanup
}
trap remove_namespaces EXIT
ip -n "$a" link add va mtu "$mtu" type veth peer name vb mtu "$mtu" netns "$b"
ip -n "$a" addr add 10.77.0.1/24 dev va
ip -n "$b" addr add 10.77.0.2/24 dev vb
ip -n "$a" addr add fd77::1/64 dev va nodad
ip -n "$b" addr add fd77::2/64 dev vb nodad
for pair in "$a va" "$b vb"; do
	# shellcheck disable=SC2086 # two words
	set -- $pair
	ip -n "$1" link set lo up
	ip -n "$1" link set "$2" up
done
# A link-local address counts once duplicate address detection is through.
settled() {
	ip -n "$1" link show "$2" | grep -q 'state UP' &&
		[ -z "$(ip -n "$1" -6 addr show dev "$2" tentative)" ] &&
		[ -n "$(ip -n "$1" -6 addr show dev "$2" scope link)" ]
}
up() { settled "$a" va && settled "$b" vb; }
wait_for 10 up || fail 'the veth pair does not come up'

run_a=(nsenter --net="/run/netns/$a" rocin run --netdev va --)
run_b=(nsenter --net="/run/netns/$b" rocin run --netdev vb --)

loss() {
	local ns
	for ns in "$a" "$b"; do
		nsenter --net="/run/netns/$ns" nft "$1"
	done
}

path=1024
[ "$mtu" -lt 4192 ] || path=4096
for kind in rc uc ud; do
	verify_pair "$kind" --type "$kind" -n 500 --mtu $path
	verify_pair "$kind over IPv6" --type "$kind" -n 300 --mtu $path --gid 1
	verify_pair "$kind over IPv6, link-local" --type "$kind" -n 200 --mtu $path --gid 2
	ROCIN_GSO=off verify_pair "$kind without GSO" --type "$kind" -n 300 --mtu $path
done
loss 'add table inet t; add chain inet t i { type filter hook input priority 0; };
      add rule inet t i udp dport 4791 numgen random mod 100 < 1 drop'
for kind in rc uc ud; do
	verify_pair "$kind, 1 % loss" --type "$kind" -n 500 --mtu $path --lossy
	ROCIN_GSO=off verify_pair "$kind, 1 % loss, without GSO" --type "$kind" -n 300 --mtu $path --lossy
done
loss 'delete table inet t'

# On the wire: without GSO each packet is alone, so the capture shows what a NIC would send.
nsenter --net="/run/netns/$a" tcpdump -i va -s 0 -U -w "$work/wire.pcap" udp port 4791 2>"$work/tcpdump.out" &
tcpdump_pid=$!
pids+=("$tcpdump_pid")
capturing() { grep -q 'listening on' "$work/tcpdump.out"; }
wait_for 10 capturing || skip 'tcpdump cannot capture here'
ROCIN_GSO=off verify_pair 'rc, captured by tcpdump' -n 100 --mtu $path
kill -INT "$tcpdump_pid"
wait "$tcpdump_pid"
"$(dirname "$0")/judge-capture.sh" "$work/wire.pcap" || fail 'the capture'
