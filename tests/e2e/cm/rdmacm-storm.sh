#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm-storm.sh - connections made and broken as fast as it goes, by two programs to one:
# nothing is left behind, neither in rocind nor in the server.
#
# usage: rdmacm-storm.sh SECONDS [CONNECTIONS-PER-SECOND]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
seconds=$1 least=${2:-1}
mkfifo "$work/go"
exec 3<>"$work/go"
descriptors() { find "/proc/$1/fd" | wc -l; }
kilobytes() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
storm() { # SECONDS: what two programs together make a second, in $rate
	local i pid
	local -a clients=()
	for i in 1 2; do
		rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" 7175 "$1" 16 \
			>"$work/storm-$i" 2>&1 &
		clients+=("$!")
	done
	pids+=("${clients[@]}")
	for pid in "${clients[@]}"; do
		wait "$pid" || fail "$(tail -3 "$work"/storm-?)"
	done
	rate=$(awk '/per_second/ { sum += $NF } END { print sum }' "$work"/storm-?)
}
# A client's end is known to rocind when it has read it.
is_left() { [ "$(cm_counts channels ids ports)" = '1 1 1' ]; }
is_over() { [ "$(cm_counts connections)" = 0 ]; }

rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" 7175 \
	<"$work/go" >"$work/server" 2>&1 &
server=$!
pids+=("$server")
wait_for grep -q listening "$work/server" || fail 'the server does not listen'
daemon=$(daemon_pid)

# A storm fills the pools of both, and fuller if its two programs happen to run at the same time. A
# descriptor that stays of each connection would be more than a pool.
fds=()
for duration in 1 "$seconds" 1; do
	storm "$duration"
	[ "$duration" != "$seconds" ] || best=$rate
	wait_for is_left || fail "left behind: $(cm_counts channels ids ports)"
	fds+=("$(($(descriptors "$daemon") + $(descriptors "$server")))")
done
echo "connections per second: $best"
[ "${best%.*}" -ge "$least" ] || fail "fewer than $least"
[ $((fds[2] - fds[0])) -lt 16 ] || fail "descriptors of rocind and the server grow: ${fds[*]}"
# A slot of the table for each connection that is in time-wait; the table has an end.
[ "$(kilobytes "$daemon")" -lt 131072 ] || fail "rocind takes $(kilobytes "$daemon") KiB"
wait_for is_over || fail "$(cm_counts connections) connections stay in time-wait"
kib=$(kilobytes "$server")
echo >&3
wait "$server" || fail 'the server'
grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
echo "ok: $(tail -1 "$work/server"), which takes $kib KiB"
