# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs_lib.sh - rdma-core's test suite, judged by pyverbs-skips.txt; sourced after lib.sh
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=/usr/share/doc/rdma-core/tests
python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import pyverbs.device' 2>/dev/null && python=$candidate
done
if [ -z "$python" ] || [ ! -d "$suite" ]; then
	skip 'python3-pyverbs or rdma-core is not installed'
fi
mkdir "$work/suite"
cp -r "$suite/." "$work/suite"
find "$work/suite" -name '*.gz' -exec gunzip {} +
# On a busy machine a completion, or the other process, may come later than the suite waits.
# The same holds for acknowledgements: a READ whose data waited for the thread of the PCIe layer
# ran out of retries (2 s) at load 60.
find "$work/suite" -name '*.py' -exec sed -i \
	-e 's/^\(POLL_CQ\|PORT_STATE\)_TIMEOUT = .*/\1_TIMEOUT = 300/' \
	-e 's/polling_timeout = 10$/polling_timeout = 300/' \
	-e 's/\(Barrier(.*timeout=\)15)/\1300)/' -e 's/repeat_times=150 /repeat_times=3000 /' {} +

# pyverbs WHERE NETDEV KNOBS OPTION...: the whole suite, at one place and in one mode. Words
# in $prefix come before the command (nsenter, ...).
prefix=()
pyverbs() {
	local where=$1 netdev=$2 knobs=$3
	shift 3
	if ! (cd "$work" && ROCIN_TIMEOUT_SCALE=20 ROCIN_PCIE=$knobs "${prefix[@]}" rocin run --netdev "$netdev" -- \
		"$python" "$here/judge_pyverbs.py" "$work/suite" "$here/pyverbs-skips.txt" "$where" \
		--dev rocin0 "$@") >"$work/pyverbs.out" 2>&1; then
		cut -c1-300 "$work/pyverbs.out" | tail -80
		fail "$where${*:+ $*}: see above; the list is tests/e2e/suites/pyverbs-skips.txt"
	fi
	echo "ok: $where${*:+ $*}: $(tail -1 "$work/pyverbs.out")"
}
