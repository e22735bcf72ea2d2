#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# instructions.sh - a message costs as much with 10 000 busy queue pairs as with one: at
# most 1.3 times the instructions, in both devices together, without system calls.
#
# usage: instructions.sh MESSAGES-PROGRAM
set -u
messages=$1
command -v valgrind >/dev/null || { echo 'skipped: there is no valgrind' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# per_message QPS ROUNDS: instructions, with bursts of 8
per_message() {
	if ! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		--toggle-collect=many_round "$messages" "$1" 8 "$2" >"$work/out" 2>&1; then
		cat "$work/out" >&2
		return 1
	fi
	awk '/ messages,/ { messages = $1 } /Collected/ { sum = $NF }
		END { if (messages) printf "%d\n", sum / messages }' "$work/out"
}

one=$(per_message 1 200) && some=$(per_message 100 4) && many=$(per_message 10000 1) || exit 1
echo "instructions for a SEND of 64 bytes: $one with 1 QP, $some with 100, $many with 10 000"
if [ "${one:-0}" -lt 500 ]; then
	echo "FAILED: $one instructions for a message cannot be"
	exit 1
fi
for n in "$some" "$many"; do
	if [ $((n * 10)) -gt $((one * 13)) ]; then
		echo "FAILED: $n instructions are more than 1.3 times those with one QP"
		exit 1
	fi
done
