#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# boundary-cost.sh - a WRITE of 4 KiB by UDP takes as many instructions, within 1 %, with the
# boundary between users as without.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
# shellcheck source=../../e2e/budget/instructions.sh
. "$(dirname "$0")/../../e2e/budget/instructions.sh"

# restart WHO: a rocind that admits these
restart() {
	rocin stop >/dev/null
	ROCIN_NEIGHBOURS=$1 rocind --foreground --idle-ms 60000 &
	pids+=($!)
	wait_for started || fail 'rocind does not start'
}
for _ in 1 2 3; do
	restart user
	per_write with ROCIN_LOCAL=off
	with=$counted
	restart all
	per_write without ROCIN_LOCAL=off
	without=$counted
	said="$with instructions for a WRITE of 4 KiB, $without without the boundary"
	[ $((with * 100)) -gt $((without * 101)) ] || break
done
[ $((with * 100)) -le $((without * 101)) ] || fail "$said"
echo "ok: $said"
