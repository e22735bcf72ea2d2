#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# many.sh - to register, use and deregister an MR takes the validation layer the same number of
# instructions whether there are ten other MRs and QPs or ten thousand.
#
# usage: many.sh PROGRAM
set -u
command -v valgrind >/dev/null || { echo 'skipped: there is no valgrind' && exit 77; }

# count OTHERS: instructions of all rounds
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=many_rounds \
		"$program" "$1" 2>&1 | sed -n 's/.*Collected : *//p'
}

program=$1
"$program" 10 2>/dev/null || { echo 'FAILED: other findings than are to be' && exit 1; }
few=$(count 10) many=$(count 10000)
echo "instructions of 100 rounds: $few among 10 MRs and QPs, $many among 10000"
[ "$few" -gt 10000 ] || { echo 'FAILED: that cannot be' && exit 1; }
# Buckets of the tables hold some objects each then.
[ "$many" -lt $((few * 3 / 2)) ] || { echo 'FAILED: the cost grows with the number of objects' && exit 1; }
