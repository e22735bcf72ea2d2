#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# path-mtu.sh - a network that carries less than it did: refused where a program asks, and
# otherwise said, not swallowed in silence.
#
# usage: path-mtu.sh DIRECTORY: where verbs_path_mtu is
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
ns=rocin-mtu-$$
ip netns add "$ns" 2>/dev/null || skip 'network namespaces cannot be made here'
trap 'nsenter --net="/run/netns/$ns" timeout 5 rocin stop >/dev/null 2>&1; ip netns del "$ns"; cleanup' EXIT
ip -n "$ns" link set lo up
ip -n "$ns" addr add "$addr_a/32" dev lo

ROCIN_LOG=warn:$work/log timeout 100 nsenter --net="/run/netns/$ns" \
	rocin run --netdev "lo:$addr_a" -- "$1/verbs_path_mtu" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out" "$work/log")"
grep -q 'tx_too_long *[1-9]' "$work/out" || fail "the counter: $(cat "$work/out")"
[ "$(grep -c "too long for the way to $addr_a" "$work/log")" = 1 ] ||
	fail "one line: $(cat "$work/log")"
grep -q 'path MTU of 1024 bytes is refused' "$work/log" || fail "$(cat "$work/log")"
echo 'ok: refused, or counted and said once'
