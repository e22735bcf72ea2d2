#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run_verbs.sh - run a test program on a device, a rocind and an address of its own.
#
# usage: run_verbs.sh BIN-DIRECTORY PROGRAM
set -u
bin=$1
program=$2
work=$(mktemp -d)
export ROCIN_RUNTIME_DIR=$work/run ROCIN_IDLE_MS=500
unset ROCIN_NETDEVS ROCIN_TREE ROCIN_LOG ROCIN_PCAP ROCIN_FAULT ROCIN_GSO ROCIN_ICRC
trap '"$bin/rocin" stop >/dev/null 2>&1; rm -rf "$work"' EXIT

# An instrumented program has the sanitizer's runtime first in any case; one whose plugin
# alone is instrumented needs it from here.
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD

# The process id is in the address, so tests run side by side.
address=127.$((32 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
"$bin/rocin" run --netdev "lo:$address" -- "$program"
