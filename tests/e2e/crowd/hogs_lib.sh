# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hogs_lib.sh - for scripts with ../kit/lib.sh: two processors, and what computes on them.

# only_two_processors: of those that we may use; all that is started here inherits that
only_two_processors() {
	local two
	two=$(taskset -cp $$ | sed 's/.*: //' | python3 -c '
import sys
ids = []
for part in sys.stdin.read().strip().split(","):
    first, _, last = part.partition("-")
    ids += range(int(first), int(last or first) + 1)
print(*ids[:2], sep=",")')
	taskset -cp "$two" $$ >/dev/null || skip 'processors cannot be chosen here'
}

# start_hogs COUNT
start_hogs() {
	local i
	for ((i = 0; i < $1; i++)); do
		LD_PRELOAD='' sh -c 'while :; do :; done' &
		pids+=("$!")
		disown
	done
}
