#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live_fails.sh - a live run tells of a forbidden state, with the TLPs that led to it, of a state
# that is listed as never observed, and of knobs or devices that do not work.
# shellcheck source=../../../e2e/kit/lib.sh
. "$(dirname "$0")/../../../e2e/kit/lib.sh"
failed=0

# ends STATUS COMMAND...
ends() {
	local want=$1 got
	shift
	"$@" >"$work/out" 2>&1
	got=$?
	[ $got = "$want" ] && return
	echo "$*: ended with $got, not $want"
	cat "$work/out"
	failed=1
}

# says PATTERN FILE
says() {
	grep -qE -e "$1" "$work/$2" && return
	echo "no \"$1\" in $2"
	head -40 "$work/$2"
	failed=1
}

# What the inside of a GPU allows, called forbidden.
cat >"$work/wrong.litmus" <<'END'
RDMA wrong
"allowed, and said to be forbidden"
{ d@B.gpu0=0, f@B.host=0; q: A.nic0->B.nic0; rule GV1 }
A.cpu | B.cpu | B.gpu0 ;
imm q d <- #1 | pollr q | wait f=1 ;
 | st f 1 | ld r0 d ;
[gpu=none] forbidden (B.gpu0:r0=0)
END
live=("$ROCIN_BIN/rocin" litmus --backend=live --runs=60)
# shows STATUS PATTERN COMMAND...: again until its output has that, which takes longer where
# threads share a processor; then it ends with STATUS
shows() {
	local want=$1 pattern=$2 got i
	shift 2
	for ((i = 0; i < 50; i++)); do
		"$@" >"$work/out" 2>&1
		got=$?
		grep -q "$pattern" "$work/out" || continue
		[ $got = "$want" ] && return
		break
	done
	echo "$*: ended with $got, not $want; or no \"$pattern\" $i times"
	cat "$work/out"
	exit 1
}
shows 1 FORBIDDEN "${live[@]}" "--html=$work/page" "$work/wrong.litmus"
says 'B.nic0 +MWr d' out
says 'seed' out
says '<svg ' page
says 'This must not happen' page
says 'B.gpu0 reads d and finds 0' page

# check_live passes it only if it is listed, and not if it is listed as never observed.
shows 1 '"failure": true' "${live[@]}" --json "$work/wrong.litmus"
cp "$work/out" "$work/report"
: >"$work/list"
ends 1 "$ROCIN_TESTS/check_live" "$work/report" "$work/list" 0
says 'forbidden, and seen: wrong' out
echo 'differs wrong * B.gpu0:r0=0 on purpose' >"$work/list"
ends 0 "$ROCIN_TESTS/check_live" "$work/report" "$work/list" 0
sed -i 's/forbidden (/allowed (/' "$work/wrong.litmus"
shows 0 '"seen": [1-9]' "${live[@]}" --json "$work/wrong.litmus"
cp "$work/out" "$work/report"
ends 0 "$ROCIN_TESTS/check_live" "$work/report" "$work/list" 100
echo 'never wrong * * on purpose' >"$work/list"
ends 1 "$ROCIN_TESTS/check_live" "$work/report" "$work/list" 0
says 'listed as never observed, and seen: wrong' out

# The state file: what was counted is not counted again, and more is added.
ends 0 "${live[@]}" --json "--state=$work/state" "$work/wrong.litmus"
ends 0 "$ROCIN_BIN/rocin" litmus --backend=live --runs=90 --json "--state=$work/state" \
	"$work/wrong.litmus"
says '"runs": 90' out
[ "$(grep -c '^run ' "$work/state")" = 2 ] || {
	echo "not two records:"
	cat "$work/state"
	failed=1
}

# Nobody has to say how many runs.
ends 0 "$ROCIN_BIN/rocin" litmus --backend=live --json "$work/wrong.litmus"
says '"runs": 100' out
exit $failed
