# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# verdict.sh - how a test script ends that does not come to its end; sourced.
# shellcheck shell=bash

fail() {
	echo "FAILED: $*"
	exit 1
}

# skip WHY: 77 is what CTest knows for it
skip() {
	echo "skipped: $*"
	exit 77
}
