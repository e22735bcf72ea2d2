# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# signals.sh - who watches handlers and masks of signals hears of all that changes them.
. "$(dirname "$0")/lib.sh"
hooked "$RN_BIN/hooked" signals
finish
