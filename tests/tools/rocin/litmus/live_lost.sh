#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live_lost.sh - what is lost on UC ends no run, in one process or in one for each node: the
# last messages of a run are sent again until whoever waits for them has them. A run in which a
# thread gave up on what came later has no final state. What a drive does not report is not taken
# for a completion.
# shellcheck source=../../../e2e/kit/lib.sh
. "$(dirname "$0")/../../../e2e/kit/lib.sh"

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

cat >"$work/late.litmus" <<'END'
RDMA late
"what a thread waits for comes after it has given up"
{ x@B.host=0; q: A.nic0->B.nic0; rule V1 }
A.cpu | B.cpu ;
write q x <- #1 | wait x=1 ;
forbidden (B.cpu:done=0)
END
ROCIN_FAULT='delay=1s op=WRITE_ONLY' rocin litmus --backend=live --json --runs=2 "$work/late.litmus" >"$work/out" ||
	fail "a thread that gave up: $(cat "$work/out")"
grep -q '"states": \[\]' "$work/out" || fail "a run without an end is counted: $(cat "$work/out")"

cat >"$work/unreported.litmus" <<'END'
RDMA unreported
"a transfer whose completion nobody asks for completes nothing"
{ d@A.gpu0=0; rule P1 }
A.nvme0 | A.cpu ;
dma d 1 | pollc dma ;
forbidden (A.cpu:done=1)
END
rocin litmus --backend=live --runs=10 "$work/unreported.litmus" >"$work/out" ||
	fail "a transfer that is not reported: $(cat "$work/out")"
