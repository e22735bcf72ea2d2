#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rpm.sh - the RPM package wants nothing that RHEL 9 does not have, installs and works for a user
# without any privilege, goes without a trace, and is refused where glibc is too old.
#
# usage: rpm.sh BUILD-DIRECTORY
#
# It is made now, or taken from $ROCIN_PACKAGES.
# The root is one of Debian's debootstrap with rpm's database of its own, in which a package
# without files provides what RHEL 9 has (rhel9.provides). libpcap has the name there that it has
# everywhere but in Debian.
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../kit/verdict.sh
. "$here/../kit/verdict.sh"
[ "$(id -u)" = 0 ] || skip 'debootstrap needs root'
for program in debootstrap rpmbuild patchelf; do
	command -v "$program" >/dev/null || skip "$program is not installed (tools/prepare long)"
done

# one_each: `name(PREFIX_1 2 3)(64bit)` stands for one line for each version
one_each() {
	sed -n '/^#/d; s/^\([^ (]*\)(\([A-Za-z]*_\)\([^)]* [^)]*\))(64bit)$/\1 \2 \3/; p' "$1" |
		awk '/^[^ ]+ [A-Za-z]+_ / { for (i = 3; i <= NF; i++) print $1 "(" $2 $i ")(64bit)"; next } { print }'
}
# system NAME [PATTERN]: a package that provides all of it but what matches
system() {
	{
		printf 'Name: %s\nVersion: 9\nRelease: 1\nSummary: What a system provides\nLicense: none\nBuildArch: noarch\n' "$1"
		one_each "$here/rhel9.provides" | grep -v "${2:-^$}" | sed 's/^/Provides: /'
		printf '%%description\nWhat a system provides.\n%%files\n'
	} >"$work/$1.spec"
	rpmbuild -bb --define "_topdir $work/top" "$work/$1.spec" >"$work/log" 2>&1 || fail "$1: $(tail -5 "$work/log")"
}
files() {
	find "$work/root/usr" "$work/root/etc" "$work/root/var" "$work/root/run" -xdev \
		\( -path '*/var/lib/rpm' -o -path '*/var/cache' -o -path '*/var/log' \) -prune -o -printf '%y %p\n' |
		grep -v 'ld.so.cache' | sort
}
inside() { rpm --root "$work/root" "$@"; }

if [ -z "${ROCIN_RPM_WORK:-}" ]; then
	unshare -mnpf true 2>/dev/null || skip 'namespaces cannot be made here'
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	packages=${ROCIN_PACKAGES:-$build/packages}
	[ -n "${ROCIN_PACKAGES:-}" ] || "$here/../../tools/package/make" rpm "$packages" 2>"$work/log" ||
		fail "$(cat "$work/log")"
	cp "$packages"/rocin-*.rpm "$work/"
	if command -v rpmlint >/dev/null; then
		rpmlint -c "$here/../../tools/package/rpmlint.toml" "$work"/rocin-*.rpm >"$work/log" 2>&1
		grep -q ' 0 errors, 0 warnings' "$work/log" || fail "rpmlint: $(cat "$work/log")"
		echo 'ok: rpmlint'
	fi
	system rhel9
	system old 'GLIBC_2.34'
	timeout 900 debootstrap --variant=minbase \
		--include=ibverbs-utils,iproute2,libpcap0.8,libmnl0,libnl-3-200,libdw1 bookworm "$work/root" \
		>"$work/log" 2>&1 || fail "debootstrap: $(tail -3 "$work/log")"
	ROCIN_RPM_WORK=$work unshare -mnpf --kill-child "$0" "$@"
	exit
fi
work=$ROCIN_RPM_WORK
root=$work/root
ip link set lo up
mount -t proc proc "$root/proc" && mkdir -p "$root/dev/shm" && mount -t tmpfs -o mode=1777 none "$root/dev/shm" ||
	skip 'nothing can be mounted here'
ln -s libpcap.so.0.8 "$root/usr/lib/x86_64-linux-gnu/libpcap.so.1"
echo /usr/lib64 >"$root/etc/ld.so.conf.d/lib64.conf"
chroot "$root" /sbin/ldconfig
cp "$here/../../tools/package/debian/tests/ping-pong" "$root/usr/bin/rocin-ping-pong"

inside -i "$work"/top/RPMS/noarch/old-*.rpm || fail 'a system'
inside -i "$work"/rocin-*.rpm >"$work/log" 2>&1 && fail 'it is installed where glibc is too old'
grep -q 'libc.so.6(GLIBC_2.34)(64bit) is needed by rocin' "$work/log" || fail "rpm: $(cat "$work/log")"
[ "$(grep -c 'is needed' "$work/log")" = 1 ] || fail "more is missing: $(cat "$work/log")"
grep 'is needed' "$work/log"
inside -e old
inside -i "$work"/top/RPMS/noarch/rhel9-*.rpm || fail 'a system'
files >"$work/before"
begun=$(date +%s.%N)
inside -i "$work"/rocin-*.rpm >"$work/log" 2>&1 || fail "rpm -i: $(cat "$work/log")"
inside -V rocin || fail 'rpm -V'
timeout 200 chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin HOME=/root rocin-ping-pong >"$work/log" 2>&1 ||
	fail "$(tail -30 "$work/log")"
grep -E 'passed|verdicts' "$work/log"
echo "ok: installed and used in $(awk 'BEGIN { printf "%.1f", ARGV[2] - ARGV[1] }' "$begun" "$(date +%s.%N)") s"
inside -e rocin || fail 'rpm -e'
diff "$work/before" <(files) >"$work/log" || fail "left behind or gone: $(cat "$work/log")"
echo 'ok: removed'
