#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# report.sh ROCIN - what `rocin sim` prints, and what it refuses.
set -u
rocin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=../../kit/verdict.sh
. "$(dirname "$0")/../../kit/verdict.sh"

# refuses STATUS ARGUMENT...
refuses() {
	local want=$1 status
	shift
	"$rocin" sim "$@" >"$work/out" 2>&1
	status=$?
	[ $status = "$want" ] || fail "sim $*: status $status, not $want"
}

"$rocin" sim --json --seeds 1..100 >"$work/all" || fail json
python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
for kind, counts in (("succeeded", 13), ("steps", 13)):
    assert len(report[kind]) == counts, report[kind]
    assert all(n > 0 for n in report[kind].values()), report[kind]
' "$work/all" || fail 'something never happens'

"$rocin" sim --json --seeds 3..7 >"$work/json" || fail json
python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report["seeds"] == 5 and report["failed"] == 0 and report["failures"] == []
assert report["packets"] > 100 and report["completions"] > 100
' "$work/json" || fail 'the numbers'

printf '# two of them\n3 a reason\n\n4\n' >"$work/seeds"
"$rocin" sim --hashes --file "$work/seeds" >"$work/file" || fail file
"$rocin" sim --hashes --seeds 3..4 >"$work/range" || fail range
cmp "$work/file" "$work/range" || fail 'a file and a range of the same seeds differ'

"$rocin" sim --trace --seeds 3 >"$work/trace" || fail trace
for what in 'are connected' 'posts' 'RC_ACK' 'completes' 'faults end' '1 seeds, 0 failed'; do
	grep -q "$what" "$work/trace" || fail "the trace has no \"$what\""
done

"$rocin" sim --connections --json --seeds 1..60 >"$work/json" || fail connections
python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report.pop("failures") == [] and report.pop("failed") == 0
assert report["seeds"] == 60 and all(n > 0 for n in report.values()), report
' "$work/json" || fail 'something never happens to connections'
"$rocin" sim --connections --hashes --seeds 1..9 >"$work/once" || fail 'hashes of connections'
"$rocin" sim --connections --hashes --seeds 1..9 >"$work/twice" || fail 'hashes of connections'
cmp "$work/once" "$work/twice" || fail 'a seed of connections is not a run'
[ "$(sort -u -k2 "$work/once" | wc -l)" = 9 ] || fail 'two seeds of connections are one run'
"$rocin" sim --connections --trace --devices 8 --seeds 4 >"$work/trace" || fail 'a trace of connections'
for what in 'host 7' 'asks' 'hears' 'leaves' 'ESTABLISHED' '1 seeds, 0 failed'; do
	grep -q "$what" "$work/trace" || fail "the trace of connections has no \"$what\""
done

refuses 64 --seeds 7..3
refuses 64 --seeds x
refuses 64 --devices 9
refuses 64 --devices 1
refuses 64 more
refuses 1 --file "$work/missing"
printf '3\nx\n' >"$work/seeds"
refuses 64 --file "$work/seeds"
grep -q 'seeds:2: expected a seed' "$work/out" || fail 'the line is not named'

"$rocin" sim --incast 3 --json --plot "$work/x.svg" >"$work/json" || fail incast
python3 -c '
import json, sys, xml.dom.minidom
work = sys.argv[1]
report = json.load(open(work + "/json"))
off, on = report["runs"]
assert report["senders"] == 3 and [off["cc"], on["cc"]] == ["off", "on"]
assert off["dropped"] > 0 and on["dropped"] == 0 and on["fairness"] > off["fairness"]
assert len(on["samples"]) == 200 and len(on["samples"][0]["kbps"]) == 3
picture = xml.dom.minidom.parse(work + "/x.svg").documentElement
assert len(picture.getElementsByTagName("polyline")) == 6
' "$work" || fail 'what is said of an incast'
"$rocin" sim --topology fat-tree:4 --seeds 1..8 --loss 0.2% --flaps 3 --json >"$work/json" || fail 'fat trees'
python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
runs = report["runs"]
assert [report[n] for n in ("ports", "hosts", "switches", "failed")] == [4, 16, 20, 0], report
assert [run["seed"] for run in runs] == list(range(1, 9)), runs
assert {run["traffic"] for run in runs} == {"permutation", "incast"}, runs
assert all(run[n] > 0 for run in runs for n in ("bytes", "lost", "retransmitted", "events",
           "bytes_per_host", "events_per_second")), runs
' "$work/json" || fail 'what is said of fat trees'
"$rocin" sim --topology=fat-tree:6 --hosts=40 --seeds 5 >"$work/tree" 2>"$work/errors" || fail 'a fat tree'
grep -q '^40 hosts, 45 switches of 6 ports$' "$work/tree" || fail 'a fat tree is not described'
[ ! -s "$work/errors" ] || fail 'progress where nobody looks'
"$rocin" sim --topology=fat-tree:8 --seeds 2 --pfc --json | python3 -c '
import json, sys
run = json.load(sys.stdin)["runs"][0]
assert run["traffic"] == "incast" and run["pauses"] > 0 and run["lost"] == 0, run
' || fail 'flow control'
[ "$("$rocin" sim --topology=fat-tree:4 --hashes)" = "$("$rocin" sim --topology=fat-tree:4 --hashes --seeds 1)" ] ||
	fail 'a seed of a fat tree is not a run'
for wrong in '--topology fat-tree:5' '--topology fat-tree:34' '--topology fat-tree:' '--topology ring:4' \
	'--topology fat-tree:4 --hosts 17' '--topology fat-tree:4 --hosts 1' '--topology fat-tree:4 --loss 2%' \
	'--hosts 4' '--loss 1%' '--flaps 1' --pfc; do
	# shellcheck disable=SC2086 # several words
	refuses 64 $wrong
done

refuses 64 --incast 0
refuses 64 --incast 17
refuses 1 --incast 2 --plot "$work/missing/x.svg"
