# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# verbs.sh - libibverbs finds the device, and asks for a driver that is not given here.
. "$(dirname "$0")/lib.sh"
unset RDMAV_DRIVERS IBV_DRIVERS SYSFS_PATH
export IBV_SHOW_WARNINGS=1

warning="libibverbs: Warning: no userspace device-specific driver found for rocin0"
ours() { "$@" 2>&1 | grep rocin0 || :; }

is "a linked program" "$(ours hooked "$RN_BIN/list_devices")" "$warning"
is "a program that loads libibverbs later" \
	"$(ours hooked "$RN_BIN/list_devices" dlopen)" "$warning"
is "a program without a tree" \
	"$(ours env LD_PRELOAD="$preload" "$RN_BIN/list_devices")" ""
hooked "$RN_BIN/list_devices" >"$dir/out" 2>/dev/null
is "the list itself is no error" "$(sed -n '1s/^[0-9]* //p' "$dir/out")" devices
finish
