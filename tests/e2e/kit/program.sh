#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# program.sh - runs one of the test programs with a device of its own.
#
# usage: program.sh NAME [ARGUMENT...]
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
timeout 1800 rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/$1" "${@:2}"
status=$?
[ "$status" = 0 ] || fail "$1 ended with status $status"
