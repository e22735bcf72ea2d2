#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cost.sh - what the validation layer adds to the instructions of a message: of 64 bytes, at most
# three quarters of what the message takes without it, and at neither end more than a half, which
# is the share of an end; of 64 KiB, at most a tenth.
#
# Both are counted in the same run, as two runs differ more: by polls that find nothing.
#
# usage: cost.sh PROGRAM
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
program=$1
command -v valgrind >/dev/null || { echo 'skipped: there is no valgrind' && exit 77; }
burst=32 # messages, as in cost.c
export ROCIN_VALIDATE=on,log=/dev/null,exitcode=0,symbolize=off

# profile BYTES BURSTS FILE
profile() {
	rocin run --netdev "lo:$addr_a,lo:$addr_b" -- valgrind --tool=callgrind --callgrind-out-file="$3" \
		"$program" "$1" "$2" >"$work/out" 2>&1 || { cat "$work/out" && fail "$1 bytes under callgrind"; }
}

# count BYTES FEW MANY: instructions of a message, into $rest (without the layer), $sender, $receiver
count() {
	profile "$1" "$2" "$work/few"
	profile "$1" "$3" "$work/many"
	read -r rest sender receiver < <("$here/cost.py" "$work/few" "$work/many" $((burst * ($3 - $2))))
	echo "a message of $1 bytes: $rest instructions, and of the layer $sender at the sender, $receiver at the receiver"
	[ "$rest" -ge 1000 ] || fail "$rest instructions for a message cannot be"
	{ [ "$sender" -ge 300 ] && [ "$receiver" -ge 300 ]; } || fail 'the validation layer was not there'
}

count 64 50 150
[ $(((sender + receiver) * 4)) -lt $((rest * 3)) ] || fail 'the layer takes more than three quarters'
[ $((sender * 2)) -lt "$rest" ] || fail 'the layer takes more than a half at the sender'
[ $((receiver * 2)) -lt "$rest" ] || fail 'the layer takes more than a half at the receiver'
count 65536 5 15
[ $(((sender + receiver) * 10)) -lt "$rest" ] || fail 'the layer takes more than a tenth'
