#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cufile-symbols.sh - the table of calls in rocin-gds(7) has what libcufile.so.0 exports, and
# the library is in no folder where a program would find it by chance.
set -u
# shellcheck source=../../kit/verdict.sh
. "$(dirname "$0")/../../kit/verdict.sh"
man=$ROCIN_SOURCE/tools/man/rocin-gds.7
table=$(sed -n 's/^\.It Fn \(cuFile[A-Za-z0-9_]*\) Ta \(same\|different\|missing\).*/\1 \2/p' "$man")
documented=$(awk '$2 != "missing" { print $1 }' <<<"$table" | sort)
exported=$(nm -D --defined-only "$LIBCUFILE" | awk '{ print $3 }' | sort)
[ "$documented" = "$exported" ] || fail "$(diff <(echo "$documented") <(echo "$exported"))"
missing=$(awk '$2 == "missing" { print $1 }' <<<"$table")
for name in $missing; do
	grep -qx "$name" <<<"$exported" && fail "$name is not missing"
done
[ "$(wc -l <<<"$documented")" -ge 45 ] || fail "the table has only $(wc -l <<<"$documented") calls"
case $(dirname "$LIBCUFILE") in
*/rocin/cuda) ;;
*) fail "$LIBCUFILE is not in a folder of its own" ;;
esac
