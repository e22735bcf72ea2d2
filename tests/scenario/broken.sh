#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC LIBDEFLATE FILE... - the suite notices what is wrong: with each
# broken/NAME.patch on the transport, the rule that the patch names is not kept any more.
set -u
command -v patch >/dev/null || { echo "patch(1) is not installed" && exit 77; }
source=$1 cc=$2 libdeflate=$3
shift 3 # what is left: files of transport
here=$source/tests/scenario
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir objects
cp -r "$source/include" "$source/transport" "$source/sim" .
flags="-std=gnu11 -O0 -UNDEBUG -Werror=implicit -D_GNU_SOURCE -Iinclude -Itransport -Itransport/cm -Isim/scenario -Isim/pcie"
suite=$(find "$here" -name '*.scn')
failed=0

# compile FILE...: an object for each
compile() {
	# shellcheck disable=SC2086 # words
	printf '%s\n' "$@" | xargs -P 2 -I{} sh -c \
		"$cc $flags -c {} -o objects/\$(basename {} .c).o" 2>>errors
}

# check: the rules that are not kept, in the file `broken`. A transport that goes round in
# circles is noticed, too: by the time that the processor spends, however busy it is.
check() {
	rm -f check_suite
	: >broken
	# shellcheck disable=SC2086 # words
	$cc -o check_suite objects/*.o "$libdeflate" 2>>errors &&
		(ulimit -t 8 && exec ./check_suite $suite) >broken 2>>errors
}

transport=("${@/#/transport/}" transport/cm/*.c)
compile "$here/check_suite.c" sim/scenario/*.c "${transport[@]}" && check || failed=1
if [ $failed = 1 ] || [ -s broken ]; then
	echo 'the transport as it is does not pass:'
	cat errors broken
	exit 1
fi

for patch in "$here"/broken/*.patch; do
	name=$(basename "$patch" .patch)
	rule=$(sed -n 's/^Noticed by: //p' "$patch")
	file=$(sed -n 's|^+++ b/||p' "$patch")
	changed=("$file")
	[ "${file%.h}" = "$file" ] || changed=("${transport[@]}")
	cp "$file" whole
	cp -r objects whole.objects
	if ! patch -s -p1 <"$patch" >>errors 2>&1 || ! compile "${changed[@]}"; then
		echo "$name: does not apply or does not compile"
		cat errors
		failed=1
	else
		check
		status=$?
		if grep -qx "$rule" broken || [ $status -ge 124 ]; then
			printf '%-28s noticed by %s (status %d)\n' "$name" \
				"$(sort -u broken | paste -sd' ')" "$status"
		else
			echo "$name: $rule does not notice: $(paste -sd' ' broken)"
			failed=1
		fi
	fi
	cp whole "$file"
	rm -r objects
	mv whole.objects objects
done
exit $failed
