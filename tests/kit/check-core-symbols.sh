#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Fail if the transport library imports anything that does I/O, blocks, allocates,
# reads a clock or draws a random number. usage: check-core-symbols.sh LIB.a
set -eu
allowed='mem(cpy|move|set|cmp)|bcmp|strcmp|__mem(cpy|move|set)_chk'
allowed="$allowed|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_"
# __cpu_*: which instructions this processor has, from the compiler.
# Division of 64 bits by a processor of 32, from the compiler.
allowed="$allowed|__u?(div|mod)di3|__udivmoddi4"
allowed="$allowed|libdeflate_crc32|__cpu_model|__cpu_features2|rn_.*"
symbols=$(nm -u "$1")
[ -n "$symbols" ] || { echo "no symbols in $1"; exit 1; }
bad=$(echo "$symbols" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u |
	grep -Evx "$allowed" || true)
[ -z "$bad" ] || { echo "forbidden imports in $1:"; echo "$bad"; exit 1; }
