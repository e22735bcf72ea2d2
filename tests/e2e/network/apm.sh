#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# apm.sh - path migration between two addresses, the route to one of which goes.
#
# usage: apm.sh DIRECTORY: where verbs_apm_path is
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
ns=rocin-apm-$$
new_namespace "$ns"
# Without the route of 127.0.0.0/8, which would lead to both.
ip -n "$ns" addr flush dev lo
ip -n "$ns" addr add 10.78.0.1/32 dev lo
ip -n "$ns" addr add 10.78.0.2/32 dev lo

timeout 1800 nsenter --net="/run/netns/$ns" \
	rocin run --netdev lo:10.78.0.1+10.78.0.2 -- "$1/verbs_apm_path" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
echo 'ok: migrated'
