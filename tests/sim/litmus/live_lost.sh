#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live_lost.sh - what is lost on UC ends no run, in one process or in one for each node: the
# last messages of a run are sent again until whoever waits for them has them.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"

cat >"$work/lost.litmus" <<'END'
RDMA lost
"on UC half of the messages arrive"
{ x@B.host=0; q: A.nic0->B.nic0 uc; rule V14 }
A.cpu | B.cpu ;
write q x <- #1 | ld r0 x ;
poll q | ;
allowed (B.cpu:r0=0)
END
for how in '' --processes; do
	# shellcheck disable=SC2086 # none is no argument
	ROCIN_FAULT=drop=50% rocin litmus --backend=live --runs=50 --mode=strict $how \
		"$work/lost.litmus" || fail "rocin litmus $how"
done
