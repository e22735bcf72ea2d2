#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cm-devices.sh - a program that uses librdmacm with two devices: two addresses of the loopback
# interface, or two interfaces of a network namespace.
#
# usage: cm-devices.sh lo|veth
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
if [ "$1" = lo ]; then
	timeout "$limit" rocin run --netdev "lo:$addr_a,lo:$addr_b" -- \
		"$ROCIN_TESTS/cm_devices" "$addr_a" "$addr_b" 127.255.255.254 || fail 'two addresses'
	exit 0
fi
ns=rocin-cd-$$
new_namespace "$ns"
for i in 0 1 2; do
	ip -n "$ns" link add "v$i" type veth peer name "w$i"
	ip -n "$ns" addr add "10.8$i.0.1/24" dev "v$i"
	ip -n "$ns" link set "v$i" up
	ip -n "$ns" link set "w$i" up
done
all_settled() { settled "$ns" v0 && settled "$ns" v1 && settled "$ns" v2; }
wait_for all_settled || fail 'the veth pairs do not come up'
timeout "$limit" nsenter --net="/run/netns/$ns" rocin run --netdev v0,v1 -- \
	"$ROCIN_TESTS/cm_devices" 10.80.0.1 10.81.0.1 10.82.0.1 || fail 'two interfaces'
