#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# examples.sh - each example fails in its faulty form and succeeds with --mended, with the output
# that tools/examples/README.md shows. With the PCIe layer off, the faulty form does not fail.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
examples=$(find "$ROCIN_BIN/.." -maxdepth 4 -type d -path '*/rocin/examples' | head -1)
readme=$(dirname "$0")/../../../tools/examples/README.md

rocin example --list >"$work/list" || fail 'rocin example --list'
names=$(awk '{ print $1 }' "$work/list")
[ "$(echo "$names" | wc -l)" -ge 9 ] || fail 'nine examples or more'
limit=1800
for name in $names; do
	timeout "$limit" rocin example --netdev "lo:$addr_a" "$name" >"$work/out" 2>"$work/err" ||
		fail "$name: status $?: $(cat "$work/err" "$work/out")"
	grep -q '^  as it is  verdict: wrong - \|^            verdict: wrong - ' "$work/out" ||
		fail "$name: does not fail"
	grep -q '^  mended    verdict: right - \|^            verdict: right - ' "$work/out" ||
		fail "$name: is not mended"
	# README.md must contain exactly this output.
	awk -v name="$name" '$0 == name { on = 1 } on && (/^$/ || /^```/) { exit } on' \
		"$readme" >"$work/documented"
	diff "$work/documented" "$work/out" || fail "$name: README.md says something else"
	timeout "$limit" rocin run --netdev "lo:$addr_a" -- "$examples/$name" >"$work/off" 2>&1 ||
		fail "$name, layer off: status $?: $(cat "$work/off")"
	grep -q '^verdict: right - ' "$work/off" || fail "$name, layer off: $(cat "$work/off")"
	echo "ok: $name"
done

rocin example --json --netdev "lo:$addr_a" read-completion >"$work/json" || fail 'JSON'
python3 -c '
import json, sys
x = json.load(sys.stdin)
sys.exit(not (x["as_it_is"]["as_intended"] and "wrong" in x["as_it_is"]["output"] and "right" in x["mended"]["output"]))' <"$work/json" || fail "$(cat "$work/json")"
echo 'ok: JSON'
rocin example no-such-example >/dev/null 2>"$work/err" && fail 'an example that is none'
grep -q 'no example "no-such-example"' "$work/err" || fail "$(cat "$work/err")"
