#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd-soak.sh - traffic with loss and corruption for a long time, and connections that come and
# go: memory and descriptors of rocind and of the programs stop growing after a while.
#
# usage: crowd-soak.sh SECONDS [PAIR...]
#
# PAIR is local or udp: the way by which the two programs of a pair communicate. Without PAIR, both
# pairs run.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=growth_lib.sh
. "$(dirname "$0")/growth_lib.sh"
seconds=$1
pairs=("${@:2}")
[ "${#pairs[@]}" -gt 0 ] || pairs=(local udp)

# soak NAME [VARIABLE=VALUE...]: starts two programs that check each byte and never end by
# themselves
soak() {
	local name=$1 role addr
	shift
	for role in b a; do
		addr=$addr_a
		[ "$role" = b ] || addr=$addr_b
		env ROCIN_FAULT=drop=1%,corrupt=1%,seed=11 "$@" \
			rocin run --netdev "lo:$addr" -- "$ROCIN_TESTS/verify" --role "$role" \
			--socket "$work/meet-$name" --type rc -n 2000000000 --max 20000 --lossy \
			>"$work/$name-$role" 2>&1 &
		pids+=("$!")
		watch_growth "$name-$role" "$!"
		disown
	done
}
for pair in "${pairs[@]}"; do
	case $pair in
	local) soak local ;;
	udp) soak udp ROCIN_LOCAL=off ;;
	*) fail "there is no pair $pair" ;;
	esac
done
mkfifo "$work/go"
exec 3<>"$work/go"
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_many" serve "$addr_a" 7175 \
	<"$work/go" >"$work/serve" 2>&1 &
pids+=("$!")
watch_growth serve "$!"
disown
wait_for grep -q listening "$work/serve" || fail 'the server does not listen'
watch_growth rocind "$(daemon_pid)"

# The number of received packets must grow, or no traffic would be tested.
received() { counter rcvd_pkts; }
storm() {
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" 7175 1 16 \
		>"$work/storm" 2>&1 || fail "connections: $(tail -3 "$work/storm")"
}
moving() { alive && [ "$(received)" -gt 10000 ]; }
wait_for moving || fail 'nothing moves'

SECONDS=0
while [ "$SECONDS" -lt "$seconds" ]; do
	storm
	sleep 1
	see_growth "$seconds"
done
tell_growth
echo "ok: $(received) packets received in $SECONDS s, $(cm_counts connections) connections in time-wait"
