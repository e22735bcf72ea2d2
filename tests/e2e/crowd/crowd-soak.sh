#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd-soak.sh - traffic with loss and corruption for long, and connections that come and go:
# memory and descriptors of rocind and of the programs stay as they are after a while.
#
# usage: crowd-soak.sh SECONDS [PAIR...]
#
# A PAIR of programs is local or udp, which is how they talk; both if none is named.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
seconds=$1
pairs=("${@:2}")
[ "${#pairs[@]}" -gt 0 ] || pairs=(local udp)
descriptors() { find "/proc/$1/fd" | wc -l; }
kilobytes() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }

# soak NAME [VARIABLE=VALUE...]: two programs that check each byte and never end by themselves
names=() programs=()
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
		programs+=("$!")
		disown
		names+=("$name-$role")
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
programs+=("$!")
disown
names+=(serve)
wait_for grep -q listening "$work/serve" || fail 'the server does not listen'
programs+=("$(daemon_pid)")
names+=(rocind)

alive() {
	local i
	for i in "${!programs[@]}"; do
		kill -0 "${programs[i]}" 2>/dev/null || fail "${names[i]} has ended: $(tail -3 "$work/${names[i]}" 2>/dev/null)"
	done
}
# What the peer has sent comes at all.
received() { counter rcvd_pkts; }
storm() {
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/cm_many" storm "$addr_a" 7175 1 16 \
		>"$work/storm" 2>&1 || fail "connections: $(tail -3 "$work/storm")"
}
moving() { alive && [ "$(received)" -gt 10000 ]; }
wait_for moving || fail 'nothing moves'

# What rocind may have beyond that: 2 KiB for each connection in time-wait, of which there are
# the more the faster the machine is.
waiting_kib() { [ "$1" != rocind ] && echo 0 || echo $((2 * $(cm_counts connections))); }

# The pools are full after the first storms and a third of the time.
SECONDS=0
declare -A most_kib most_fds
while [ "$SECONDS" -lt "$seconds" ]; do
	storm
	sleep 1
	alive
	for i in "${!programs[@]}"; do
		kib=$(kilobytes "${programs[i]}") fds=$(descriptors "${programs[i]}")
		if [ $((SECONDS * 3)) -lt "$seconds" ]; then
			[ "$kib" -le "${most_kib[$i]:-0}" ] || most_kib[$i]=$kib
			[ "$fds" -le "${most_fds[$i]:-0}" ] || most_fds[$i]=$fds
		elif [ -n "${most_kib[$i]:-}" ]; then
			[ "$kib" -le $((most_kib[$i] + most_kib[$i] / 4 + 4096 + $(waiting_kib "${names[i]}"))) ] ||
				fail "${names[i]} grows from ${most_kib[$i]} KiB to $kib"
			[ "$fds" -le $((most_fds[$i] + 4)) ] ||
				fail "descriptors of ${names[i]} grow from ${most_fds[$i]} to $fds"
		fi
	done
done
for i in "${!programs[@]}"; do
	echo "ok: ${names[i]}: $(kilobytes "${programs[i]}") KiB, $(descriptors "${programs[i]}") descriptors;" \
		"in the first third ${most_kib[$i]:-?} and ${most_fds[$i]:-?} at most"
done
echo "ok: $(received) packets received in $SECONDS s, $(cm_counts connections) connections in time-wait"
