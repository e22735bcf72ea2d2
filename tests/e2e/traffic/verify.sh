#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# verify.sh - checks every byte of every operation, with and without loss, between two processes of
# one host.
#
# usage: verify.sh rc|uc|ud
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
kind=$1

# verify NAME OPTION...: runs verify with these options
verify() {
	local name=$1
	shift
	verify_pair "$kind $name" --type "$kind" "$@"
}

verify 'path MTU 1024' -n 2000
verify 'path MTU 4096' -n 1000 --mtu 4096 --max 100000
verify 'path MTU 256' -n 500 --mtu 256 --max 5000
verify 'events' -n 500 --events
ROCIN_LOCAL=no-icrc verify 'without ICRC' -n 1000
ROCIN_LOCAL=off verify 'by UDP' -n 1000
ROCIN_LOCAL=off ROCIN_GSO=off verify 'by UDP without GSO' -n 500
ROCIN_FAULT=drop=1%,seed=3 verify '1 % loss' -n 1000 --lossy
# Only RC corrects duplicates and reordering; UC and UD deliver them to the program.
faults=drop=1%,corrupt=1%,seed=5
[ "$kind" != rc ] || faults=$faults,dup=1%,reorder=1%
ROCIN_FAULT=$faults verify "$faults" -n 500 --lossy
ROCIN_LOCAL=no-icrc ROCIN_FAULT=drop=1%,corrupt=1%,seed=9 verify '1 % loss without ICRC' -n 500 --lossy
ROCIN_LOCAL=off ROCIN_GSO=off ROCIN_FAULT=drop=1%,seed=7 verify '1 % loss by UDP without GSO' -n 500 --lossy
