#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ends_hostile.sh - somebody cuts the files in which programs under --validate tell each other of
# their queue pairs, and writes rubbish into them: each program goes on and ends well.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"

touch "$work/done"
written=0
for _ in 1 2 3; do
	rm -f "$work/ready"
	rocin run --validate=error --netdev "lo:$addr_a" -- \
		"$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" 4000 >"$work/out" 2>&1 &
	program=$!
	pids+=("$program")
	while kill -0 "$program" 2>/dev/null; do
		for file in "$ROCIN_RUNTIME_DIR"/validate*; do
			[ -e "$file" ] || continue
			# Empty for a moment, and shorter than before.
			head -c 300000 /dev/urandom >"$file"
			written=$((written + 1))
		done
	done
	wait "$program"
	status=$?
	[ "$status" = 0 ] || fail "status $status: $(tail -3 "$work/out")"
done
[ "$written" -ge 3 ] || fail "only $written files were there to be written to"
echo "ok: rubbish was written $written times"
