#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-pcie.sh - off, the PCIe layer costs nothing: as many instructions for a WRITE of
# 4 KiB, within 1 %, as with a plugin that was built without the way to it.
#
# usage: budget-pcie.sh FOLDER-OF-THAT-PLUGIN
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
other=$1
# shellcheck source=instructions.sh
. "$(dirname "$0")/instructions.sh"

plugin=$(dirname "$ROCIN_BIN")/lib
plugin=$(dirname "$(find "$plugin" -name 'librocin-rdmav34.so' | head -1)")
# Fewer with the layer would be as wrong: then these are not the same plugins but for it.
are_alike() {
	[ $((with * 100)) -le $((without * 101)) ] && [ $((without * 100)) -le $((with * 101)) ]
}
# Again while they differ: what the machine adds it adds to either.
for _ in 1 2 3 4 5 6; do
	per_write with RDMAV_DRIVERS="$plugin/librocin"
	with=$counted
	per_write without RDMAV_DRIVERS="$other/librocin"
	without=$counted
	said="$with instructions for a WRITE of 4 KiB, $without without the way to the layer"
	! are_alike || break
done
are_alike || fail "$said"
echo "ok: $said"
