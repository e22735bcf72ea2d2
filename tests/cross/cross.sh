#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cross.sh - Rocin and its unit tests as another processor's, under qemu-user.
#
# usage: cross.sh i386|arm64 core|whole BUILD-DIRECTORY
#
# core: the transport alone; whole: the provider, the simulators, the tools and all of their tests.
# Its libraries are unpacked beside the build, from packages of that architecture that
# nobody installs: dpkg knows of one architecture, before and after.
set -u
arch=$1 part=$2 build=$3/cross-$1-$2
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
case $arch in
i386) triplet=i686-linux-gnu multiarch=i386-linux-gnu qemu=qemu-i386 ;;
arm64) triplet=aarch64-linux-gnu multiarch=$triplet qemu=qemu-aarch64 ;;
*) exit 64 ;;
esac
packages=(libcmocka-dev libdeflate-dev libpcap-dev)
options=(-DRN_CORE_ONLY=ON)
# What qemu-user cannot do: run a program that a program starts (Rocin's own clone() gets EINVAL, and
# scripts would start binaries of the other processor), several options of sockets (ENOPROTOOPT, with which a device gets no slot), and
# memfd seals against mappings.
emulator='^unit\.(tool-.*|without-.*|stack|stack_fixed|rocind_start|net_local_trim|net_udp|udp_group|receive_bound|engine_uring|wire_ends|cm_board)$'
# Without single steps the sanitizer sees of each page but the first access, which it says; these
# tests want all of them.
single_steps='^unit\.sanitize_(all|gpu|pieces)$'
if [ "$part" = whole ]; then
	packages+=(libibverbs-dev librdmacm-dev libjansson-dev libmnl-dev libnl-3-dev libnl-route-3-dev liburing-dev
		libdw-dev systemtap-sdt-dev libucx-dev ibverbs-utils)
	options=()
fi
for program in $triplet-gcc $qemu; do
	command -v "$program" >/dev/null || skip "$program is not installed (tools/prepare long)"
done
[ -d /usr/$triplet/include ] || skip "libc6-dev-$arch-cross is not installed (tools/prepare long)"

# fetch PACKAGE...: with what they depend on, unpacked in $build/root
fetch() {
	local apt=$build/apt
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$build/root"
	local -a get=(apt-get -q -o Dir::State="$apt/state" -o Dir::State::status=/dev/null
		-o Dir::Cache="$apt/cache" -o APT::Architecture="$arch" -o APT::Architectures::="$arch"
		-o APT::Sandbox::User=)
	# An index that fails may be none of those that are needed.
	{ "${get[@]}" update || true; } >"$build/apt.log" 2>&1
	"${get[@]}" install -y --download-only --no-install-recommends "$@" >>"$build/apt.log" 2>&1 || return 1
	for package in "$apt"/cache/archives/*.deb; do
		case ${package##*/} in # the cross compiler has its own
		libc6* | libc-* | libcrypt* | libgcc* | gcc-* | linux-libc-dev*) continue ;;
		esac
		dpkg-deb -x "$package" "$build/root" || return 1
	done
}
if [ ! -e "$build/root/fetched" ]; then
	rm -rf "$build"
	mkdir -p "$build"
	fetch "${packages[@]}" ||
		skip "packages of $arch cannot be had: $(tail -3 "$build/apt.log")"
	touch "$build/root/fetched"
fi

libraries=$build/root/usr/lib/$multiarch early=$build/root/lib/$multiarch
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${triplet%%-*})
set(CMAKE_C_COMPILER $triplet-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $multiarch)
set(CMAKE_FIND_ROOT_PATH $build/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES $build/root/usr/include)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L$libraries -Wl,-rpath-link,$libraries:$early")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-L$libraries -Wl,-rpath-link,$libraries:$early")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-L$libraries -Wl,-rpath-link,$libraries:$early")
set(CMAKE_CROSSCOMPILING_EMULATOR $qemu;-L;/usr/$triplet;-E;LD_LIBRARY_PATH=$libraries:$early:/usr/$triplet/lib)
END
export PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$build/root
cmake -S "$source" -B "$build/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
	-DCMAKE_C_COMPILER_LAUNCHER="${CCACHE_DIR:+ccache}" "${options[@]}" >"$build/cmake.log" 2>&1 ||
	fail "cmake: $(tail -20 "$build/cmake.log")"
cmake --build "$build/build" >"$build/build.log" 2>&1 ||
	fail "build: $(grep -E -A8 'error|FAILED' "$build/build.log" | head -60)"
wire=$build/build/tests/transport/wire/tests_transport_wire_rn_transport
$qemu -L /usr/$triplet -E "LD_LIBRARY_PATH=$libraries:$early:/usr/$triplet/lib" \
	"$wire" psn >/dev/null 2>&1 || fail "$qemu does not run test_psn"
file "$wire" | cut -d: -f2-
ctest --test-dir "$build/build" -j 2 -L unit -E "$emulator|$single_steps" --timeout 900 --no-tests=error >"$build/test.log" 2>&1 ||
	fail "$(grep -A60 'FAILED\|\*\*\*' "$build/test.log" | head -100; tail -30 "$build/test.log")"
grep 'tests passed' "$build/test.log"
