#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# consumers.sh - programs and libraries that check the properties of a device before they use it
# accept the device.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

on_device() { timeout 1800 rocin run --netdev "lo:$addr_a" -- "$@"; }

on_device "$ROCIN_TESTS/consumers" || fail 'a gate is closed'

on_device ibv_devinfo -v >"$work/devinfo.out" 2>&1 || fail "ibv_devinfo: $(tail -3 "$work/devinfo.out")"
for line in 'state:.*PORT_ACTIVE' 'link_layer:.*Ethernet' 'transport:.*InfiniBand' \
	'GID\[ *0\]:.*RoCE v2'; do
	grep -qE "$line" "$work/devinfo.out" || fail "ibv_devinfo says no \"$line\""
done
echo 'ok: ibv_devinfo'

command -v fi_info >/dev/null || skip 'fi_info (libfabric-bin) is not installed'
on_device fi_info -p verbs >"$work/fi.out" 2>&1 || fail "fi_info: $(tail -3 "$work/fi.out")"
grep -q 'domain: rocin0-dgram' "$work/fi.out" || fail 'libfabric does not list the device'
grep -q 'type: FI_EP_DGRAM' "$work/fi.out" || fail 'libfabric has no datagram endpoint on it'
echo 'ok: fi_info'
