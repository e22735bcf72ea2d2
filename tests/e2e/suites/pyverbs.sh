#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs.sh - the test suite of rdma-core: each test must pass or be listed in pyverbs-skips.txt.
#
# usage: pyverbs.sh lo | huge | veth
#   lo    on an address of the loopback interface, as any user
#   huge  the same as root, with huge pages reserved
#   veth  in a network namespace, over IPv4 and over IPv6, as root
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=pyverbs_lib.sh
. "$(dirname "$0")/pyverbs_lib.sh"

if [ "$1" = lo ]; then
	pyverbs lo "lo:$addr_a" ''
	exit 0
fi
[ "$(id -u)" = 0 ] || skip 'network namespaces and huge pages need root'
if [ "$1" = huge ]; then
	reserved=/proc/sys/vm/nr_hugepages
	# Huge pages belong to the machine, and another check may run beside this one.
	exec {turn}<$reserved
	flock "$turn"
	before=$(cat $reserved)
	own_cleanup() { echo "$before" >$reserved; }
	# On a machine whose memory is in many pieces the kernel gets fewer at the first try.
	for _ in 1 2 3 4 5; do
		echo $((before + 16)) >$reserved
		[ "$(cat $reserved)" -lt $((before + 16)) ] || break
		echo 1 >/proc/sys/vm/compact_memory
	done 2>/dev/null
	[ "$(cat $reserved)" = $((before + 16)) ] || skip 'fewer huge pages than the suite takes'
	pyverbs huge "lo:$addr_a" ''
	exit 0
fi
ns=rocin-pv-$$
new_namespace "$ns"
ip -n "$ns" link add va type veth peer name vb
ip -n "$ns" addr add 10.78.0.1/24 dev va
ip -n "$ns" addr add fd78::1/64 dev va nodad
ip -n "$ns" link set va up
ip -n "$ns" link set vb up
wait_for settled "$ns" va || fail 'the veth pair does not come up'
prefix=(nsenter --net="/run/netns/$ns")
pyverbs veth va '' --gid 0
pyverbs veth va '' --gid 1
