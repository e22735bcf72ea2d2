#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live_receives.sh - a run in which a message has waited for a receive has no final state, and a
# receive that no message took is not there in the next run. A store and a BlueFlame doorbell leave
# the processor in either order.
# shellcheck source=../../../e2e/kit/lib.sh
. "$(dirname "$0")/../../../e2e/kit/lib.sh"

# live FILE OPTION...: the report of some runs, in $work/out
live() {
	rocin litmus --backend=live --json "${@:2}" "$work/$1" >"$work/out" || fail "$1: $(cat "$work/out")"
}

cat >"$work/waited.litmus" <<'END'
RDMA waited
"the receive would come behind a value that nobody writes"
{ w@B.host=0, x@B.host=0, f@B.host=0; q: A.nic0->B.nic0; rule V1 }
A.cpu | B.cpu ;
send q _ <- #1 | wait f=1 ;
 | recv q w ;
forbidden (x=1)
END
live waited.litmus --runs=1 --mode=strict
grep -q '"states": \[\]' "$work/out" || fail "a run without a receive is counted: $(cat "$work/out")"

cat >"$work/unused.litmus" <<'END'
RDMA unused
"the second receive is for no message of this run, and for none of the next"
{ w@B.host=0, v@B.host=0, x@B.host=0, y@B.host=0; q: A.nic0->B.nic0; rule V1 }
A.cpu | B.cpu ;
send q _ <- #1 | st w &x ;
 | st v &y ;
 | recv q w ;
 | recv q v ;
[mode=strict] forall (x=1 /\ y=0)
END
live unused.litmus --runs=4 --mode=strict
grep -q '"count": 4' "$work/out" || fail "not each run has that state: $(cat "$work/out")"

cat >"$work/blue.litmus" <<'END'
RDMA blue
"the doorbell may leave before the store"
{ s@A.host=0, x@B.host=2; q: A.nic0->B.nic0; rule T3 }
A.cpu ;
st s 1 ;
blue q x <- &s ;
allowed (x=0)
END
for _ in $(seq 50); do
	live blue.litmus --runs=60
	! grep -q '"seen": [1-9]' "$work/out" || exit 0
done
fail "a BlueFlame doorbell never overtakes a store: $(cat "$work/out")"
