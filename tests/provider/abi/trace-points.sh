#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# trace-points.sh - the plugin has every trace point that trace_points.h lists, with as many
# arguments, and so has the table in rocin(7).
#
# usage: trace-points.sh SOURCE-DIRECTORY PLUGIN
set -eu
header=$1/provider/engine/trace_points.h page=$1/tools/man/rocin.7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines "NAME ARGUMENT...".
tr -d '\n\t\\' <"$header" | grep -oE 'X\([a-z_]+, [0-9], \([^)]*\)' |
	sed -E 's/X\(([a-z_]+), ([0-9]), \(/\2 \1 /; s/\)$//; s/u?int[0-9]+_t //g; s/,//g' |
	sort -k2 >"$work/listed"
awk '{ if (NF - 2 != $1) { print "a wrong number of arguments: " $0; exit 1 } }' "$work/listed"
cut -d' ' -f2- "$work/listed" >"$work/named"
[ "$(wc -l <"$work/named")" -ge 10 ]

sed -n '/^\.Ss Trace points/,/^\.S[sh] Why/p' "$page" |
	sed -n 's/^\.It Fn \([a-z_]*\) */\1 /p' | sed 's/"//g; s/ *$//' | sort >"$work/told"
diff "$work/named" "$work/told" || {
	echo 'rocin(7) tells of other trace points than there are'
	exit 1
}

cpp=$(printf '#if __has_include(<sys/sdt.h>)\nyes\n#endif\n' | "${CC:-cc}" -E -P -) || {
	echo "the C preprocessor ${CC:-cc} -E does not run"
	exit 1
}
[ "$cpp" = yes ] || {
	echo 'skipped: no <sys/sdt.h> (systemtap-sdt-dev)'
	exit 77
}
# Arguments are "SIZE@PLACE", where a place may have spaces in it.
readelf -n "$2" | awk '
	$1 == "Provider:" { of = $2 }
	$1 == "Name:" { name = $2 }
	$1 == "Arguments:" && of == "rocin" { print gsub(/@/, "@"), name }' | sort -u -k2 >"$work/notes"
cut -d' ' -f1,2 "$work/listed" | diff - "$work/notes" || {
	echo 'the plugin has other trace points than there are'
	exit 1
}
echo "ok: $(wc -l <"$work/notes") trace points"
