#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform.sh - `rocin conform' and the scenarios that come with it, and agents that hang, die and
# lie: conform_fake.py

# shellcheck source=lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=../../../kit/verdict.sh
. "$(dirname "$0")/../../../kit/verdict.sh"

# Without a file it is the bank that comes with rocin, and a name may be one of its files or groups.
rocin=$ROCIN_BIN/rocin
scenarios=$(find "$ROCIN_SOURCE/tests/sim/scenario" -name '*.scn' | wc -l)
cd "$work" || exit 1
"$rocin" conform >out 2>&1 || fail "without a file: $(cat out)"
grep -q "^$scenarios scenarios: $scenarios passed" out || fail "without a file: $(cat out)"
"$rocin" conform --list >out || fail '--list'
[ "$(wc -l <out)" = "$scenarios" ] || fail "--list: $(wc -l <out) lines of $scenarios scenarios"
grep -qE '^A-header/A1-icrc.scn +A1 +A packet with a wrong ICRC is dropped' out || fail "--list: $(head -3 out)"
"$rocin" conform --list --json >out || fail '--list --json'
python3 -c 'import json, sys
listed = json.load(sys.stdin)
(icrc,) = (one for one in listed if one["file"] == "A-header/A1-icrc.scn")
assert len(listed) == int(sys.argv[1]) and icrc["rules"] == ["A1"] and "wrong ICRC" in icrc["title"]' "$scenarios" <out ||
	fail "--list --json: $(head -3 out)"
"$rocin" conform --all A-header/A1-icrc.scn >out || fail "one of the bank: $(cat out)"
grep -q '^1 scenarios: 1 passed' out || fail "one of the bank: $(cat out)"
"$rocin" conform --expect=rxe-6.1 A-header >out || fail "a profile of the bank: $(cat out)"
grep -q '^repaired: ' out || fail "a profile of the bank: $(cat out)"
mkdir bin && cp "$rocin" bin/
bin/rocin conform >out 2>&1
[ $? = 2 ] || fail "a missing bank: $(cat out)"
grep -qE '^rocin: the bank of tests .*/share/rocin/scenario is missing; install Rocin again, or name files or directories$' \
	out || fail "a missing bank: $(cat out)"
cd - >/dev/null || exit 1

python3 "$(dirname "$0")/conform_fake.py" "$ROCIN_BIN/rocin" "$work" "$ROCIN_SOURCE"
