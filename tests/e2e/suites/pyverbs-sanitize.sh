#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs-sanitize.sh - the test suite of rdma-core under the sanitizer: all tests that pass without
# it must pass, without findings. Prints how much longer the suite takes.
#
# usage: pyverbs-sanitize.sh on | all
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=pyverbs_lib.sh
. "$(dirname "$0")/pyverbs_lib.sh"

machine=typical,gpu.ordering=none,driver=adversarial # the settings of `rocin run --sanitize`
began=$EPOCHREALTIME
pyverbs typical "lo:$addr_a" "$machine"
between=$EPOCHREALTIME
ROCIN_SANITIZE=$1,log=$work/log pyverbs typical "lo:$addr_a" "$machine"
ended=$EPOCHREALTIME
[ -e "$work/log" ] || fail 'the sanitizer was not there'
[ ! -s "$work/log" ] || fail "findings: $(cat "$work/log")"
echo "ok: no finding; without the sanitizer and with it, in us:" \
	"$((${between/./} - ${began/./})) $((${ended/./} - ${between/./}))"
