# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lib.sh - what the preload tests share; sourced. Makes a tree of one device in a
# directory with a space in its name and removes it at the end.
set -eu
export LC_ALL=C

for real in /sys/class/infiniband/*; do
	[ ! -e "$real" ] || { echo "$real is a real device; lists here expect one"; exit 77; }
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/rocin test-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

tree=$("$RN_BIN/write_tree" "$dir" 1)
preload=${RN_SANITIZER_RUNTIME:+$RN_SANITIZER_RUNTIME:}$RN_PRELOAD

# System programs leak, and that is their affair.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# hooked COMMAND...: run it under the stand-in.
hooked() {
	env LD_PRELOAD="$preload" ROCIN_TREE="$tree" "$@"
}

# is WHAT GOT WANT: compare and say so.
failures=0
is() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		printf 'not ok %s\n  got  "%s"\n  want "%s"\n' "$1" "$2" "$3"
		failures=$((failures + 1))
	fi
}

finish() {
	[ "$failures" -eq 0 ] || exit 1
	exit 0
}
