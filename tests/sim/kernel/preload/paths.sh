# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# paths.sh - every libc function that takes a path finds the device.
. "$(dirname "$0")/lib.sh"
hooked "$RN_BIN/hooked" paths
