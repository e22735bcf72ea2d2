#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC LIBDEFLATE FILE... - worlds notice what is wrong: with each
# broken/NAME.patch on the transport, and with some of the scenarios', a seed fails, and made
# smaller it still does.
set -u
source=$1 cc=$2 libdeflate=$3
shift 3 # what is left: files of transport
here=$source/tests/sim/world
# shellcheck source=../../kit/broken_lib.sh
. "$source/tests/kit/broken_lib.sh"
# tools/mutate asks whether a broken suite still notices: then transport stands elsewhere, whole.
cp -rL "$source/include" "${RN_WHOLE:-$source}/transport" "$source/sim" .
flags="-std=gnu11 -O1 -UNDEBUG -D_GNU_SOURCE -I. -Iinclude"
parts=("${@/#/transport/}" transport/cm/*.c)
also=(duplicate-executed early-completion fence-ignored gap-accepted icrc-ignored
	msn-of-sends-only one-retry-too-few psn-does-not-wrap rnr-does-not-wait rnr-timer-lost
	cm-lap-twice cm-lookup-refused cm-no-timewait cm-nobody-is-silence cm-reason-lost cm-rtu-twice
	cm-strangers-not-answered)
also=("${also[@]/#/$source/tests/sim/scenario/broken/}")

# check: run seeds until one fails; what failed in the file `broken`. The limit is on the
# time of the processor, which does not depend on how busy it is.
check() {
	# shellcheck disable=SC2086 # words
	$cc -o check_world objects/*.o "$libdeflate" 2>>errors &&
		(ulimit -t 60 && exec ./check_world) >broken 2>>errors
} 2>>aborted

verdict() {
	local name status
	name=$(basename "$1" .patch)
	check
	status=$?
	if [ $status -eq 0 ] || { [ $status -eq 1 ] && [ ! -s broken ]; }; then
		echo "$name: not noticed"
		return 1
	elif [ $status -eq 2 ]; then
		echo "$name: does not fail any more when made smaller: $(cat broken)"
		return 1
	fi
	printf '%-30s %s\n' "$name" "$([ $status -eq 1 ] && cat broken || echo "status $status")"
}

if ! compile "$here/check_world.c" sim/vnet/*.c sim/fabric/*.c sim/world/*.c "${parts[@]}" || ! check; then
	echo 'the transport as it is does not pass:'
	cat errors broken
	exit 1
fi
each_broken "$here"/broken/*.patch "${also[@]/%/.patch}"
