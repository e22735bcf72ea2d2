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

# instructions PLUGIN COUNT: of one run with so many WRITEs
instructions() {
	rocin run --netdev "lo:$addr_a" -- env RDMAV_DRIVERS="$1/librocin" \
		valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$ROCIN_TESTS/writes" "$2" >"$work/out" 2>&1 || fail "writes: $(tail -3 "$work/out")"
	awk '/Collected/ { print $NF }' "$work/out"
}

# per_write WHICH PLUGIN: without what a run costs in any case. Polls that find nothing come on
# top, as the machine likes: of each kind of run the one with the fewest, in $work/WHICH.*
per_write() {
	instructions "$2" 500 >>"$work/$1.few" || fail "$(tail -1 "$work/$1.few")"
	instructions "$2" 2500 >>"$work/$1.many" || fail "$(tail -1 "$work/$1.many")"
	echo $((($(sort -n "$work/$1.many" | head -1) - $(sort -n "$work/$1.few" | head -1)) / 2000))
}

plugin=$(dirname "$ROCIN_BIN")/lib
plugin=$(dirname "$(find "$plugin" -name 'librocin-rdmav34.so' | head -1)")
# Again while they differ: what the machine adds it adds to either.
for _ in 1 2 3 4 5 6; do
	with=$(per_write with "$plugin") || fail "$with"
	without=$(per_write without "$other") || fail "$without"
	[ "$without" -gt 1000 ] || fail "$without instructions for a WRITE cannot be"
	said="$with instructions for a WRITE of 4 KiB, $without without the way to the layer"
	if [ $((with * 100)) -le $((without * 101)) ] && [ $((without * 100)) -le $((with * 101)) ]; then
		break
	fi
done
[ $((with * 100)) -le $((without * 101)) ] || fail "$said"
echo "ok: $said"
