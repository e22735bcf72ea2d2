#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# budget-pcie.sh - the PCIe layer costs nothing when it is off: a WRITE of 4 KiB needs as many
# instructions, within 1 %, as with a plugin that was built without the calls of the layer.
#
# usage: budget-pcie.sh FOLDER-OF-THAT-PLUGIN
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
other=$1
# shellcheck source=instructions.sh
. "$(dirname "$0")/instructions.sh"

plugin=$(dirname "$ROCIN_BIN")/lib
plugin=$(dirname "$(find "$plugin" -name 'librocin-rdmav34.so' | head -1)")
# If a WRITE needed fewer instructions with the layer, the two plugins would differ in something
# else, so this is an error, too.
are_alike() {
	[ $((with * 100)) -le $((without * 101)) ] && [ $((without * 100)) -le $((with * 101)) ]
}
# If the numbers differ, tries again: other load of the machine may have added instructions to
# either.
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
