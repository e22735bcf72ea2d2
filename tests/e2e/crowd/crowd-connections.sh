#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd-connections.sh - two programs connect and disconnect for a long time. Prints the processor
# time per connection and the connections per second, and checks that nothing grows.
#
# usage: crowd-connections.sh SECONDS [AT-A-TIME]
#
# Both numbers depend on the load of the machine, so they are only printed. (e2e.rdmacm-storm limits
# the processor time, as a multiple of the time for ids.)
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=growth_lib.sh
. "$(dirname "$0")/growth_lib.sh"
seconds=$1 at_a_time=${2:-16}

mkfifo "$work/go" "$work/enough"
: >"$work/client"
exec 3<>"$work/go" 4<>"$work/enough"
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" 7175 \
	<"$work/go" >"$work/server" 2>&1 &
server=$!
pids+=("$server")
wait_for grep -q listening "$work/server" || fail 'the server does not listen'
daemon=$(daemon_pid)
keeper=$(pgrep -P "$daemon")
rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" 7175 0 "$at_a_time" \
	<"$work/enough" >"$work/client" 2>&1 &
client=$!
pids+=("$client")
wait_for grep -q '^made' "$work/client" || fail "no connections: $(tail -3 "$work/client")"

watch_growth client "$client"
watch_growth server "$server"
watch_growth rocind "$daemon"
watch_growth keeper "$keeper"

# made: the number of connections in the client's latest message; milliseconds PID: the processor
# time that a process has used
made() { awk '/^made/ { n = $2 } END { print n }' "$work/client"; }
has_said_more() { [ "$(made)" != "$count" ]; }
milliseconds() {
	sed 's/.*) //' "/proc/$1/stat" |
		awk -v hz="$(getconf CLK_TCK)" '{ printf "%d\n", ($12 + $13) * 1000 / hz }'
}
declare -A had
look() {
	local i
	count=$(made)
	wait_for has_said_more || fail "only $count connections: $(tail -3 "$work/client")"
	count=$(made)
	for i in "${!programs[@]}"; do
		had[$i]=$(milliseconds "${programs[i]}")
	done
}
look
first=$count
declare -A before
for i in "${!programs[@]}"; do
	before[$i]=${had[$i]}
done
SECONDS=0
while [ "$SECONDS" -lt "$seconds" ]; do
	sleep 1
	see_growth "$seconds"
done
look
tell_growth
echo >&4
wait "$client" || fail "$(tail -3 "$work/client")"
echo >&3
wait "$server" || fail 'the server'
grep -q ' 0 alive, 0 failed' "$work/server" || fail "$(tail -3 "$work/server")"
all=0
for i in "${!programs[@]}"; do
	us=$(((${had[$i]} - ${before[$i]}) * 1000 / (count - first)))
	all=$((all + us))
	echo "${names[i]}: $us us of processor time for a connection"
done
awk '/^made/ { d = ($2 - n) / ($4 - t); n = $2; t = $4
		if (!k++ || d < low) low = d
		if (d > high) high = d }
	/^connections/ { print "ok: " $2 " connections, " $NF " in a second, " int(low) " to " int(high) }' "$work/client"
echo "ok: a connection takes $all us of processor time, so 1000 in a second take $((all / 20)) % of two processors"
