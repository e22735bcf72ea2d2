#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fault-live.sh - `rocin fault' adds and removes fault rules while programs run.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# hits N: prints how many packets rule N has hit; seen N: how many packets matched its conditions
hits() { rocin fault | awk -v n="$1" '$1 == n { print $3 }'; }
seen() { rocin fault | awk -v n="$1" '$1 == n { print $2 }'; }
has_hit() { [ "$(hits "$1")" -ge "$2" ]; }
refused() {
	local pattern=$1
	shift
	rocin fault "$@" >"$work/out" 2>"$work/err" && fail "taken: $*"
	grep -q "$pattern" "$work/err" || fail "$*: $(cat "$work/err")"
}

[ "$(rocin fault)" = 'there are no rules about faults' ] || fail "$(rocin fault)"
rocin fault --clear || fail 'nothing to clear is no error'

# Rules that are set before a program starts; wrong rules do not change them.
rocin fault 'duplicate tx rx chance=2%' 'drop program=nobody' || fail 'two rules'
printf 'drop\n\ndelay=soon\n' >"$work/rules"
refused "$work/rules:3: \"delay=soon\": expected a time" --file "$work/rules"
refused 'rule 1:1: "lose"' lose
refused 'no rule 3' --remove 3
refused 'cannot be read' --file "$work/nosuchfile"
[ "$(rocin fault | grep -c '  0 ')" = 2 ] || fail "$(rocin fault)"
rocin doctor --netdev "lo:$addr_a" | grep -q 'rocin fault --clear' ||
	fail 'doctor does not see that there are rules'

next_port
ROCIN_CC=observe rocin run --netdev "lo:$addr_a" -- ib_send_bw -x 0 -F -D 3600 -p "$port" >"$work/a.out" 2>&1 &
a=$!
pids+=("$a")
wait_for listening "$a" || fail 'server does not listen'
rocin run --netdev "lo:$addr_b" -- ib_send_bw -x 0 -F -D 3600 -p "$port" 127.0.0.1 \
	>"$work/b.out" 2>&1 &
b=$!
pids+=("$b")
wait_for has_hit 1 10 || fail "no packet was doubled: $(rocin fault)"
[ "$(seen 2)" = 0 ] || fail "a rule for another program: $(rocin fault)"
echo 'ok: rules stand when a program starts'

# A rule that is added while both programs run; its counts are exact.
rocin fault 'drop op=SEND_* count=3 every=10' || fail 'a third rule'
wait_for has_hit 3 3 || fail "$(rocin fault)"
[ "$(hits 3)" = 3 ] || fail "more than 3: $(rocin fault)"
rocin stat --json | python3 -c '
import json, sys
assert sum(c["hw_counters"]["fault_dropped"] for c in json.load(sys.stdin)) == 3' ||
	fail 'other packets were dropped'
rocin fault --json | python3 -c '
import json, sys
said = json.load(sys.stdin)
assert said["seed"] == 1 and len(said["rules"]) == 3, said
assert said["rules"][2]["hits"] == 3, said
assert [d["has_rules"] for d in said["devices"]] == [True, True], said
' || fail "$(rocin fault --json)"
echo 'ok: a rule reaches two programs that run'

# A packet that the sender's device marks arrives with the mark.
marked() {
	rocin stat --json | python3 -c '
import json, sys
sys.exit(not any(c["hw_counters"]["np_ecn_marked_roce_packets"]
                 for c in json.load(sys.stdin)))'
}
rocin fault 'mark op=SEND_* every=10' || fail 'mark'
wait_for marked || fail "no mark arrived: $(rocin fault)"
rocin fault --remove 4 || fail 'removal of the marks'
echo 'ok: a mark of congestion arrives'

# After rules were removed, the others still count.
before=$(hits 1)
rocin fault --remove 2 --remove 3 || fail 'removal'
[ "$(rocin fault | wc -l)" = 3 ] || fail "$(rocin fault)"
wait_for has_hit 1 $((before + 1)) || fail "the rule that stays has stopped: $(rocin fault)"
rocin fault --clear || fail 'clear'
[ "$(rocin fault)" = 'there are no rules about faults' ] || fail "$(rocin fault)"
echo 'ok: rules go while programs run'

# A rule kills one process, which its process id selects.
pid=$(rocin stat --json | python3 -c '
import json, sys
print(max(json.load(sys.stdin), key=lambda c: c["hw_counters"]["rdma_sends"])["pid"])')
rocin fault "kill pid=$pid" || fail 'kill'
wait "$b" && fail 'the queue pair is not dead'
[ "$(hits 1)" -ge 1 ] || fail "what a process hit is forgotten: $(rocin fault)"
kill "$a" 2>/dev/null
wait "$a" 2>/dev/null
echo 'ok: a queue pair is killed in one of two programs'

rocin fault --clear 'drop tx rx chance=5%' 'duplicate tx rx chance=5%' \
	'reorder tx rx chance=5%' seed=11 || fail 'bad weather'
verify_pair 'loss, duplicates and disorder, 5 % each' --type rc -n 50 --lossy
