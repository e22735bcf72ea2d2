#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# double.sh - memory of a GPU in verbs, on the double of the CUDA driver.
#
# usage: double.sh FOLDER-OF-THE-DOUBLE early|late|udp|pcie|pcie-late
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
export ROCIN_LOG=warn ROCIN_NETDEVS=lo:$addr_a LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# runs STATUS OPTION... -- ARGUMENT...: gpu_verbs with these arguments under `rocin run OPTION...'
runs() {
	local want=$1 options=() status
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 600 rocin run "${options[@]}" -- "$ROCIN_TESTS/gpu_verbs" "$@" >"$work/out" 2>&1
	status=$?
	[ $status = "$want" ] || fail "${options[*]} $*: status $status: $(cat "$work/out")"
}

case $2 in
early | late)
	runs 0 -- "$2" 1
	grep -q 'sync memops 1' "$work/out" || fail "no sync memops: $(cat "$work/out")"
	grep -q 'has freed memory of a GPU' "$work/out" || fail "nothing about freed memory: $(cat "$work/out")"
	# The files by which programs decide whether NICs reach memory of GPUs.
	for file in /sys/module/nvidia_peermem/version /sys/kernel/mm/memory_peers/nv_mem/version; do
		rocin run -- cat $file >/dev/null || fail "$file is not shown"
	done
	;;
udp)
	export ROCIN_LOCAL=off
	runs 0 --fault=drop=1%,dup=1%,reorder=1%,seed=5 -- early 1 lossy
	;;
pcie)
	for knobs in strict ibta typical typical,gpu.ordering=none adversarial,hold=inf,gpu.ordering=none; do
		runs 0 "--pcie=$knobs" -- early 0 flush
	done
	;;
pcie-late)
	# Nothing moves unless it is pushed: who looks at the GPU without a flush finds old bytes.
	runs 1 --pcie=adversarial,hold=inf,gpu.ordering=none -- early 1
	grep -q 'WRITE to gpu: byte 0 of 1 is 0x00' "$work/out" || fail "nothing is late: $(cat "$work/out")"
	# What watches pages of the program cannot be had with such memory.
	for how in --pcie=adversarial --sanitize; do
		runs 1 $how -- early 1
		grep -q 'real GPU cannot be registered with --sanitize, or with hold=event' "$work/out" ||
			fail "$how is not refused: $(cat "$work/out")"
	done
	;;
esac
[ "$2" = pcie-late ] || grep -qx 'gpu_verbs: ok' "$work/out" || fail "$(cat "$work/out")"
echo ok
