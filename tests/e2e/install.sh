#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# install.sh - what `cmake --install` puts somewhere works from there.
#
# usage: install.sh BUILD-DIRECTORY
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
LD_PRELOAD='' cmake --install "$1" --prefix "$work/prefix" >"$work/install.log" ||
	fail "cmake --install: $(tail -3 "$work/install.log")"
PATH=$work/prefix/bin:$PATH
[ "$(command -v rocin)" = "$work/prefix/bin/rocin" ] || fail 'rocin is not installed'
for page in man1/rocin.1 man7/rocin.7 man8/rocind.8; do
	[ -s "$work/prefix/share/man/$page" ] || fail "$page is missing"
done
rocin doctor --netdev "lo:$addr_a" -- ibv_rc_pingpong || fail 'rocin doctor'
next_port
pair 'the installed tree' ibv_rc_pingpong -g 0 -c -p "$port" -- \
	ibv_rc_pingpong -g 0 -c -p "$port" 127.0.0.1
