#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# upgrade.sh - Rocin is replaced while programs run: by a version that understands theirs,
# and by one that speaks another control protocol.
#
# usage: upgrade.sh BUILD-DIRECTORY
#
# The other two are built here, of these very sources with other numbers.
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$work/prefix
protocol=$(sed -n 's/.*RN_CTL_VERSION = \([0-9]*\).*/\1/p' "$source/transport/io/rocind/ctl.h")
version=$("$build/bin/rocin" --version | cut -d' ' -f2)
[ -n "$protocol" ] || fail 'ctl.h has no version'

# another NAME VERSION PROTOCOL: $work/NAME
another() {
	mkdir "$work/$1.source"
	(cd "$source" && git ls-files -z | grep -zv '^tests/' | xargs -0 cp --parents -t "$work/$1.source") ||
		skip 'there is no git, or no repository'
	sed -i "s/^project(rocin VERSION [0-9.]*/project(rocin VERSION $2/" "$work/$1.source/CMakeLists.txt"
	sed -i "s/RN_CTL_VERSION = $protocol/RN_CTL_VERSION = $3/" "$work/$1.source/transport/io/rocind/ctl.h"
	cmake -S "$work/$1.source" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DRN_TESTS=OFF -DRN_WERROR=OFF \
		-DCMAKE_C_COMPILER_LAUNCHER="${CCACHE_DIR:+ccache}" >"$work/$1.log" 2>&1 &&
		cmake --build "$work/$1" >>"$work/$1.log" 2>&1 || fail "another build: $(tail -20 "$work/$1.log")"
	[ "$("$work/$1/bin/rocin" --version)" = "rocin $2" ] || fail "another build: not version $2"
}
another alike 99.0.1 "$protocol"
another newer 99.0.2 $((protocol + 1))

# put BUILD: as a package manager does, a new file in the place of each old one
put() {
	local file
	(cd "$1" && find bin/rocin bin/rocind lib/rocin -name '*.so*' -o -path 'bin/*') | while read -r file; do
		mkdir -p "$prefix/$(dirname "$file")"
		cp -P "$1/$file" "$prefix/$file.new" && mv -T "$prefix/$file.new" "$prefix/$file" || exit 1
	done || fail "files of $1"
}
put "$build"
old=$work/old
cp -a "$prefix" "$old"
PATH=$prefix/bin:$PATH
[ "$(command -v rocin)" = "$prefix/bin/rocin" ] || fail 'rocin is not the one that is replaced'

# begin: two programs that move data, and check each byte, for long enough
begin() {
	rm -f "$work/long"
	rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/verify" --role b --socket "$work/long" --type rc \
		-n 100000 >"$work/long-b.out" 2>&1 &
	long_b=$!
	rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/verify" --role a --socket "$work/long" --type rc \
		-n 100000 >"$work/long-a.out" 2>&1 &
	long_a=$!
	pids+=("$long_a" "$long_b")
	both() { [ "$(rocin stat --json 2>/dev/null | grep -c '"pid"')" = 2 ]; }
	wait_for both || fail "no programs: $(cat "$work"/long-?.out)"
}
run() { kill -0 "$long_a" && kill -0 "$long_b" || fail "they do not run any more: $(cat "$work"/long-?.out)"; }
complete() { # WHAT
	run
	wait "$long_a" && wait "$long_b" || fail "$1: $(cat "$work"/long-?.out)"
	grep -q '100000 messages.* 0 lost' "$work/long-b.out" || fail "$1: $(cat "$work/long-b.out")"
	echo "ok: $1"
}
addr_c=127.${addr_a#127.}
addr_c=${addr_c%.*}.$((($$ + 1) % 256))
run_a=(rocin run --netdev "lo:$addr_c" --)
run_b=("${run_a[@]}")

# By one that speaks the same protocol.
begin
first=$(daemon_pid)
put "$work/alike"
[ "$(rocin --version)" = 'rocin 99.0.1' ] || fail 'nothing was replaced'
verify_pair 'new programs, old rocind' --type rc -n 500
[ "$(daemon_pid)" = "$first" ] || fail 'another rocind serves'
[ "$(rocin stat --daemon --json | grep -c "\"$version\"")" = 1 ] || fail 'it is not the old rocind'
[ "$(rocin stat --json | grep -c '"pid"')" = 2 ] || fail 'the new rocin does not see the old programs'
complete 'programs of the old version, replaced by one alike'
gone() { ! kill -0 "$first" 2>/dev/null; }
wait_for gone || fail 'the old rocind stays'
put "$build"

# refused OLD NEW PROTOCOL-OF-ROCIND PROTOCOL-OF-PROGRAM: by the rocind that runs
refused() {
	local daemon=$5
	timeout 20 rocin run --netdev "lo:$addr_c" -- ibv_rc_pingpong -g 0 >"$work/refusal" 2>&1 &&
		fail 'programs of both versions at one rocind'
	grep -q "rocind $1 (process $daemon) speaks version $3 of the control protocol, this program's rocin $2 version $4; end that rocind (kill $daemon)" \
		"$work/refusal" || fail "no sentence: $(cat "$work/refusal")"
	echo "ok: $(grep speaks "$work/refusal")"
}
# By one that does not.
begin
first=$(daemon_pid)
put "$work/newer"
refused "$version" 99.0.2 "$protocol" $((protocol + 1)) "$first"
rocin stat >"$work/out" 2>&1 && fail 'rocin stat understands the old rocind'
grep -q 'speaks version' "$work/out" || fail "rocin stat: $(cat "$work/out")"
# With a directory and addresses of their own they get along, on the wire as well.
mkdir -m 700 "$work/beside"
ROCIN_RUNTIME_DIR=$work/beside verify_pair 'a rocind beside it' --type rc -n 500
run_b=("$old/bin/rocin" run --netdev "lo:${addr_c%.*}.$((($$ + 2) % 256))" --)
run_a=(env "ROCIN_RUNTIME_DIR=$work/beside" rocin run --netdev "lo:$addr_c" --)
ROCIN_LOCAL=off verify_pair 'old and new talk to one another' --type rc -n 500
ROCIN_RUNTIME_DIR=$work/beside rocin stop
complete 'programs of the old version, replaced by another protocol'
wait_for gone || fail 'the old rocind stays'
run_a=(rocin run --netdev "lo:$addr_c" --)
run_b=("${run_a[@]}")
verify_pair 'the new version, once the old has ended' --type rc -n 500

# Back again: a new rocind and an old program.
rm -f "$work/ready" "$work/done"
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
holder=$!
pids+=("$holder")
wait_for [ -e "$work/ready" ] || fail 'no queue pair'
first=$(daemon_pid)
PATH=$old/bin:$PATH refused 99.0.2 "$version" $((protocol + 1)) "$protocol" "$first"
# The remedy of the sentence.
kill "$first"
wait_for gone || fail 'it does not end'
PATH=$old/bin:$PATH verify_pair 'the old version again, after its remedy' --type rc -n 500
kill -0 "$holder" || fail 'the program that rocind left ended'
touch "$work/done"
wait "$holder" || fail 'the program that rocind left'
echo 'ok: upgraded and downgraded'
