#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cm-refusals.sh - refused connections, as librdmacm reports them, and as tshark and scapy see them
# in packets.
#
# usage: cm-refusals.sh WHAT...
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
in_n=()
if [ "$1" != unreachable ] && [ "$(id -u)" = 0 ]; then
	new_namespace "rocin-n-$$"
	in_n=(nsenter --net="/run/netns/rocin-n-$$")
	capture_wire lo "${in_n[@]}"
fi
[ "$1" != unreachable ] || rocin fault 'drop mad=REQ' >/dev/null || fail 'rocin fault'
for what; do
	timeout 1800 "${in_n[@]}" rocin run --netdev "lo:$addr_a" -- \
		"$ROCIN_TESTS/cm_refusals" "$addr_a" "$what" || fail "$what"
done
if [ "$1" = unreachable ]; then
	rocin fault --json >"$work/fault.json" || fail 'rocin fault --json'
	grep -q '"hits": *16' "$work/fault.json" || fail "not 16 REQs: $(cat "$work/fault.json")"
fi
[ ${#in_n[@]} -gt 0 ] || exit 0

reasons() {
	tshark -r "$work/wire.pcap" -Y infiniband.cm.rej.reason -T fields \
		-e infiniband.cm.rej.reason 2>/dev/null | paste -sd' '
}
all_there() { [ "$(reasons)" = '0x0008 0x001c 0x000a' ]; }
wait_for all_there || fail "reasons on the wire: $(reasons)"
end_capture
"$(dirname "$0")/../kit/judge-capture.sh" "$work/wire.pcap" || fail 'the capture'
odd=$(tshark -r "$work/wire.pcap" -Y '_ws.expert' 2>/dev/null)
[ -z "$odd" ] || fail "tshark wonders: $odd"
echo "ok: $(reasons)"
