#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# live.sh RUNS SEED FIRST COUNT - the final states of drawn litmus tests on a live device are among
# those of the explorer.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
python3 "$here/compare.py" --rocin "$ROCIN_BIN/rocin" --live "$1" --seed "$2" --first "$3" \
	--count "$4" --batch 250 --time 1500
