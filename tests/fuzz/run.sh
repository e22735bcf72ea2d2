#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh - fuzz for a while on a copy of a corpus, so that the corpus stays as it is.
#
# usage: run.sh PROGRAM CORPUS SECONDS ARTIFACTS
#
# An input that fails is kept in the directory ARTIFACTS; it belongs in the corpus.
set -eu
program=$1 corpus=$2 seconds=$3 artifacts=$4
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$artifacts"
cp "$corpus"/* "$copy"
"$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 \
	-max_len=4096 -print_final_stats=1 -artifact_prefix="$artifacts/" "$copy"
