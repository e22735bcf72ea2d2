#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# deb.sh - the Debian package installs, works for a user without any privilege, and goes
# without a trace.
#
# usage: deb.sh BUILD-DIRECTORY here
#        deb.sh BUILD-DIRECTORY bookworm|trixie|jammy|noble|bullseye
#
# here: the package of this build, on top of this system's files, in an overlay. Otherwise the
# package of tools/package/make, in a root of that release which gets nothing but the package and
# what it depends on. debootstrap makes the root, or $ROCIN_ROOTS/RELEASE.tar has it where its
# archive cannot be reached. bullseye is too old: there the package has to say so and leave.
set -u
build=$1 where=$2
work=$(mktemp -d)
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
[ "$(id -u)" = 0 ] || skip 'a package is installed by root'

files() { # what a package could leave behind
	# libibverbs.d is of others, too; where it was not, it must not stay.
	find "$1/usr" "$1/etc" "$1/var" "$1/run" -xdev \
		\( -path "$1/var/log" -o -path "$1/var/cache" -o -path "$1/run/netns" \) -prune -o \
		\( -name '*rocin*' -o -name libibverbs.d -o -path '*/systemd/user' \) -printf '%y %p\n' \
		2>/dev/null | sed "s,^\(.\) $1,\1 ," | sort
}
apt_inside() {
	chroot "$work/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		apt-get -q -y "$@" >"$work/apt.log" 2>&1
}
make_root() {
	if [ -e "${ROCIN_ROOTS:-}/$where.tar" ]; then
		mkdir "$work/root" && tar -xf "$ROCIN_ROOTS/$where.tar" -C "$work/root" || fail "$where.tar"
	else
		command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
		case $where in jammy | noble) skip "no root of $where: put one at \$ROCIN_ROOTS/$where.tar" ;; esac
		timeout 900 debootstrap --variant=minbase "$where" "$work/root" >"$work/debootstrap.log" 2>&1 ||
			fail "debootstrap: $(tail -3 "$work/debootstrap.log")"
	fi
	cp /etc/resolv.conf "$work/root/etc/"
	cp /etc/apt/apt.conf.d/*proxy* "$work/root/etc/apt/apt.conf.d/" 2>/dev/null
	apt_inside install --no-install-recommends ibverbs-utils || fail "apt-get: $(tail -5 "$work/apt.log")"
	cp "$work"/rocin_*.deb "$work/root/tmp/" || fail 'no package'
}
# The command that a user gives, with the network from which apt takes what the package needs.
install_here() {
	files "$work/root" >"$work/before"
	date +%s.%N >"$work/begun"
	if [ "$where" = bullseye ]; then
		must_refuse
		exit
	fi
	apt_inside install --no-install-recommends "/tmp/$(basename "$work"/rocin_*.deb)" ||
		fail "apt-get install: $(tail -20 "$work/apt.log")"
}
# too_old: it must not leave a trace, and say what is too old and what to do, to apt's users and dpkg's.
must_refuse() {
	local deb
	deb=$(basename "$work"/rocin_*.deb)
	apt_inside install --no-install-recommends "/tmp/$deb" && fail 'apt-get installs it on a system that is too old'
	grep -q 'rocin : Depends: libc6 (>= 2.34) but 2.31' "$work/apt.log" || fail "apt-get: $(cat "$work/apt.log")"
	chroot "$work/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin dpkg -i "/tmp/$deb" >"$work/dpkg.log" 2>&1 &&
		fail 'dpkg installs it on a system that is too old'
	grep -q "^rocin: this system is too old: libc6 is 2.31.* and must be 2.34 or later; .*container image" "$work/dpkg.log" ||
		fail "dpkg: $(cat "$work/dpkg.log")"
	diff "$work/before" <(files "$work/root") >"$work/left" || fail "left behind: $(cat "$work/left")"
	[[ $(chroot "$work/root" dpkg-query -W -f '${db:Status-Status}' rocin 2>/dev/null) = @(|not-installed) ]] ||
		fail 'dpkg has it half installed'
	grep '^rocin: this system' "$work/dpkg.log"
	echo 'ok: refused'
}

# In a mount, PID and network namespace of its own, so that all ends with this script.
if [ -z "${ROCIN_DEB_INSIDE:-}" ]; then
	trap 'rm -rf "$work"' EXIT
	if [ "$where" = here ]; then
		cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/cpack.log" 2>&1 ||
			fail "cpack: $(tail -5 "$work/cpack.log")"
	else
		"$(dirname "$0")/../../tools/package/make" deb "$build/packages" 2>"$work/make.log" ||
			fail "$(cat "$work/make.log")"
		cp "$build"/packages/rocin_*.deb "$work/"
		make_root
		install_here
	fi
	unshare -mnpf true 2>/dev/null || skip 'namespaces cannot be made here'
	ROCIN_DEB_INSIDE=$work unshare -mnpf --kill-child "$0" "$@"
	exit
fi

rmdir "$work"
work=$ROCIN_DEB_INSIDE
root=$work/root
ip link set lo up
if [ "$where" = here ]; then
	mkdir -p "$work/layers" "$root"
	mount -t tmpfs tmpfs "$work/layers" && mkdir "$work/layers/up" "$work/layers/work" &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=/,upperdir=$work/layers/up,workdir=$work/layers/work" ||
		skip 'an overlay cannot be mounted here'
fi
mount -t proc proc "$root/proc" || skip 'no /proc'
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev" -o mode=755 && mkdir -m 1777 "$root/dev/shm"
for device in null zero random urandom; do
	touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
done
[ "$where" != here ] || cp "$work"/rocin_*.deb "$root/tmp/" || fail 'no package'
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
as_user() {
	chroot "$root" env -i PATH=/usr/bin:/bin HOME=/nonexistent setpriv --reuid=65534 \
		--regid=65534 --clear-groups --no-new-privs --inh-caps=-all timeout 30 "$@"
}
# changes: of these, what is not as it was. In an overlay its upper layer has all that was done
# inside and nothing of what the machine does meanwhile, a build among others: files that were
# not there, and what hides one that was (a character device).
changes() {
	if [ "$where" != here ]; then
		diff "$work/before" <(files "$root")
	else
		files "$work/layers/up" | while read -r type path; do
			[ "$type" != c ] && [ -e "$path" ] || echo "$path"
		done
	fi
}

# Somebody else's, meanwhile.
if [ "$where" = here ]; then
	other=$(mktemp -d /var/tmp/rocin-others-XXXXXX)
	trap 'rm -rf "$other"' EXIT
fi
if [ "$where" = here ]; then
	date +%s.%N >"$work/begun"
	inside sh -c 'dpkg -i /tmp/rocin_*.deb' >"$work/dpkg.log" 2>&1 || fail "$(cat "$work/dpkg.log")"
fi
[ "$(inside sh -c 'command -v rocin')" = /usr/bin/rocin ] || fail 'rocin is not in PATH'
as_user rocin run -- ibv_rc_pingpong -g 0 -c >"$work/server" 2>&1 &
server=$!
for _ in $(seq 6000); do
	[ -z "$(ss -ltnH 'sport = :18515')" ] || break
	sleep 0.05
done
as_user rocin run -- ibv_rc_pingpong -g 0 -c 127.0.0.1 || fail 'ibv_rc_pingpong: the client'
wait "$server" || fail "ibv_rc_pingpong: the server: $(cat "$work/server")"
first=$(awk '{ printf "%.1f", now - $1 }' now="$(date +%s.%N)" "$work/begun")
as_user rocin doctor || fail 'rocin doctor'
as_user sh -c 'eval "$(rocin env)" && ibv_devices' | grep rocin0 || fail 'rocin env'

# Without `rocin run`. The driver file stands for RDMAV_DRIVERS, and does no harm beside it.
as_user sh -c 'eval "$(rocin env)" && unset RDMAV_DRIVERS && ibv_devinfo -d rocin0' >"$work/devinfo" 2>&1 ||
	fail "without RDMAV_DRIVERS: $(cat "$work/devinfo")"
! grep -i warning "$work/devinfo" || fail 'libibverbs has something to say'
as_user ibv_devices >"$work/devices" 2>&1 # which fails where the kernel has no RDMA
! grep -E 'rocin0|[Ww]arning' "$work/devices" || fail 'a bare program'
inside install -d -o 65534 -g 65534 /tmp/user /tmp/user/recording
printf 'eval "$(rocin env)"\n' >"$root/tmp/user/.profile"
as_user env HOME=/tmp/user sh -lc ibv_devices | grep rocin0 || fail 'a login shell'
as_user rocin run --record=/tmp/user/recording/%p.rec -- ibv_devinfo -d rocin0 >"$work/devinfo" 2>&1 ||
	fail "a recording beside the driver file: $(cat "$work/devinfo")"
[ -n "$(find "$root/tmp/user/recording" -name '*.rec')" ] || fail 'nothing was recorded'
# As the manual has it; systemd reads NAME=VALUE lines from it.
page=$(inside sh -c 'zcat /usr/share/man/man7/rocin.7.gz || cat /usr/share/man/man7/rocin.7' 2>/dev/null)
generator=$(sed -n '/user-environment-generators/,/^\.Ed/p' <<<"$page" | grep -A1 '^#!/bin/sh')
[ -n "$generator" ] || fail 'rocin(7) has no generator of environments'
printf '%s\n' "$generator" >"$root/tmp/user/60-rocin"
chmod 755 "$root/tmp/user/60-rocin"
as_user sh -c 'env $(/tmp/user/60-rocin) ibv_devices' | grep rocin0 || fail 'the generator of environments'
# A program loads the stand-in of the CUDA driver, which finds what is beside it.
as_user rocin run --gpu=1 -- sh -c 'ldd "${LD_LIBRARY_PATH%%:*}/libcudart.so.12"' \
	>"$work/cuda" 2>&1 || fail "--gpu: $(cat "$work/cuda")"
grep -q 'libcuda.so.1 => /usr/lib/.*rocin/cuda/libcuda.so.1' "$work/cuda" && ! grep 'not found' "$work/cuda" ||
	fail "--gpu: $(cat "$work/cuda")"
as_user rocin example write-immediate >"$work/example" || fail "$(cat "$work/example")"
as_user rocin conform >"$work/conform" || fail "$(cat "$work/conform")"
as_user rocin litmus >"$work/litmus" || fail "$(cat "$work/litmus")"
tail -n 1 "$work/conform" "$work/litmus"
[ "$(as_user rocin litmus --list | wc -l)" -gt 100 ] || fail 'rocin litmus --list'
for file in examples/example.c README.md; do
	[ -e "$root/usr/share/doc/rocin/$file" ] || fail "$file is not in the package"
done
as_user rocin stop

inside dpkg -P rocin >"$work/dpkg.log" 2>&1 || fail "$(cat "$work/dpkg.log")"
left=$(changes)
[ -z "$left" ] || fail "left behind: $left"
echo "ok: installed; the first ping-pong $first s after the command that installs; purged"
