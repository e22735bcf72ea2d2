#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC LIBDEFLATE FILE... - the suite notices what is wrong: with each
# broken/NAME.patch on the transport, the scenarios of the rule that the patch names fail.
set -u
source=$1 cc=$2 libdeflate=$3
shift 3 # what is left: files of transport
here=$source/tests/sim/scenario
# shellcheck source=../../kit/broken_lib.sh
. "$source/tests/kit/broken_lib.sh"
# tools/mutate asks whether a broken suite still notices: then transport stands elsewhere, whole.
cp -rL "$source/include" "${RN_WHOLE:-$source}/transport" "$source/sim" .
flags="-std=gnu11 -O0 -UNDEBUG -Werror=implicit -D_GNU_SOURCE -I. -Iinclude"
mapfile -t suite < <(find "$here" -name '*.scn')
parts=("${@/#/transport/}" transport/cm/*.c)

# check FILE...: the rules that these scenarios show not to be kept, in the file `broken`. A
# transport that goes round in circles is noticed, too: by the time that the processor spends,
# however busy it is.
check() {
	rm -f check_suite
	: >broken
	$cc -o check_suite objects/*.o "$libdeflate" 2>>errors &&
		(ulimit -t 1 && exec ./check_suite "$@") >broken 2>>errors
}

verdict() {
	local name rule status
	local -a of_rule
	name=$(basename "$1" .patch)
	rule=$(sed -n 's/^Noticed by: //p' "$1")
	mapfile -t of_rule < <(grep -lE "^# ([A-Z0-9]+, )*${rule}[,:]" "${suite[@]}")
	check "${of_rule[@]}"
	status=$?
	if ! grep -qx "$rule" broken && [ $status -lt 124 ]; then
		echo "$name: $rule does not notice: $(paste -sd' ' broken)"
		return 1
	fi
	printf '%-28s noticed by %s (status %d)\n' "$name" "$(sort -u broken | paste -sd' ')" "$status"
}

if ! compile "$here/check_suite.c" sim/vnet/*.c sim/scenario/*.c "${parts[@]}" || ! check "${suite[@]}" || [ -s broken ]; then
	echo 'the transport as it is does not pass:'
	cat errors broken
	exit 1
fi
each_broken "$here"/broken/*.patch
