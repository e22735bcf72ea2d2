#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fetch.sh RUNS FILE... - the final states of litmus tests on a live device that fetches WQEs and
# translations are among those that the explorer finds without.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
runs=$1
shift
for knobs in nic.wqe=fetched,mtt.cache=1 nic.wqe=blueflame,mtt.cache=inf; do
	echo "$knobs:"
	python3 "$here/compare.py" --rocin "$ROCIN_BIN/rocin" --live "$runs" --time 600 \
		--rocin-option=--mode=ibta,typical,adversarial "--rocin-option=--knobs=$knobs" "$@" || exit 1
done
