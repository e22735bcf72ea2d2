#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs-pcie.sh - the test suite of rdma-core: every test that passes with the PCIe layer
# off passes with it on.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
suite=/usr/share/doc/rdma-core/tests

python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import pyverbs.device' 2>/dev/null && python=$candidate
done
if [ -z "$python" ] || [ ! -d "$suite" ]; then
	skip 'python3-pyverbs is not installed'
fi
mkdir "$work/suite"
cp -r "$suite/." "$work/suite"
find "$work/suite" -name '*.gz' -exec gunzip {} +

# run NAME KNOBS: the names of the tests that pass, in $work/NAME.passed. The ones of the
# connection manager say nothing here.
run() {
	(cd "$work/suite" && ROCIN_PCIE=$2 timeout 250 rocin run --netdev "lo:$addr_a" -- \
		"$python" run_tests.py --dev rocin0 -v) >"$work/$1.out" 2>&1
	grep -aE '\.\.\. ok$' "$work/$1.out" -B1 |
		grep -aoE '\(tests\.[A-Za-z_0-9.]+\)' | sort >"$work/$1.passed"
}

# compare NAME KNOBS [TEST...]: those tests may fail
compare() {
	local name=$1 lost
	run "$name" "$2"
	shift 2
	lost=$(comm -23 "$work/off.passed" "$work/$name.passed")
	for test in "$@"; do
		lost=$(echo "$lost" | grep -v "\.$test)")
	done
	if [ -n "$lost" ]; then
		grep -aE '^(FAIL|ERROR): ' -A 30 "$work/$name.out" | cut -c1-200 | tail -60
		fail "$name: these pass with the layer off only: $lost"
	fi
	echo "ok: $name: $(wc -l <"$work/$name.passed") tests"
}

run off ''
[ "$(wc -l <"$work/off.passed")" -gt 60 ] || fail "few tests pass at all: $(tail -3 "$work/off.out")"
compare strict strict
compare ibta ibta
compare typical typical
compare adversarial-placed adversarial,ack=placed
# These look at what a WRITE wrote after its own completion, which promises less here.
compare adversarial adversarial test_mr_rereg_access test_mr_rereg_access_bad_flow \
	test_odp_rc_rdma_write test_qp_ex_rc_rdma_write
