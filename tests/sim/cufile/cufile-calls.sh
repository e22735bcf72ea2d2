#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cufile-calls.sh - what libcufile.so.0 answers to each call of cufile_calls.c. Where cuFile
# 1.15.1 was seen to answer otherwise, cufile-calls.txt says so behind " | ".
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../kit/verdict.sh
. "$here/../../kit/verdict.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ROCIN_RUNTIME_DIR=$work/run LD_LIBRARY_PATH=$(dirname "$LIBCUFILE"):$(dirname "$LIBROCIN_GPU") \
	LD_PRELOAD=${ROCIN_TEST_PRELOAD:-} CUFILE_ENV_PATH_JSON=/nonexistent CUFILE_LOGFILE_PATH=$work/log \
	"$CUFILE_CALLS" "$work" >out 2>err || fail "cufile_calls: $(cat err)"
sed 's/ | .*//' "$here/cufile-calls.txt" >expected
diff -u expected out || fail 'results have changed; see above'
# Each error has one sentence in the log, with the name of a call or of a setting.
wrong=$(grep -cvE '^[0-9]{2}-[0-9]{2}-[0-9]{4} [0-9:]+ \[pid=[0-9]+\] (ERROR|WARN|INFO)  .*(cuFile|properties|profile|execution|CUFILE_)' log)
[ "$wrong" = 0 ] || fail "$wrong lines of the log are strange: $(cat log)"
[ "$(wc -l <log)" -gt 60 ] || fail "the log has only $(wc -l <log) lines"
