#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# machine-tree.sh - `rocin devices --tree' draws the example of rocin-topology(5), and `rocin run
# --topology' makes programs take its routes.
# shellcheck source=../../e2e/kit/lib.sh
. "$ROCIN_SOURCE/tests/e2e/kit/lib.sh"
unset ROCIN_TOPOLOGY ROCIN_GPUS ROCIN_STORAGE_NEAR ROCIN_STORAGE_NVLINK ROCIN_STORAGE_PATHS ROCIN_STORAGE_POLICY
man=$ROCIN_SOURCE/tools/man/rocin-topology.5

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || fail "$1: got \"$2\", not \"$3\""
}
status() {
	"$@" >"$work/out" 2>"$work/err"
	echo $?
}
# example N: the Nth literal block of the page
example() {
	awk -v n="$1" '/^\.Bd -literal/ { block++; next } /^\.Ed/ { inside = 0; next } block == n && !/^\.(Ed|Pp)/ { print }' "$man" |
		awk '/^Its picture/ { exit } { print }'
}
example 1 >"$work/machine"
is 'the picture of the manual' "$(status rocin devices --tree --topology "$work/machine")/$(cat "$work/out")" "0/$(example 2 | sed '/^\./,$d')"
is 'from the environment, as JSON' "$(ROCIN_TOPOLOGY=$work/machine rocin devices --tree --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(len(d["parts"]), d["nvlinks"], d["parts"][2], [r["to"] for r in d["routes"]])')" \
	"8 [[0, 1, 18]] {'name': 'gpu0', 'kind': 'gpu', 'under': 'sw0'} ['gpu0', 'gpu1', 'gpu0', 'gpu1']"
is 'without a file' "$(status rocin devices --tree)/$(cat "$work/err")" \
	'64/rocin: --tree wants a topology: name its file by --topology, see rocin-topology(5)'
echo 'gpu 7 under sky' >"$work/wrong"
for command in 'devices --tree' 'env'; do
	# shellcheck disable=SC2086 # several words
	is "$command: a wrong line" "$(status rocin $command --topology "$work/wrong")/$(grep -c 'topology, line 1: "7" is no number of a gpu, 0 to 3' "$work/err")" 64/1
done

# variables of a program [VARIABLE=VALUE...]
variables() {
	(cd "$work" && env "$@" rocin run --topology machine -- env) |
		sed -n 's/^ROCIN_\(GPUS\|TOPOLOGY\|STORAGE_[A-Z]*\|PCIE\)=/\1=/p' | sed 's/\(PCIE=\).*\(rc.p2p=[a-z]*\).*/\1\2/' | sort | xargs
}
is 'what follows from it' "$(variables)" \
	"GPUS=2 PCIE=rc.p2p=split STORAGE_NEAR=nvme0=gpu0 STORAGE_NVLINK=gpu0-gpu1 STORAGE_PATHS=nvme0=/mnt/a TOPOLOGY=$work/machine"
is 'what the user has set stays' "$(variables ROCIN_GPUS=4 ROCIN_STORAGE_NEAR=nvme1=gpu1 ROCIN_PCIE=typical,rc.p2p=deny | tr ' ' '\n' | grep -E '^(GPUS|PCIE|STORAGE_NEAR)' | xargs)" \
	'GPUS=4 PCIE=rc.p2p=deny STORAGE_NEAR=nvme1=gpu1'
