#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# programs.sh - common programs under the validation layer: it reports no error, but for those of
# programs.txt, which rocin-validate(7) explains.
#
# usage: programs.sh perftest | pingpong | rdmacm | mpi | all
#   mpi   one_sided.c, two ranks, by Open MPI over UCX and over libfabric
#   all   the end-to-end tests of programs.txt; their long list of options takes minutes
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
found=$work/found
mkdir "$found"
export ROCIN_VALIDATE=error,exitcode=0,symbolize=off,log=$found/log.%p,json=$found/json.%p

# expect NAME RULE...: these rules were broken since the last call, and no others; one with a
# question mark may have been. `killed': the program does not live to say how many it found.
expect() {
	python3 - "$found" "${@:2}" <<-'P' || { cat "$found"/log.* && fail "$1: other findings than '${*:2}'"; }
		import glob, json, sys
		lines = [json.loads(line) for path in glob.glob(sys.argv[1] + "/json.*") for line in open(path)]
		seen = {line["rule"] for line in lines if "rule" in line}
		words = [word for word in sys.argv[2:] if word != "killed"]
		may = {word.rstrip("?") for word in words}
		must = {word for word in words if not word.endswith("?")}
		absent = not lines and len(words) == len(sys.argv[2:])
		if absent:
		    print("the validation layer was not there")
		sys.exit(absent or bool(seen - may or must - seen))
	P
	rm -f "$found"/*
}

# both PROGRAM OPTION...: a server and a client with the same options
both() {
	next_port
	pair "$*" "$@" -p "$port" -- "$@" -p "$port" 127.0.0.1
	expect "$*"
}
perf() { both "$1" -x 0 -F -n 100 "${@:2}"; }

# ranks NAME OPTION...: two ranks of one_sided.c, each on a device of its own
ranks() {
	local rank=(rocin run --netdev)
	timeout "$limit" mpirun --oversubscribe -n 1 "${@:2}" "${rank[@]}" "lo:$addr_a" -- "$work/one_sided" : \
		-n 1 "${rank[@]}" "lo:$addr_b" -- "$work/one_sided" >"$work/out" 2>&1 ||
		{ tail -20 "$work/out" && fail "$1"; }
	grep -q '^one_sided: right$' "$work/out" || fail "$1: $(tail -3 "$work/out")"
	expect "$1"
	echo "ok: $1"
}

case $1 in
perftest)
	quick_perftest
	perf ib_send_bw
	perf ib_send_bw -c UC
	perf ib_send_bw -c UD
	perf ib_send_bw -e -s 4096
	perf ib_send_bw -l 4 -s 64
	perf ib_send_bw --use-srq -q 4
	perf ib_write_bw -I 64 -s 32
	perf ib_write_bw -q 4 -b
	perf ib_read_bw
	perf ib_atomic_bw
	perf ib_send_lat -c UD
	perf ib_write_lat
	perf ib_read_lat
	perf ib_atomic_lat
	for program in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
		perf "$program" -q 8
	done
	;;
pingpong)
	for kind in rc uc ud srq xsrq; do
		both "ibv_${kind}_pingpong" -g 0 -n 100
		both "ibv_${kind}_pingpong" -g 0 -n 100 -e
	done
	both ibv_rc_pingpong -g 0 -n 100 -N
	verify_pair 'verify' --count 200
	expect verify
	rocin run --netdev "lo:$addr_a" -- stdbuf -oL ibv_asyncwatch -d rocin0 >"$work/watch" 2>&1 &
	pids+=($!)
	wait_for grep -q 'async event FD' "$work/watch" || fail "ibv_asyncwatch: $(cat "$work/watch")"
	kill "${pids[-1]}"
	wait "${pids[-1]}"
	expect ibv_asyncwatch killed
	;;
rdmacm)
	where=lo
	# shellcheck source=../e2e/kit/rdmacm_lib.sh
	. "$here/../e2e/kit/rdmacm_lib.sh"
	cm() { # NAME SERVER-COMMAND -- CLIENT-COMMAND
		play "$@"
		expect "$1"
	}
	# A thread of its own may end it (ended_well of lib.sh).
	play rping rping -s -a "$server" -C 20 -- rping -c -a "$server" -C 20
	expect rping killed
	cm ucmatose ucmatose -b "$server" -c 4 -- ucmatose -s "$server" -c 4
	cm udaddy udaddy -b "$server" -c 4 -- udaddy -s "$server" -c 4
	cm rdma_client rdma_server -- rdma_client -s "$server"
	;;
mpi)
	command -v mpicc mpirun >/dev/null || skip 'openmpi-bin and libopenmpi-dev are not installed'
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
	# UCX gives a peer up that does not answer for 30 s, which a busy machine may take.
	export UCX_NET_DEVICES=rocin0:1 UCX_UD_VERBS_TIMEOUT=30m FI_PROVIDER='verbs;ofi_rxm'
	mpirun -n 1 true >"$work/out" 2>&1 || skip "mpirun: $(tail -3 "$work/out")"
	mpicc -O1 -o "$work/one_sided" "$here/one_sided.c" || fail mpicc
	UCX_TLS=rc_v,self ranks 'UCX, RC' --mca pml ucx --mca osc ucx --mca btl self
	UCX_TLS=ud_v,self ranks 'UCX, UD' --mca pml ucx --mca osc ucx --mca btl self
	ranks libfabric --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs --mca osc pt2pt
	;;
all)
	while IFS='|' read -r command rules; do
		[ "${command###}" = "$command" ] || continue
		# shellcheck disable=SC2086 # words
		"$here/../e2e/"$command >"$work/out" 2>&1
		status=$?
		[ "$status" != 77 ] || { echo "skipped: $command: $(tail -1 "$work/out")" && continue; }
		[ "$status" = 0 ] || { tail -20 "$work/out" && fail "$command"; }
		# shellcheck disable=SC2086 # words
		expect "$command" $rules
		echo "ok: $command:${rules:- nothing}"
	done <"$here/programs.txt"
	;;
esac
