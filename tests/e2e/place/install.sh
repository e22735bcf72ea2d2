#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# install.sh - the files that `cmake --install` installs work from their place.
#
# usage: install.sh BUILD-DIRECTORY
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
LD_PRELOAD='' cmake --install "$1" --prefix "$work/prefix" >"$work/install.log" ||
	fail "cmake --install: $(tail -3 "$work/install.log")"
PATH=$work/prefix/bin:$PATH
[ "$(command -v rocin)" = "$work/prefix/bin/rocin" ] || fail 'rocin is not installed'
for page in man1/rocin.1 man1/rocin-bench.1 man1/rocin-tour.1 man5/rocin-litmus.5 man7/rocin.7 man7/rocin-pcie.7 \
	man7/rocin-visibility.7 man8/rocind.8; do
	[ -s "$work/prefix/share/man/$page" ] || fail "$page is missing"
done
rocin doctor --netdev "lo:$addr_a" -- ibv_rc_pingpong || fail 'rocin doctor'
next_port
pair 'the installed tree' ibv_rc_pingpong -g 0 -c -p "$port" -- \
	ibv_rc_pingpong -g 0 -c -p "$port" 127.0.0.1
rocin example write-immediate || fail 'rocin example'
rocin tour --stop gpu || fail 'rocin tour'
rocin litmus --backend=live --runs=5 07-completions.litmus || fail 'rocin litmus'
# The installed test files are real files: nothing of the source tree is used.
share=$work/prefix/share/rocin
[ -z "$(find "$share" -type l)" ] && [ -f "$share/litmus/02-mp.litmus" ] && [ -f "$share/scenario/expect/rxe-6.1" ] &&
	[ -f "$share/scenario/A-header/A1-icrc.scn" ] || fail "the banks: $(find "$share" -type l; ls "$share"/*)"
others=$(find "$share" -type f ! -name '*.litmus' ! -name '*.scn' ! -path '*/expect/*')
[ -z "$others" ] && [ -z "$(find "$share" -type d -empty)" ] || fail "no part of a bank: $others $(find "$share" -type d -empty)"
installed=$(find "$share/scenario" -name '*.scn' | wc -l)
rocin conform | grep -q "^$installed scenarios: $installed passed, 0 failed" || fail 'rocin conform'
rocin litmus --test=M1- | grep -q '^1 tests, ' || fail 'rocin litmus: the bank'
