#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cm-board.sh - programs read what rocind shows about ids from shared memory, without asking rocind.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

rocind --idle-ms=30000 || fail "rocind ended with status $?"
daemon=$(rocin stat --daemon --json | python3 -c '
import json, sys
print(json.load(sys.stdin)[0]["pid"])')
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/cm_board" "$daemon" "$addr_a" >"$work/out" 2>&1
status=$?
kill -CONT "$daemon"
[ "$status" = 0 ] || fail "status $status: $(tail -3 "$work/out")"
