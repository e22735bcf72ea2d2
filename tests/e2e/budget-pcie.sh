#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-pcie.sh - off, the PCIe layer costs nothing: as many instructions for a WRITE of
# 4 KiB, within 1 %, as with a plugin that was built without the way to it.
#
# usage: budget-pcie.sh FOLDER-OF-THAT-PLUGIN
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
other=$1
command -v valgrind >/dev/null || skip 'there is no valgrind'

# One for all runs, started here: valgrind does not survive the start of a daemon.
mkdir -m 700 "$ROCIN_RUNTIME_DIR"
rocind --foreground --idle-ms 60000 &
pids+=($!)
started() { [ -n "$(find "$ROCIN_RUNTIME_DIR" -type s)" ]; }
wait_for 10 started || fail 'rocind does not start'

# instructions PLUGIN COUNT: of a run with so many WRITEs. The least of three: polls that
# find nothing come on top, as the machine likes.
instructions() {
	for _ in 1 2 3; do
		rocin run --netdev "lo:$addr_a" -- env RDMAV_DRIVERS="$1/librocin" \
			valgrind --tool=callgrind --callgrind-out-file=/dev/null \
			"$ROCIN_TESTS/writes" "$2" >"$work/out" 2>&1 ||
			fail "writes: $(tail -3 "$work/out")"
		awk '/Collected/ { print $NF }' "$work/out"
	done | sort -n | head -1
}

# per_write PLUGIN: without what a run costs in any case
per_write() {
	local few many
	few=$(instructions "$1" 500)
	many=$(instructions "$1" 2500)
	[ -n "$few$many" ] || fail "valgrind counts nothing: $(tail -3 "$work/out")"
	echo $(((many - few) / 2000))
}

plugin=$(dirname "$ROCIN_BIN")/lib
plugin=$(dirname "$(find "$plugin" -name 'librocin-rdmav34.so' | head -1)")
with=$(per_write "$plugin") || fail "$with"
without=$(per_write "$other") || fail "$without"
[ "$without" -gt 1000 ] || fail "$without instructions for a WRITE cannot be"
[ $((with * 100)) -le $((without * 101)) ] ||
	fail "$with instructions for a WRITE of 4 KiB, $without without the way to the layer"
echo "ok: $with instructions for a WRITE of 4 KiB, $without without the way to the layer"
