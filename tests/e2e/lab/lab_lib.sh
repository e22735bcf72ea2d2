# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lab_lib.sh - what the tests of `rocin lab` share; sourced, with $who: root or nobody.
#
# lab OPTION...: rocin lab as that user; what it said is in $work/out and $work/err,
# its status in $status.
# shellcheck shell=bash
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

chmod 755 "$work"
as=()
if [ "$who" = nobody ] && [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home")
	install -d -o 65534 -g 65534 "$work/home"
	"${as[@]}" test -x "$ROCIN_BIN/rocin" || skip 'the build directory is closed to other users'
	"${as[@]}" unshare -Urn true 2>/dev/null || skip 'no user namespaces for users here'
elif [ "$who" = nobody ]; then
	unshare -Urn true 2>/dev/null || skip 'no user namespaces for users here'
	mkdir "$work/home"
elif [ "$(id -u)" = 0 ]; then
	unshare -n true 2>/dev/null || skip 'no network namespaces here'
	mkdir "$work/home"
else
	skip 'this is the test for root'
fi
home=$work/home

# It has no patience with the runtime of a sanitizer.
pgrep() { LD_PRELOAD='' command pgrep "$@"; }

lab() {
	timeout 1800 "${as[@]}" rocin lab "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
}

# said STATUS WHAT: the last lab ended so
said() {
	if [ "$status" != "$1" ]; then
		cat "$work/out" "$work/err"
		fail "$2: status $status"
	fi
	echo "ok: $2"
}

# has FILE LINE...: each is a line of what the last lab said
has() {
	local file=$work/$1 line
	shift
	for line; do
		grep -qxF -- "$line" "$file" && continue
		cat "$work/out" "$work/err"
		fail "no line: $line"
	done
}
