#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pin.sh - `rocin run --pin=limit': a program that may lock too little memory is refused, and the
# log says why.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

within=()
# alone BYTES [OPTION...]: starts ibv_rc_pingpong without a peer, with its output in $work/out
alone() {
	ROCIN_LOG=error:$work/log timeout 600 "${within[@]}" rocin run --netdev "lo:$addr_a" "${@:2}" -- \
		ibv_rc_pingpong -g 0 -s "$1" -p "$port" >"$work/out" 2>&1 &
	pids+=($!)
}
# refused BYTES [OPTION...]: the program must end by itself, and the log must have the reason
refused() {
	: >"$work/log"
	alone "$@"
	wait_for gone $! || fail "$1 bytes are taken with ${*:2}"
	grep -q "KiB cannot be pinned: .* the limit is" "$work/log" || fail "$(cat "$work/log" "$work/out")"
}
# taken BYTES [OPTION...]: the program must wait for its peer
taken() {
	next_port
	alone "$@"
	wait_for listening $! || fail "$1 bytes are refused with ${*:2}: $(cat "$work/out")"
	end_now $!
}
gone() { ! kill -0 "$1" 2>/dev/null; }

refused 4194304 --pin=limit:1M
grep -q 'ROCIN_PIN (--pin) sets it' "$work/log" || fail "$(cat "$work/log")"
taken 4194304 --pin=limit:64M
taken 4194304
echo 'ok: a limit of its own'

ulimit -Sl 1024 2>/dev/null || skip 'the limit on locked memory cannot be set'
# Root may lock any memory. In a user namespace it may not, because its capabilities there do not
# count for the machine.
if unshare -r true 2>/dev/null; then
	within=(unshare -r)
elif [ "$(id -u)" = 0 ]; then
	skip 'root without a user namespace may lock any memory'
fi
refused 4194304 --pin=limit
grep -q '1024 KiB; raise it by ulimit -l, memlock in /etc/security/limits.conf' "$work/log" ||
	fail "$(cat "$work/log")"
echo 'ok: the limit of the process'

refused_by_name() { rocin run --netdev "lo:$addr_a" --pin="$1" -- ibv_devinfo 2>&1 | grep -q 'ROCIN_PIN is'; }
for wrong in on limit: limit:x cost:0 limit,limit; do
	refused_by_name "$wrong" || fail "$wrong is taken"
done
echo 'ok: wrong words'
