#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# namespaces.sh - traffic between two hosts: network namespaces connected by a veth pair.
#
#   [host a: 10.77.0.1, fd77::1] va ---- vb [host b: 10.77.0.2, fd77::2]
#
# usage: namespaces.sh MTU
# Tests every operation with and without 1 % loss by nftables, with and without GSO, over IPv4 and
# IPv6; checks a capture of tcpdump by tshark and scapy.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
mtu=$1
two_hosts 77 "$mtu"
run_a=("${in_a[@]}" rocin run --netdev va --)
run_b=("${in_b[@]}" rocin run --netdev vb --)

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

# Without GSO, the capture has the packets as a NIC would send them.
capture_wire va "${in_a[@]}"
ROCIN_GSO=off verify_pair 'rc, captured by tcpdump' -n 100 --mtu $path
end_capture
"$(dirname "$0")/../kit/judge-capture.sh" "$work/wire.pcap" || fail 'the capture'
