#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hunt-programs.sh - `rocin hunt' with programs of several threads, and with programs of the distribution
# that spin on memory, poll, or sleep: what is right there stays right under every schedule, and the mistake
# of one thread is found among the writes of all, shrunk and replayed.
#
# usage: hunt-programs.sh [--quick] [--budget=SECONDS] [NAME...]
# --quick: a third of the schedules and replays; --budget: for each program no schedule is tried after that
# time, so on a busy machine there are fewer, but one at least, in which everything is late
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
export ROCIN_NETDEVS=lo:$addr_a,lo:$addr_b,lo:127.98.${addr_a#127.*.},lo:127.99.${addr_a#127.*.}
schedules=30 replays=40 budget=3000
if [ "${1:-}" = --quick ]; then
	schedules=10 replays=12
	shift
fi
if [[ ${1:-} = --budget=* ]]; then
	budget=${1#--budget=}
	shift
fi
names=("${@:-}")
cd "$work" || exit 1

wanted() {
	[ -z "${names[0]}" ] || [[ " ${names[*]} " = *" $1 "* ]]
}

# right SCHEDULES PROGRAM...: nothing is found, in so many schedules or as many as the budget allows
right() {
	local schedules=$1 began=$SECONDS tried
	shift
	: >programs.log
	timeout $((budget + 1300)) rocin hunt --runs "$schedules" --limit 600 --budget "$budget" -- "$@" >out 2>&1 ||
		fail "$*: $(cat out; grep -vE '^ *[0-9]' programs.log)"
	tried=$(sed -n 's/.*the program ends well under \([0-9]*\) schedules.*/\1/p' out)
	[ "${tried:-0}" -ge 1 ] || fail "$*: $(cat out)"
	echo "$* right in $tried schedules of $schedules, $((SECONDS - began)) s"
}

# both TOOL ARG...: a script that runs a server and its client, which is tried until the server listens
both() {
	cat >both.sh <<-'END'
		#!/usr/bin/env bash
		exec >>programs.log 2>&1
		echo "---- $*"
		"$@" -p "$PORT" -d rocin1 &
		server=$!
		for ((i = 0; i < 300; i++)); do
			"$@" -p "$PORT" -d rocin0 "$SERVER" && break
			kill -0 $server || exit 3
			sleep 0.1
		done
		wait $server
	END
	chmod +x both.sh
	next_port
	PORT=$port SERVER=$addr_b right "$schedules" ./both.sh "$@"
}

has() {
	wanted "$1" || return 1
	command -v "$1" >/dev/null && return
	echo "there is no $1 here"
	return 1
}

if wanted two-pairs; then
	right $schedules "$ROCIN_TESTS/two-pairs" right
	timeout 1500 rocin hunt --runs $schedules --keep found --svg found.svg --json -- "$ROCIN_TESTS/two-pairs" wrong >out 2>&1
	[ $? = 1 ] || fail "two-pairs wrong: $(cat out)"
	# One message of the second pair is enough, with both pages that it lies in: the second page would
	# bring the first one with it.
	[ "$(grep '^late' found | grep -cvE '^late rocin3 qp 1 request [0-9]+ host page [01]$')" = 0 ] ||
		fail "what is late: $(cat found)"
	[ "$(grep '^late' found | cut -d' ' -f6 | sort -u | wc -l)" = 1 ] || fail "not shrunk: $(cat found)"
	grep -q '>reads too early, before rocin3 qp 1 ' found.svg || fail "the picture: $(cat found.svg)"
	again=0
	for _ in $(seq $replays); do
		timeout 100 rocin hunt --replay found -- "$ROCIN_TESTS/two-pairs" wrong >out 2>&1
		[ $? = 1 ] && again=$((again + 1))
	done
	[ $((20 * again)) -ge $((19 * replays)) ] || [ $again -ge $((replays - 1)) ] ||
		fail "only $again of $replays replays: $(cat found)"
	echo "two-pairs wrong: found, shrunk to $(grep -c '^late' found) writes, $again of $replays replays"
fi

schedules=8
for tool in ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat ib_write_bw; do
	if has $tool; then
		both $tool -n 200
	fi
done
if has ib_send_lat; then
	both ib_send_lat -n 50 -e # which sleeps and wakes for each message
fi
if has rping; then
	cat >rping.sh <<-'END'
		#!/usr/bin/env bash
		rping -s -a "$SERVER" -C 20 -V &
		server=$!
		for ((i = 0; i < 300; i++)); do
			rping -c -a "$SERVER" -C 20 -V && break
			sleep 0.1
		done
		wait $server
	END
	chmod +x rping.sh
	SERVER=$addr_b right $schedules ./rping.sh
fi
echo ok
