#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# report.sh - what `rocin conform` reports, and that no rule is left out without a reason.
#
# usage: report.sh ROCIN TESTS
set -u
rocin=$1 tests=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=../../kit/verdict.sh
. "$(dirname "$0")/../../kit/verdict.sh"

"$rocin" conform --rules "$tests/rules.md" --junit "$work/x.xml" --json "$tests/sim/scenario" \
	>"$work/x.json" || fail "status $?"
python3 - "$work" "$tests/sim/scenario/uncovered.txt" "$tests/rules.md" <<'PY' || fail 'the report'
import json, re, sys, xml.dom.minidom
work, listed, rules = sys.argv[1:]
report = json.load(open(work + '/x.json'))
suite = xml.dom.minidom.parse(work + '/x.xml').documentElement
assert int(suite.getAttribute('tests')) == report['scenarios'] == len(report['cases'])
assert report['failed'] == 0 and suite.getAttribute('failures') == '0'
rows = set(re.findall(r'^\| ([A-Z]+[0-9]+[a-z]?) \|', open(rules).read(), re.M))
strange = {case['file']: rule for case in report['cases'] for rule in case['rules'] if rule not in rows}
assert not strange, f'no such row in rules.md: {strange}'
missing = report['rules_without_scenario']
known = [line.split()[0] for line in open(listed) if line[0] not in '#\n']
print(f"{report['scenarios']} scenarios, {len(missing)} rules without one")
if missing != known:
    print('no scenario and no reason in uncovered.txt:', set(missing) - set(known))
    print('in uncovered.txt, but covered:', set(known) - set(missing))
    sys.exit(1)
PY

# Whatever may become of a message of the connection manager is pinned, or said to be nothing.
python3 - "$tests/sim/scenario" <<'PY' || fail 'cells.txt'
import itertools, os, sys
here = sys.argv[1]
messages = 'REQ MRA REJ REP RTU DREQ DREP SIDR_REQ SIDR_REP LAP APR'.split()
fates = 'lost-once lost-always duplicated delayed malformed'.split()
files = {f[:-4] for f in os.listdir(here + '/N-connections') if f.endswith('.scn')}
rows = [line.split(None, 3) for line in open(here + '/cells.txt') if line[0] not in '#\n']
named = {tuple(row[:3]): row[3].strip() for row in rows}
wanted = set(itertools.product(messages, fates, ('active', 'passive')))
assert set(named) == wanted, (wanted - set(named), set(named) - wanted)
missing = {name for name in named.values() if name[0] != '-'} - files
assert not missing, missing
print(f'{len(wanted)} cells, {sum(name[0] != "-" for name in named.values())} with a scenario')
PY

# A failure, a file that is not understood, nothing to run.
printf '# X1: y <&>\nsetup rc0\n+0 < 1 RC_SEND_ONLY psn 100 ack\nend\n' >"$work/f.scn"
"$rocin" conform --junit "$work/f.xml" "$work/f.scn" >"$work/out"
[ $? = 1 ] || fail 'a scenario that fails'
grep -q 'f.scn:4: a packet left' "$work/out" || fail "$(cat "$work/out")"
grep -q 'y &lt;&amp;&gt;' "$work/f.xml" || fail "$(cat "$work/f.xml")"
echo frob >"$work/g.scn"
"$rocin" conform "$work/g.scn" 2>"$work/out"
[ $? = 2 ] || fail 'a file that is not understood'
grep -q 'g.scn:1:1: ' "$work/out" || fail "$(cat "$work/out")"
mkdir "$work/empty"
"$rocin" conform "$work/empty" 2>"$work/out"
[ $? = 2 ] || fail 'a directory without scenarios'
"$rocin" conform --no-such 2>/dev/null
[ $? = 64 ] || fail 'an option that is not there'
"$rocin" conform "$work/f.scn" >/dev/full 2>/dev/null && fail 'a full disk'
exit 0
