#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# sdk.sh - from an installation below a prefix alone: the template project builds by pkg-config and
# by CMake and runs, and each public call has its manual page.
#
# usage: sdk.sh BUILD-DIRECTORY
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
export LD_PRELOAD=''
cmake --install "$1" --prefix "$work/first" >"$work/install.log" || fail "cmake --install: $(tail -3 "$work/install.log")"
# Nothing may know where it was installed.
prefix=$work/prefix
mv "$work/first" "$prefix"
PATH=$prefix/bin:$PATH
[ "$(command -v rocin)" = "$prefix/bin/rocin" ] || fail 'rocin is not installed'
project=$work/project
cp -r "$prefix"/share/doc/rocin/template "$project" || fail 'no template project'
cd "$project" || exit 1
run=(rocin run --netdev "lo:$addr_a")

# By pkg-config: the ten words of the manual page, and make.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
[ "$(realpath "$(pkg-config --variable=libdir rocin)")" = "$prefix/lib" ] || fail "pkg-config: $(pkg-config --variable=libdir rocin)"
[ "$(pkg-config --modversion rocin)" = "$(rocin --version | cut -d' ' -f2)" ] || fail 'pkg-config: another version'
make CFLAGS="-Wall -Wextra -Werror" >make.log 2>&1 || fail "make: $(cat make.log)"
"${run[@]}" --pcie typical -- ./visible >out 2>&1 || fail "the template: $(cat out)"
grep -q '^4096 of 4096 bytes seen, knobs typical$' out || fail "the template: $(cat out)"
ldd ./visible | grep -q "librocin-gpu.so.0 => $prefix/lib/" || fail "another library: $(ldd ./visible)"
# Preloaded as well it is the same library, once.
"${run[@]}" --pcie typical --sanitize=summary -- ./visible >out 2>&1 || fail "under the sanitizer: $(cat out)"
if ! grep -q "verdict: switch right" out || grep -q wrong out; then fail "under the sanitizer: $(cat out)"; fi

# By CMake, which is told where to look and nothing else.
env -u PKG_CONFIG_PATH cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS=-Werror >cmake.log 2>&1 &&
	cmake --build build >>cmake.log 2>&1 || fail "cmake: $(tail -20 cmake.log)"
ROCIN_NETDEVS=lo:$addr_a ctest --test-dir build >>cmake.log 2>&1 || fail "ctest: $(tail -20 cmake.log)"
mkdir other
printf 'cmake_minimum_required(VERSION 3.16)\nproject(x C)\nfind_package(Rocin REQUIRED COMPONENTS gpu nothing)\n' >other/CMakeLists.txt
cmake -S other -B other/build -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 && fail 'a component that is not there'
grep -q 'Rocin has no component "nothing", but these: gpu, device' cmake.log || fail "no word of it: $(cat cmake.log)"
sed -i 's/COMPONENTS.*)/CONFIG)/; s/Rocin /Rocin 99.0 /' other/CMakeLists.txt
cmake -S other -B other/build -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 && fail 'a version that is not there'

# The device without I/O: two of them and a bad link, the same each time.
cp -r "$prefix/share/doc/rocin/device" "$work/device" || fail 'no example of librocin-device'
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -o two-devices "$work/device/two-devices.c" $(pkg-config --cflags --libs rocin-device) \
	-Wl,-rpath,"$prefix/lib" || fail 'librocin-device by pkg-config'
for seed in 1 2 1; do
	./two-devices $seed 10 >"two-$seed" || fail "two devices: $(cat two-$seed)"
	grep -qE ' [1-9][0-9]* lost; .* [1-9][0-9]* too early: right$' "two-$seed" || fail "two devices: $(cat "two-$seed")"
	[ ! -e first ] || [ $seed = 2 ] || cmp -s first two-1 || fail "another run of seed 1: $(cat first two-1)"
	[ -e first ] || cp two-1 first
done
! cmp -s two-1 two-2 || fail 'the seed changes nothing'
printf 'cmake_minimum_required(VERSION 3.16)\nproject(x C)\nfind_package(Rocin REQUIRED COMPONENTS device)
add_executable(x %s)\ntarget_link_libraries(x Rocin::device)\n' "$work/device/two-devices.c" >other/CMakeLists.txt
env -u PKG_CONFIG_PATH cmake -S other -B other/device -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 &&
	cmake --build other/device >>cmake.log 2>&1 && other/device/x >>cmake.log 2>&1 || fail "Rocin::device: $(cat cmake.log)"

# Each header alone, in C and in C++.
for header in "$prefix"/include/rocin/*.h; do
	for compiler in 'cc -std=c11 -xc' 'c++ -std=c++17 -xc++'; do
		command -v "${compiler%% *}" >/dev/null || continue
		# shellcheck disable=SC2086
		echo "#include <rocin/$(basename "$header")>" |
			$compiler -Wall -Wextra -Werror -pedantic -fsyntax-only -I "$prefix/include" - >out 2>&1 || fail "$header, $compiler: $(cat out)"
	done
done

# The pages of all calls, by their own names: those that share one lead to it.
pages=0
for name in $(nm -D --defined-only "$prefix"/lib/librocin-*.so | sed -n 's/.* \(rn_[a-z0-9_]*\)\(@.*\)\?$/\1/p'); do
	[ "$name" != rn_host_api ] || continue
	page=$prefix/share/man/man3/$name.3
	[ -s "$page" ] || fail "$name has no page"
	read -r so to <"$page"
	[ "$so" != .so ] || page=$prefix/share/man/$to
	grep -q "^\.Nm $name\b" "$page" || fail "the page of $name is not about it"
	pages=$((pages + 1))
done
[ "$pages" -ge 70 ] || fail "$pages calls"
[ -s "$prefix/share/man/man3/rocin.3" ] || fail 'rocin(3) is missing'
if command -v man >/dev/null; then
	man -M "$prefix/share/man" -P cat 3 rn_gpu_free >out 2>&1
	grep -q 'rn_gpu_export_dmabuf' out || fail "rn_gpu_free(3) leads nowhere: $(head out)"
fi
echo "ok: the template by make and CMake, $pages pages"
