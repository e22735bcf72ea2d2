#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live.sh RUNS PERCENT [OPTION...] FILE...: litmus tests on the provider itself: no state that
# is forbidden, and of those that are allowed most are seen.
set -u
here=$(cd "$(dirname "$0")" && pwd)
runs=$1 percent=$2
shift 2
work=$(mktemp -d)
export ROCIN_RUNTIME_DIR=$work/run ROCIN_IDLE_MS=500
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_GSO ROCIN_ICRC \
	ROCIN_PCIE ROCIN_PCIE_DEVICE ROCIN_PCIE_TRAP ROCIN_SANITIZE
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD
cleanup() {
	LD_PRELOAD='' timeout 5 "$ROCIN_BIN/rocin" stop >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT

"$ROCIN_BIN/rocin" litmus --backend=live --json --runs="$runs" "$@" >"$work/report"
status=$?
# 1 is the judgement that check_live makes with the list at hand.
if [ $status -gt 1 ]; then
	echo "FAILED: rocin litmus $* ended with $status"
	exit 1
fi
"$ROCIN_TESTS/check_live" "$work/report" "$here/not-observed.txt" "$percent"
