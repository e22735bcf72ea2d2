#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# apm.sh - automatic path migration between two addresses, after the route to one of them was
# removed.
#
# usage: apm.sh DIRECTORY: where verbs_apm_path is
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
ns=rocin-apm-$$
new_namespace "$ns"
# Removes the route of 127.0.0.0/8, which would lead to both addresses.
ip -n "$ns" addr flush dev lo
ip -n "$ns" addr add 10.78.0.1/32 dev lo
ip -n "$ns" addr add 10.78.0.2/32 dev lo

timeout 1800 nsenter --net="/run/netns/$ns" \
	rocin run --netdev lo:10.78.0.1+10.78.0.2 -- "$1/verbs_apm_path" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
echo 'ok: migrated'
