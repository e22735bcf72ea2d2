#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hashes.sh ROCIN FILE - a seed gives the same packets and completions whatever compiler,
# optimization and sanitizer are used: as FILE says, which `rocin sim --hashes` has made.
set -u
diff <(grep -v "^#" "$2") <("$1" sim --hashes --seeds 1..20) && exit 0
echo "a change of the transport or of the worlds moves these hashes: see $2"
exit 1
