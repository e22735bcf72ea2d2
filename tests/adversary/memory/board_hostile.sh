#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# board_hostile.sh - a third process writes rubbish into the pages of counters of programs that
# connect and part as fast as it goes, and tries to write into the board of their ids: the board
# is refused, no program and no rocind ends, no connection fails, and counters can be asked for.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
seed=${ROCIN_SEED:-$$}
mkfifo "$work/go"
exec 3<>"$work/go"
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" 7175 \
	<"$work/go" >"$work/server" 2>&1 &
server=$!
pids+=("$server")
wait_for grep -q listening "$work/server" || fail 'the server does not listen'
daemon=$(daemon_pid)

rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" 7175 3 16 \
	>"$work/storm" 2>&1 &
storm=$!
pids+=("$storm")
has_stats() { grep -qs memfd:rocin-stats "/proc/$server/maps" && grep -qs memfd:rocin-cm-board "/proc/$server/maps"; }
wait_for has_stats || fail 'no page of counters'
for pid in "$server" "$daemon"; do
	"$ROCIN_TESTS/scribble" board "$seed" "$pid" >"$work/board" 2>&1
	status=$?
	[ "$status" = 0 ] || fail "the board of process $pid: status $status, $(cat "$work/board")"
done
"$ROCIN_TESTS/scribble" stats "$seed" "$server" >"$work/scribble" 2>&1 &
scribbler=$!
pids+=("$scribbler")
while kill -0 "$storm" 2>/dev/null; do
	timeout 60 rocin stat --json >"$work/stat" 2>&1
	[ "$?" -lt 124 ] || fail "rocin stat, seed $seed: $(tail -3 "$work/stat")"
done
wait "$storm" || fail "connections, seed $seed: $(tail -3 "$work/storm")"
kill -0 "$server" 2>/dev/null || fail "the server has ended, seed $seed: $(tail -3 "$work/server")"
[ "$(daemon_pid)" = "$daemon" ] || fail "rocind has ended, seed $seed"
echo >&3
wait "$server" || fail "the server, seed $seed: $(tail -3 "$work/server")"
grep -q ' 0 alive, 0 failed' "$work/server" || fail "seed $seed: $(tail -3 "$work/server")"
wait "$scribbler"
status=$?
[ "$status" != 77 ] || skip 'the memory of another process cannot be mapped here'
[ "$status" = 0 ] || fail "scribble: $(cat "$work/scribble")"
echo "ok: seed $seed: $(cat "$work/scribble"); $(tail -1 "$work/storm")"
