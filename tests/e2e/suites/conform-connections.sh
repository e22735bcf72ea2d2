#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform-connections.sh - the scenarios of the conformance suite about connections, against Rocin's
# devices. Their agents connect by librdmacm; the testers are peers that send and receive the
# messages. The results must be those in virtual time, except where conform-connections-skips.txt
# lists limits of librdmacm. A device whose messages are damaged must lead to findings.
#
# usage: conform-connections.sh [long]: with what runs for minutes, too
#
# Most of the time is spent waiting for timers, so there are several devices. Each has a tester,
# which runs a share of the scenarios.

# shellcheck disable=SC2034 # by lib.sh
network=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
here=$(dirname "$0")
group=$here/../../sim/scenario/N-connections
shares=8
ipv6=''
# shellcheck source=conform_lib.sh
. "$here/conform_lib.sh"
longest=()
[ "${1:-}" != long ] || longest=(--longest 200)

mapfile -t files < <(find "$group" -name '*.scn' | LC_ALL=C sort)
# Each device has a rocind of its own, because rocind refuses a port differently if a program
# listens on it at another address.
own_runtime=$ROCIN_RUNTIME_DIR
# Each rocind, also one that `rocin fault` starts, must accept packets of the tester, which is a
# socket of this host.
export ROCIN_IDLE_MS=60000 ROCIN_NEIGHBOURS=all
own_cleanup() {
	local n
	for n in $(seq 0 $((shares - 1))); do
		ROCIN_RUNTIME_DIR=$own_runtime$n rocin stop >/dev/null 2>&1
	done
}
for n in $(seq 0 $((shares - 1))); do
	export ROCIN_RUNTIME_DIR=$own_runtime$n
	start_agent "$n"
	share=()
	for i in "${!files[@]}"; do
		[ $((i % shares)) != "$n" ] || share+=("${files[i]}")
	done
	start_tester "$n" "${longest[@]}" "${share[@]}"
done
await_testers
sed '/^#/d' "$here/conform-connections-skips.txt" |
	if [ "${1:-}" = long ]; then grep -v ' --longest '; else cat; fi |
	LC_ALL=C sort | diff - "$work/skips" || fail 'other skips'
[ "$(cat "$work"/?.xml | grep -c '<testcase')" = "${#files[@]}" ] || fail 'not all were run'

export ROCIN_RUNTIME_DIR=${own_runtime}0

# A device that sends no RTU, and a device whose REP has an unknown connection: each leads to a
# finding, and the run continues.
findings() {
	rocin conform --target "$(agent_address 0)" --slack 10000 "$@" >"$work/out" 2>&1
	[ $? = 1 ] || fail "a wrong device: $(cat "$work/out")"
}
rocin fault 'drop tx mad=RTU' || fail 'no fault'
findings "$group/N9-other-qp.scn" "$group/cell-RTU-lost-once-active.scn"
grep -q 'cell-RTU-lost-once-active.scn:.*: nothing left$' "$work/out" || fail "no RTU: $(cat "$work/out")"
grep -q '^2 scenarios: 1 passed, 1 failed' "$work/out" || fail "no RTU: $(cat "$work/out")"
rocin fault --clear 'corrupt tx mad=REP at=48 xor=0x80 icrc=good' || fail 'no fault'
findings "$group/N6-rtu.scn" "$group/N15-no.scn"
grep -q 'N6-rtu.scn:2: remote is not as expected$' "$work/out" || fail "a wrong ID: $(cat "$work/out")"
grep -q '^2 scenarios: 1 passed, 1 failed' "$work/out" || fail "a wrong ID: $(cat "$work/out")"
rocin fault --clear

# The agent dies while it has a connection.
rocin conform --progress --target "$(agent_address 0)" "$group/N6-rtu.scn" "$group/N4-thinking.scn" \
	>"$work/out" 2>&1 &
tester=$!
pids+=("$tester")
wait_for grep -q '^1 of ' "$work/out" || fail "no tester: $(cat "$work/out")"
kill -9 "${agents[0]}"
wait "$tester"
[ $? = 2 ] || fail "agent killed: $(cat "$work/out")"
grep -q 'N4-thinking.scn:.*: the agent died: ' "$work/out" || fail "agent killed: $(cat "$work/out")"
