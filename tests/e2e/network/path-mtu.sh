#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# path-mtu.sh - the MTU of the network becomes smaller: the device refuses a path MTU that is too
# large, and logs and counts packets that are too long.
#
# usage: path-mtu.sh DIRECTORY: where verbs_path_mtu is
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
programs=$1
ns=rocin-mtu-$$
new_namespace "$ns"
ip -n "$ns" addr add "$addr_a/32" dev lo
ip -n "$ns" addr add 2001:db8::1/128 dev lo nodad 2>/dev/null

# narrow ADDRESS PATH-MTU: checks that packets are refused, counted and logged once
narrow() {
	ROCIN_LOG=warn:$work/log.$2 timeout 1800 nsenter --net="/run/netns/$ns" \
		rocin run --netdev "lo:$1" -- "$programs/verbs_path_mtu" >"$work/out" 2>&1 ||
		fail "$(cat "$work/out" "$work/log.$2")"
	grep -q 'tx_too_long *[1-9]' "$work/out" || fail "the counter: $(cat "$work/out")"
	[ "$(grep -c "too long for the way to $1" "$work/log.$2")" = 1 ] ||
		fail "one line: $(cat "$work/log.$2")"
	grep -q "path MTU of $2 bytes is refused" "$work/log.$2" ||
		fail "$(cat "$work/log.$2")"
	echo "ok: $1"
}

# IPv6 is tested first, because over IPv4 the program sets an MTU that is too small for IPv6, which
# removes the IPv6 address.
if [ -n "$(ip -n "$ns" addr show to 2001:db8::1)" ]; then
	narrow 2001:db8::1 2048
fi
narrow "$addr_a" 1024
