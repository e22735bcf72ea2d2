#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-stream.sh - a stream of WRITEs of 1 MiB has the same packets by UDP and by the local wire,
# and a capture of it is complete.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
messages=24 length=$((1 << 20)) mtu=4096

# stream NAME: captures a stream; no packet may be missed at either end
stream() {
	rm -f "$work/capture.err"
	rocin capture --buffer=131072 -w "$work/$1.pcapng" 2>"$work/capture.err" &
	local capture=$!
	pids+=("$capture")
	wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
	verify_pair "$1" --stream -n "$messages" --max "$length" --mtu "$mtu" --timeout 18
	kill -INT "$capture"
	wait "$capture" || fail "rocin capture: $(cat "$work/capture.err")"
	grep -q ' 0 missed$' "$work/capture.err" || fail "$(cat "$work/capture.err")"
}
ROCIN_LOCAL=off stream udp
stream local
for wire in udp local; do
	rocin dump --check "$work/$wire.pcapng" >"$work/out" || fail "$wire: $(tail -5 "$work/out")"
done
"$(dirname "$0")/same_packets.py" "$messages" "$length" "$mtu" "$work/udp.pcapng" "$work/local.pcapng"
