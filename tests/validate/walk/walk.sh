#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# walk.sh - the mistake of replica.c is found and mended as tools/docs/mistakes.md says, and prints what it shows.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset ROCIN_VALIDATE
cp "$here/replica.c" "$work" && cd "$work" || exit
# Functions and lines are there if rocin-symbolize was built.
symbolize=$(echo "$ROCIN_BIN"/../lib/rocin/rocin-symbolize)
[ ! -x "$symbolize" ] || export HAS_LINES=1
python3 "$here/walk.py" "$here/../../../tools/docs/mistakes.md" 'A mistake, from symptom to repair' \
	"$addr_a" "$addr_b" "$port" || fail walk
