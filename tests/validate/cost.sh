#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cost.sh - under the validation layer a message of ib_send_bw, 64 bytes, takes the sender less
# than twice the instructions. These are the same on a busy machine, but for polls.
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
for program in valgrind ib_send_bw; do
	command -v "$program" >/dev/null || { echo "skipped: there is no $program" && exit 77; }
done
few=5000 many=15000

# count MESSAGES: instructions of the sender, into $instructions
count() {
	local options=(-x 0 -F -s 64 -n "$1")
	next_port
	rocin run --netdev "lo:$addr_a" -- ib_send_bw "${options[@]}" -p "$port" >"$work/server" 2>&1 &
	pids+=($!)
	wait_for listening "${pids[-1]}" || fail 'ib_send_bw does not listen'
	rocin run --netdev "lo:$addr_b" -- valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		ib_send_bw "${options[@]}" -p "$port" 127.0.0.1 >"$work/client" 2>&1 ||
		{ cat "$work/client" "$work/server" && fail 'ib_send_bw does not run under callgrind'; }
	wait "${pids[-1]}"
	instructions=$(sed -n 's/.*Collected : *//p' "$work/client" | tail -1)
}

# per_message: instructions, without start and end, into $each
per_message() {
	local first
	count "$few" && first=$instructions && count "$many"
	each=$(((instructions - first) / (many - few)))
}

per_message && without=$each
export ROCIN_VALIDATE=on,log=/dev/null,exitcode=0,symbolize=off
per_message && with=$each
echo "instructions for a message of 64 bytes: $without, and $with with --validate"
[ "$without" -ge 500 ] || fail "$without instructions for a message cannot be"
[ "$with" -gt "$without" ] || fail 'the validation layer was not there'
[ "$with" -lt $((2 * without)) ] || fail "more than twice the instructions"
