#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pcie-refusals.sh - the PCIe layer is never silently off: if its settings are wrong or it cannot be
# loaded, devices do not open, and a sentence has the reason.
#
# usage: pcie-refusals.sh [FOLDER-OF-A-PLUGIN-WITHOUT-THE-LAYER]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# refused NAME STATUS TEXT COMMAND...: the command must end with STATUS, and its output must contain
# TEXT
refused() {
	local name=$1 want=$2 text=$3 status
	shift 3
	timeout 1800 "$@" >"$work/out" 2>&1
	status=$?
	[ "$status" = "$want" ] || fail "$name: status $status: $(cat "$work/out")"
	grep -qF -- "$text" "$work/out" || fail "$name: $(cat "$work/out")"
	echo "ok: $name: $(grep -F -- "$text" "$work/out" | head -1)"
}
run=(rocin run --netdev "lo:$addr_a")
opens=("$ROCIN_TESTS/writes" 10)

# Errors before the program starts.
refused 'a mode that is none' 64 frobnicate "${run[@]}" --pcie=frobnicate -- touch "$work/ran"
refused 'a knob that is none' 64 frob "${run[@]}" --pcie=ibta,frob=1 -- touch "$work/ran"
refused 'a value out of range' 64 granule "${run[@]}" --pcie=ibta,granule=7 -- touch "$work/ran"
refused 'a file that is none' 64 no-such-file "${run[@]}" --pcie="@$work/no-such-file" -- \
	touch "$work/ran"
refused 'a rule that is none' 64 colour "${run[@]}" --device-memory='colour=red' -- \
	touch "$work/ran"
ROCIN_PCIE=frobnicate refused 'a variable that is wrong' 64 frobnicate "${run[@]}" -- \
	touch "$work/ran"
[ ! -e "$work/ran" ] || fail 'the program ran all the same'

# Knobs in a file reach a program that changes its directory; a pipe with knobs is read only once.
echo 'typical # of all' >"$work/knobs"
said=$(cd "$work" && "${run[@]}" --pcie=@knobs -- sh -c 'cd / && echo "$ROCIN_PCIE"')
[ "$said" = typical ] || fail "knobs of a file: $said"
said=$("${run[@]}" --pcie=@<(sleep 0.2; echo typical,seed=7) -- sh -c 'echo "$ROCIN_PCIE"')
[ "$said" = typical,seed=7 ] || fail "knobs of a pipe whose writer is late: $said"

# Errors when the device is opened.
refused 'a variable that is wrong, behind rocin run' 1 frobnicate \
	"${run[@]}" -- env ROCIN_PCIE=frobnicate "${opens[@]}"
grep -q '^rocin: rocin0: ' "$work/out" || fail "the device is not named: $(cat "$work/out")"

refused 'what pushes data, with the sanitizer' 1 'the sanitizer contradicts nic.wqe and mtt.cache' \
	"${run[@]}" --sanitize --pcie=typical,mtt.cache=8 -- "${opens[@]}"

# A plugin without the other libraries beside it.
mkdir "$work/alone"
plugin=$(find "$(dirname "$ROCIN_BIN")"/lib* -name 'librocin-rdmav34.so' | head -1)
for version in 34 57 59 64; do
	cp "$plugin" "$work/alone/librocin-rdmav$version.so"
done
refused 'no library' 1 librocin-gpu.so.0 "${run[@]}" --pcie=typical -- \
	env RDMAV_DRIVERS="$work/alone/librocin" "${opens[@]}"
"${run[@]}" -- env RDMAV_DRIVERS="$work/alone/librocin" ROCIN_ROCIND="$(command -v rocind)" \
	"${opens[@]}" || fail 'a plugin without the library does not work with the layer off'
if [ -n "${1:-}" ]; then
	refused 'a plugin built without' 1 'without the PCIe' "${run[@]}" --pcie=typical -- \
		env RDMAV_DRIVERS="$1/librocin" "${opens[@]}"
fi
