#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# without.sh - without a library that only tests need, CMake configures Rocin without its tests
# and says so.
#
# usage: without.sh LIBRARY
set -u
library=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All that pkg-config knows, but for that library.
mkdir "$work/pc"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	[ ! -d "$folder" ] || find "$folder" -name '*.pc' ! -name "$library.pc" -exec ln -sf -t "$work/pc" {} +
done
PKG_CONFIG_LIBDIR=$work/pc cmake -S "$source" -B "$work/build" -G Ninja >"$work/log" 2>&1 ||
	fail "$(tail -20 "$work/log")"
tr -s '\n ' ' ' <"$work/log" | grep -q "no tests: pkg-config does not find $library" ||
	fail "not a word: $(cat "$work/log")"
ninja -C "$work/build" -t targets all >"$work/targets"
grep -q '^bin/rocin:' "$work/targets" || fail 'Rocin is not built'
! grep -q '^tests/.*\.o:' "$work/targets" || fail 'there are tests'
echo "ok: without $library"
