# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lib.sh - what the tests of the command line share; sourced, with ROCIN_BIN,
# ROCIN_SOURCE set by CTest.
# shellcheck shell=bash
set -u
PATH=$ROCIN_BIN:$PATH
work=$(mktemp -d)
runtime=$(mktemp -d -p /dev/shm 2>/dev/null) || runtime=$work # in memory, as XDG_RUNTIME_DIR is
trap 'LD_PRELOAD="" timeout 60 rocin stop >/dev/null 2>&1; rm -rf "$work" "$runtime"' EXIT
export ROCIN_RUNTIME_DIR=$runtime/run ROCIN_IDLE_MS=500
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_CC ROCIN_LOCAL ROCIN_GSO ROCIN_ICRC ROCIN_CREDITS
failures=0

# is WHAT GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		echo "ok: $1"
		return
	fi
	printf 'FAILED: %s\n  got:    %s\n  wanted: %s\n' "$1" "$2" "$3"
	failures=$((failures + 1))
}

# status COMMAND...: its exit status, on standard output; its own output is in $work
status() {
	"$@" >"$work/out" 2>"$work/err"
	echo $?
}

finish() {
	[ "$failures" = 0 ]
	exit
}
