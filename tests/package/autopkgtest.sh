#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# autopkgtest.sh - lintian has nothing against the package, and autopkgtest installs it in a new
# root and lets an ordinary user exchange messages by it (tools/package/debian/tests).
#
# usage: autopkgtest.sh BUILD-DIRECTORY RELEASE
set -u
build=$1 release=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
[ "$(id -u)" = 0 ] || skip 'debootstrap needs root'
for program in autopkgtest debootstrap lintian; do
	command -v "$program" >/dev/null || skip "$program is not installed (tools/prepare long)"
done
if [ -z "${ROCIN_AUTOPKGTEST_WORK:-}" ]; then
	unshare -mpf true 2>/dev/null || skip 'namespaces cannot be made here'
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	"$source/tools/package/make" deb "$build/packages" 2>"$work/log" || fail "$(cat "$work/log")"
	cp "$build"/packages/rocin_*.deb "$work/"
	lintian --no-cfg --allow-root --fail-on error,warning "$work"/rocin_*.deb >"$work/log" 2>&1 ||
		fail "lintian: $(cat "$work/log")"
	echo 'ok: lintian'
	timeout 900 debootstrap --variant=minbase "$release" "$work/root" >"$work/log" 2>&1 ||
		fail "debootstrap: $(tail -3 "$work/log")"
	cp /etc/resolv.conf "$work/root/etc/"
	cp /etc/apt/apt.conf.d/*proxy* "$work/root/etc/apt/apt.conf.d/" 2>/dev/null
	mkdir "$work/tree" && cp -r "$source/tools/package/debian" "$work/tree/"
	ROCIN_AUTOPKGTEST_WORK=$work unshare -mpf --kill-child "$0" "$@"
	exit
fi
work=$ROCIN_AUTOPKGTEST_WORK
mount -t proc proc "$work/root/proc" && mkdir -p "$work/root/dev/shm" &&
	mount -t tmpfs -o mode=1777 none "$work/root/dev/shm" || skip 'nothing can be mounted here'
autopkgtest --no-built-binaries "$work"/rocin_*.deb "$work/tree/" -- chroot "$work/root" >"$work/log" 2>&1 ||
	fail "autopkgtest: $(tail -40 "$work/log")"
grep -E '^ping-pong +PASS' "$work/log" || fail "no test: $(tail -40 "$work/log")"
