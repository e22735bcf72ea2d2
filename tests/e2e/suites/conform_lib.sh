# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform_lib.sh - agents of the conformance suite, each with a tester and a share of the
# scenarios. Needs lib.sh, and $ipv6: an address that the first agent has, or nothing.
# shellcheck shell=bash disable=SC2154 # lib.sh and the test that takes this set them

# agent_address N: that of an agent; the first has an IPv6 address, too
agent_address() {
	echo "127.$((20 + 16 * $1 + $$ / 65536 % 16)).$(($$ / 256 % 256)).$(($$ % 256))"
}
agents=()
start_agent() {
	local at
	at=$(agent_address "$1")
	[ "$1" != 0 ] || at=$at$ipv6
	local netdev=("--netdev=lo:$at")
	[ "$1" = 0 ] || netdev=(--netdev "lo:$at")
	rocin conform --agent "${netdev[@]}" >"$work/agent$1" 2>&1 &
	agents[$1]=$!
	pids+=("$!")
	wait_for grep -q '^listening' "$work/agent$1" ||
		fail "agent: $(cat "$work/agent$1")"
}

# start_tester N ARGUMENTS...: the tester of that agent, with options and scenarios
testers=()
start_tester() {
	local n=$1
	shift
	timeout 1800 rocin conform --target "$(agent_address "$n")" --slack 10000 \
		--junit "$work/$n.xml" "$@" >"$work/report$n" &
	testers[$n]=$!
	pids+=("$!")
}

# await_testers: nothing has failed; $work/report has all, and $work/skips each scenario
# that was not run, with the reason
await_testers() {
	local n
	for n in "${!testers[@]}"; do
		wait "${testers[n]}" || fail "status $?: $(grep -v ': skipped: ' "$work/report$n")"
		tail -1 "$work/report$n"
	done
	cat "$work"/report? >"$work/report"
	sed -n 's|.*/scenario/\(.*\): skipped: |\1 |p' "$work/report" | LC_ALL=C sort >"$work/skips"
}
