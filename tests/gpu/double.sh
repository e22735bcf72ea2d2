#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# double.sh - memory of a GPU in verbs, on the double of the CUDA driver.
#
# usage: double.sh FOLDER-OF-THE-DOUBLE early|late
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
export ROCIN_NETDEVS=lo:$addr_a LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

timeout 600 rocin run -- "$ROCIN_TESTS/gpu_verbs" "$2" 1 >"$work/out" 2>&1 ||
	fail "status $?: $(cat "$work/out")"
grep -qx 'gpu_verbs: ok' "$work/out" || fail "$(cat "$work/out")"
grep -q 'sync memops 1' "$work/out" || fail "no sync memops: $(cat "$work/out")"

# The files by which programs decide whether NICs reach memory of GPUs.
# shellcheck disable=SC2016 # expanded by the shell below
rocin run -- sh -c 'cat /sys/module/nvidia_peermem/version && cat /sys/kernel/mm/memory_peers/nv_mem/version' \
	>"$work/out" 2>&1 || fail "peer memory is not shown: $(cat "$work/out")"
echo ok
