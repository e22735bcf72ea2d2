#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# core.sh - the transport and its unit tests as another processor's, under qemu-user.
#
# usage: core.sh i386|arm64 BUILD-DIRECTORY
#
# Its libraries are unpacked beside the build, from packages of that architecture that
# nobody installs: dpkg knows of one architecture, before and after.
set -u
arch=$1 build=$2/cross-$1
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
case $arch in
i386) triplet=i686-linux-gnu multiarch=i386-linux-gnu qemu=qemu-i386 ;;
arm64) triplet=aarch64-linux-gnu multiarch=$triplet qemu=qemu-aarch64 ;;
*) exit 64 ;;
esac
for program in $triplet-gcc $qemu; do
	command -v "$program" >/dev/null || skip "$program is not installed (tools/prepare long)"
done
[ -d /usr/$triplet/include ] || skip "libc6-dev-$arch-cross is not installed (tools/prepare long)"

# fetch PACKAGE...: unpacked in $build/root
fetch() {
	local apt=$build/apt
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$build/root"
	local -a get=(apt-get -q -o Dir::State="$apt/state" -o Dir::State::status=/dev/null
		-o Dir::Cache="$apt/cache" -o APT::Architecture="$arch" -o APT::Architectures::="$arch"
		-o APT::Sandbox::User=)
	# An index that fails may be none of those that are needed.
	(cd "$apt" && { "${get[@]}" update || true; } && "${get[@]}" download "${@/%/:$arch}") \
		>"$build/apt.log" 2>&1 || return 1
	for package in "$apt"/*.deb; do
		dpkg-deb -x "$package" "$build/root" || return 1
	done
}
if [ ! -e "$build/root/fetched" ]; then
	rm -rf "$build"
	mkdir -p "$build"
	fetch libcmocka0 libcmocka-dev libdeflate0 libdeflate-dev libpcap0.8 libpcap0.8-dev ||
		skip "packages of $arch cannot be had: $(tail -3 "$build/apt.log")"
	touch "$build/root/fetched"
fi

libraries=$build/root/usr/lib/$multiarch
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
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L$libraries -Wl,-rpath-link,$libraries")
set(CMAKE_CROSSCOMPILING_EMULATOR $qemu;-L;/usr/$triplet;-E;LD_LIBRARY_PATH=$libraries:/usr/$triplet/lib)
END
export PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$build/root
cmake -S "$source" -B "$build/core" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
	-DCMAKE_C_COMPILER_LAUNCHER="${CCACHE_DIR:+ccache}" -DRN_CORE_ONLY=ON >"$build/cmake.log" 2>&1 ||
	fail "cmake: $(tail -20 "$build/cmake.log")"
cmake --build "$build/core" >"$build/build.log" 2>&1 ||
	fail "build: $(grep -E -A8 'error|FAILED' "$build/build.log" | head -60)"
$qemu -L /usr/$triplet -E "LD_LIBRARY_PATH=$libraries:/usr/$triplet/lib" \
	"$build/core/tests/transport/wire/tests_wire_rn_transport" psn >/dev/null 2>&1 || fail "$qemu does not run test_psn"
file "$build/core/tests/transport/wire/tests_wire_rn_transport" | cut -d: -f2-
ctest --test-dir "$build/core" -j 2 -L unit --timeout 900 --no-tests=error >"$build/test.log" 2>&1 ||
	fail "$(grep -A60 'FAILED\|\*\*\*' "$build/test.log" | head -100; tail -30 "$build/test.log")"
grep 'tests passed' "$build/test.log"
