#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmacm-storm.sh - two programs connect to a third one and disconnect as fast as possible: neither
# rocind nor the server keeps anything of these connections.
#
# usage: rdmacm-storm.sh SECONDS
#
# The number of connections per second depends on the machine and on its load. So the test limits
# another value: the processor time that all programs together need for a connection, as a multiple
# of the processor time for creating and destroying an id in the same run.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
seconds=$1
# A connection takes about 20 commands, 5 messages and 2 queue pairs; an id takes 2 commands. The
# multiple was 6 to 20, also with ten other programs per processor.
most=60
mkfifo "$work/go"
exec 3<>"$work/go"
descriptors() { find "/proc/$1/fd" | wc -l; }
kilobytes() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
storm() { # SECONDS: sets $rate to the connections per second of two programs together
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

# The processor time in microseconds that all programs need for an id ($id_us) and for a connection
# ($connection_us)
served_ms() { # prints the processor time that rocind, its keeper and the server have used
	local pid
	for pid in "$server" "$daemon" $(pgrep -P "$daemon"); do
		cat "/proc/$pid/stat"
	done | awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); sum += $12 + $13 } END { print sum * 1000 / hz }'
}
cost() { # MS-BEFORE FILE...: prints the processor time for each connection or id that the files count
	awk -v ms="$(($(served_ms) - $1))" '/cpu_ms/ { n += $2; for (i = 3; i < NF; i++) if ($i == "cpu_ms") ms += $(i + 1) }
		END { printf "%d\n", 1000 * ms / n }' "${@:2}"
}
ids() {
	local before
	before=$(served_ms)
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" ids "$addr_a" 7175 "$1" \
		>"$work/ids" 2>&1 || fail "$(tail -3 "$work/ids")"
	id_us=$(cost "$before" "$work/ids")
}
# rocind knows that a client has ended when it has read the end of file of its socket.
is_left() { [ "$(cm_counts channels ids ports)" = '1 1 1' ]; }
is_over() { [ "$(cm_counts connections)" = 0 ]; }

rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" 7175 \
	<"$work/go" >"$work/server" 2>&1 &
server=$!
pids+=("$server")
wait_for grep -q listening "$work/server" || fail 'the server does not listen'
daemon=$(daemon_pid)

# Both programs keep pools of descriptors, and how full these become depends on whether the two
# clients run at the same time. If a descriptor of each connection stayed open, they would exceed
# the pools.
fds=()
for duration in 1 "$seconds" 1; do
	before=$(served_ms)
	storm "$duration"
	if [ "$duration" = "$seconds" ]; then
		best=$rate
		connection_us=$(cost "$before" "$work"/storm-?)
	fi
	wait_for is_left || fail "left behind: $(cm_counts channels ids ports)"
	fds+=("$(($(descriptors "$daemon") + $(descriptors "$server")))")
done
ids 1
echo "connections per second: $best; $connection_us us of processor time for one," \
	"$((connection_us / id_us)) times the $id_us us of an id"
[ "$connection_us" -le $((most * id_us)) ] || fail "a connection takes more than $most ids do"
[ $((fds[2] - fds[0])) -lt 16 ] || fail "descriptors of rocind and the server grow: ${fds[*]}"
# rocind keeps a table entry for each connection in time-wait; the size of the table is limited.
[ "$(kilobytes "$daemon")" -lt 131072 ] || fail "rocind takes $(kilobytes "$daemon") KiB"
wait_for is_over || fail "$(cm_counts connections) connections stay in time-wait"
kib=$(kilobytes "$server")
echo >&3
wait "$server" || fail 'the server'
grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
echo "ok: $(tail -1 "$work/server"), which takes $kib KiB"
