#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# users.sh - two users of one host: the second user of an address is refused with a message, another
# address works, and neither user disturbs the other.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
[ "$(id -u)" = 0 ] || skip 'becoming another user needs root'
another_user
as_nobody test -x "$ROCIN_TESTS/hold_qp" || skip 'the build directory is closed to other users'

rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
ours=$!
pids+=("$ours")
wait_for [ -e "$work/ready" ] || fail 'no queue pair for the first user'

as_nobody timeout 1800 rocin run --netdev "lo:$addr_a" -- \
	"$ROCIN_TESTS/hold_qp" "$theirs/ready" "$theirs/done" 2>"$theirs/err" &&
	fail 'two users have the same address'
grep -q "$addr_a is held by .*--netdev" "$theirs/err" || fail "no remedy: $(cat "$theirs/err")"
echo "ok: $(grep -m1 'held by' "$theirs/err")"

as_nobody rocin run --netdev "lo:$addr_b" -- \
	"$ROCIN_TESTS/hold_qp" "$theirs/ready" "$theirs/done" &
other=$!
pids+=("$other")
wait_for [ -e "$theirs/ready" ] || fail 'no queue pair for the second user'
[ "$(rocin stat --json | grep -c '"pid"')" = 1 ] || fail 'a user sees what is not his'
touch "$work/done" "$theirs/done"
wait "$ours" || fail 'the first user'
wait "$other" || fail 'the second user'
echo 'ok: another address works beside it'
