#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run_verbs.sh - run a test program on a device, a rocind and an address of its own.
#
# usage: run_verbs.sh BIN-DIRECTORY PROGRAM [PCIE-KNOBS [DEVICE-MEMORY-RULE [ARGUMENT]]]
set -u
rocind_pid=
bin=$1
program=$2
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # in memory, as XDG_RUNTIME_DIR is
export ROCIN_RUNTIME_DIR=$work/run ROCIN_IDLE_MS=500 PATH=$bin:$PATH
unset ROCIN_RECORD ROCIN_RECORD_LIMIT
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_CC ROCIN_LOCAL ROCIN_GSO ROCIN_ICRC \
	ROCIN_PIN ROCIN_PCIE ROCIN_PCIE_DEVICE ROCIN_PCIE_TRAP
# Packets of its own, from a plain socket.
case $program in */verbs_async) export ROCIN_NEIGHBOURS=all ;; esac
cleanup() {
	LD_PRELOAD='' "$bin/rocin" stop >/dev/null 2>&1
	[ -z "$rocind_pid" ] || wait "$rocind_pid"
	rm -rf "$work"
}
trap cleanup EXIT

# An instrumented program has the sanitizer's runtime first in any case; one whose plugin
# alone is instrumented needs it from here.
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD

# ThreadSanitizer does not survive the clone() that starts rocind on demand.
if [ -n "${ROCIN_TEST_START:-}" ]; then
	mkdir -m 700 "$ROCIN_RUNTIME_DIR"
	"$bin/rocind" --foreground --idle-ms 60000 &
	rocind_pid=$!
	for _ in $(seq 6000); do
		[ -z "$(find "$ROCIN_RUNTIME_DIR" -type s)" ] || break
		sleep 0.02
	done
fi

# The process id is in the address, so tests run side by side.
address=127.$((32 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
"$bin/rocin" run --netdev "lo:$address" ${3:+"--pcie=$3"} \
	${4:+"--device-memory=$4"} -- "$program" ${5:+"$5"}
