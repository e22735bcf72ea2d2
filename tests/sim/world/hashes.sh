#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hashes.sh SOURCE ROCIN LIBDEFLATE FILE... - a seed gives the same packets and completions
# whatever compiles the transport, the worlds and the fat trees: as in ROCIN, with gcc and
# clang, with and without optimization and sanitizers.
set -u
source=$1 rocin=$2 libdeflate=$3
shift 3 # what is left: files of transport
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source" || exit 1
"$rocin" sim --hashes --seeds 1..20 >"$work/rocin" || exit 1
for pfc in '' --pfc; do
	"$rocin" sim --topology=fat-tree:4 --loss=0.1% --flaps=2 ${pfc:+"$pfc"} --hashes --seeds 1..5 \
		>>"$work/rocin" || exit 1
done
[ "$(sort -u -k2 "$work/rocin" | wc -l)" = 30 ] || { echo 'two runs are alike' && exit 1; }
flags="-std=gnu11 -UNDEBUG -D_GNU_SOURCE -I. -Iinclude"
compared=0

# same COMPILER-AND-FLAGS FILE...: the hashes are those of rocin
same() {
	local with=$1
	shift
	command -v "${with%% *}" >/dev/null || return
	rm -rf "$work/objects"
	mkdir "$work/objects"
	# shellcheck disable=SC2086 # words
	if ! printf '%s\n' tests/sim/world/check_world.c sim/vnet/*.c sim/fabric/*.c sim/world/*.c "$@" | xargs -P 2 -I{} sh -c \
		"$with $flags -c {} -o $work/objects/\$(echo {} | tr / -).o" 2>"$work/errors" ||
		! $with -o "$work/check" "$work"/objects/*.o "$libdeflate" 2>>"$work/errors"; then
		echo "$with:" && cat "$work/errors"
		exit 1
	fi
	if ! "$work/check" hashes >"$work/hashes" || ! diff "$work/rocin" "$work/hashes"; then
		echo "with $with"
		exit 1
	fi
	compared=$((compared + 1))
}

same 'gcc -O0' "${@/#/transport/}" transport/cm/*.c
same 'clang -O1 -fsanitize=address,undefined' "${@/#/transport/}" transport/cm/*.c
[ $compared -gt 0 ] || { echo 'no compiler is installed' && exit 77; }
echo "30 hashes are the same $compared times"
