#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# apm.sh - path migration between two addresses, the route to one of which goes.
#
# usage: apm.sh DIRECTORY: where verbs_apm_path is
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip 'network namespaces need root'
ns=rocin-apm-$$
ip netns add "$ns" 2>/dev/null || skip 'network namespaces cannot be made here'
trap 'nsenter --net="/run/netns/$ns" timeout 5 rocin stop >/dev/null 2>&1; ip netns del "$ns"; cleanup' EXIT
ip -n "$ns" link set lo up
# Without the route of 127.0.0.0/8, which would lead to both.
ip -n "$ns" addr flush dev lo
ip -n "$ns" addr add 10.78.0.1/32 dev lo
ip -n "$ns" addr add 10.78.0.2/32 dev lo

timeout 100 nsenter --net="/run/netns/$ns" \
	rocin run --netdev lo:10.78.0.1+10.78.0.2 -- "$1/verbs_apm_path" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
echo 'ok: migrated'
