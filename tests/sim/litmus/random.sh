#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# random.sh CHECK_REDUCTION SEED COUNT - the explorer's reduction on tests that were drawn.
set -eu
file=$(mktemp)
trap 'rm -f "$file"' EXIT
python3 "$(dirname "$0")/../axioms/generate.py" "$2" "$3" >"$file"
"$1" "$file"
