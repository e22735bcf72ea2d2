#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# events.sh - an event of a virtual network costs as much with 1000 hosts as with ten: at most
# 1.3 times the instructions, what the hosts' devices do with packets included.
#
# usage: events.sh HOSTS-PROGRAM
set -u
hosts=$1
command -v valgrind >/dev/null || { echo 'skipped: there is no valgrind' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# per_event HOSTS MESSAGES: instructions
per_event() {
	if ! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		--toggle-collect=rn_vnet_step "$hosts" "$1" "$2" >"$work/out" 2>&1; then
		cat "$work/out" >&2
		return 1
	fi
	awk '/ events,/ { events = $1 } /Collected/ { sum = $NF }
		END { if (events) printf "%d\n", sum / events }' "$work/out"
}

ten=$(per_event 10 100) && some=$(per_event 100 10) && many=$(per_event 1000 2) || exit 1
echo "instructions for an event: $ten with 10 hosts, $some with 100, $many with 1000"
if [ "${ten:-0}" -lt 50 ]; then
	echo "FAILED: $ten instructions for an event cannot be"
	exit 1
fi
for n in "$some" "$many"; do
	if [ $((n * 10)) -gt $((ten * 13)) ]; then
		echo "FAILED: $n instructions are more than 1.3 times those with ten hosts"
		exit 1
	fi
done
