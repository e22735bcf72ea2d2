#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd-hogs.sh - programs of all kinds on two processors that twenty other busy programs use, too:
# each run must succeed, however long it takes.
#
# usage: crowd-hogs.sh RUNS SECONDS [KIND...]
#
# Each kind is run RUNS times, one kind after the other in each round. When SECONDS are over, no
# further run begins. With KIND... only these kinds are run, so that many runs can be split, as by
# `ctest -C long -R long.crowd-hogs-KIND`. $CROWD_HOGS is the number of other programs.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=hogs_lib.sh
. "$(dirname "$0")/hogs_lib.sh"
runs=$1 seconds=$2 hogs=${CROWD_HOGS:-20}
wanted=("${@:3}")
# shellcheck disable=SC2034 # by rdmacm_lib.sh
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
quick_perftest

pingpong() { # KIND OPTION...
	local kind=$1
	shift
	next_port
	pair "ibv_${kind}_pingpong" "ibv_${kind}_pingpong" -g 0 -n 100 -p "$port" "$@" -- \
		"ibv_${kind}_pingpong" -g 0 -n 100 -p "$port" "$@" 127.0.0.1
}
perftest() { # PROGRAM OPTION...
	next_port
	pair "$1" "$@" -x 0 -F -p "$port" -- "$@" -x 0 -F -p "$port" 127.0.0.1
}
run_rc() { pingpong rc -c; }
run_uc() { pingpong uc; }
run_ud() { pingpong ud -s 2048; }
run_srq() { pingpong srq -c; }
run_events() { pingpong rc -c -e; }
run_send_bw() { perftest ib_send_bw -n 1000 -s 64; }
# Both ends poll memory and make no system calls, so each message waits for ten time slices.
run_write_lat() { perftest ib_write_lat -n 5; }
run_read_bw() { perftest ib_read_bw -n 100; }
run_rping() { play rping rping -s -a "$server" -C 100 -V -- rping -c -a "$server" -C 100 -V; }
# UCX connects RC by its own UD packets, and gives up after 30 s without an answer. Beside the other
# programs, it may have had a processor for only a tenth of this time.
ucx=(UCX_TLS=rc_v UCX_NET_DEVICES=rocin0:1 UCX_UD_VERBS_TIMEOUT=30m)
run_ucx() {
	local pid
	rm -f "$work/meet"
	env "${ucx[@]}" timeout "$limit" rocin run --netdev "lo:$addr_a" -- \
		"$ROCIN_TESTS/ucp_data" b "$work/meet" >"$work/b.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	env "${ucx[@]}" timeout "$limit" rocin run --netdev "lo:$addr_b" -- \
		"$ROCIN_TESTS/ucp_data" a "$work/meet" >"$work/a.out" 2>&1 &&
		wait "$pid" || fail "ucp_data: $(tail -n 15 "$work/a.out" "$work/b.out")"
	echo 'ok: ucp_data'
}
run_pyverbs() {
	(cd "$work" && PYTHONPATH=$work/suite timeout "$limit" rocin run --netdev "lo:$addr_a" -- \
		"$python" -c 'from args_parser import parser
parser.parse_args()
import unittest
unittest.main(module=None, argv=["", "tests.test_qpex.QpExTestCase.test_qp_ex_rc_send_imm"])') \
		>"$work/pyverbs.out" 2>&1 && grep -q '^OK$' "$work/pyverbs.out" ||
		fail "pyverbs: $(tail -20 "$work/pyverbs.out")"
	echo 'ok: pyverbs'
}

kinds=(rc send_bw rping uc ud srq events write_lat read_bw)
[ ! -x "$ROCIN_TESTS/ucp_data" ] || kinds+=(ucx)
# shellcheck source=../suites/pyverbs_lib.sh
(. "$(dirname "$0")/../suites/pyverbs_lib.sh") >/dev/null &&
	rm -rf "$work/suite" && . "$(dirname "$0")/../suites/pyverbs_lib.sh" && kinds+=(pyverbs)
# The suite is reduced to one test, because its package would load all modules.
[ ! -d "$work/suite" ] || { : >"$work/suite/__init__.py" && ln -s suite "$work/tests"; }

if [ "${#wanted[@]}" -gt 0 ]; then
	for kind in "${wanted[@]}"; do
		declare -F "run_$kind" >/dev/null || fail "there is no kind $kind"
		[[ " ${kinds[*]} " = *" $kind "* ]] || skip "what $kind needs is not installed"
	done
	kinds=("${wanted[@]}")
fi

only_two_processors
start_hogs "$hogs"

# one_run KIND: runs in a subshell. A failure ends only the subshell, which kills the programs of
# the run.
one_run() (
	trap 'end_now "${pids[@]:$before}"' EXIT
	before=${#pids[@]}
	"run_$1"
)

declare -A done_runs=() failures=() took=()
over() { [ "$SECONDS" -ge "$seconds" ]; }
SECONDS=0
for ((i = 0; i < runs; i++)); do
	for kind in "${kinds[@]}"; do
		! over || break 2
		begun=$SECONDS
		next_port
		one_run "$kind" >"$work/run" 2>&1 || {
			failures[$kind]=$((${failures[$kind]:-0} + 1))
			echo "run $((i + 1)) of $kind:"
			tail -n 40 "$work/run"
		}
		took[$kind]=$((${took[$kind]:-0} + SECONDS - begun))
		done_runs[$kind]=$((${done_runs[$kind]:-0} + 1))
	done
	echo "round $((i + 1)) after $SECONDS s"
done
[ "${#done_runs[@]}" -gt 0 ] || fail "not one run in $seconds s"
printf '%-10s %6s %8s %8s\n' kind runs failures seconds
for kind in "${kinds[@]}"; do
	printf '%-10s %6d %8d %8d\n' "$kind" "${done_runs[$kind]:-0}" "${failures[$kind]:-0}" "${took[$kind]:-0}"
done
[ "${#failures[@]}" = 0 ] || fail "of ${!failures[*]}"
echo "ok: no run failed beside $hogs others"
