#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC LIBDEFLATE FILE... - worlds notice what is wrong: with each
# broken/NAME.patch on the transport, and with some of the scenarios', a seed fails, and made
# smaller it still does.
set -u
command -v patch >/dev/null || { echo "patch(1) is not installed" && exit 77; }
source=$1 cc=$2 libdeflate=$3
shift 3 # what is left: files of transport
here=$source/tests/sim
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir objects
cp -r "$source/include" "$source/transport" "$source/sim" .
flags="-std=gnu11 -O1 -UNDEBUG -D_GNU_SOURCE -Iinclude -Itransport -Itransport/cm -Isim/world"
failed=0
also=(duplicate-executed early-completion fence-ignored gap-accepted icrc-ignored
	msn-of-sends-only one-retry-too-few psn-does-not-wrap rnr-does-not-wait rnr-timer-lost
	cm-lap-twice cm-lookup-refused cm-no-timewait cm-nobody-is-silence cm-reason-lost cm-rtu-twice
	cm-strangers-not-answered)
also=("${also[@]/#/$source/tests/scenario/broken/}")

# compile FILE...: an object for each
compile() {
	# shellcheck disable=SC2086 # words
	printf '%s\n' "$@" | xargs -P 2 -I{} sh -c \
		"$cc $flags -c {} -o objects/\$(basename {} .c).o" 2>>errors
}

# check: run seeds until one fails; what failed in the file `broken`. The limit is on the
# time of the processor, which does not depend on how busy it is.
check() {
	# shellcheck disable=SC2086 # words
	$cc -o check_world objects/*.o "$libdeflate" 2>>errors &&
		(ulimit -t 60 && exec ./check_world) >broken 2>>errors
} 2>>aborted

transport=("${@/#/transport/}" transport/cm/*.c)
if ! compile "$here/check_world.c" sim/world/*.c "${transport[@]}" || ! check; then
	echo 'the transport as it is does not pass:'
	cat errors broken
	exit 1
fi

for patch in "$here"/broken/*.patch "${also[@]/%/.patch}"; do
	name=$(basename "$patch" .patch)
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
		if [ $status -eq 0 ] || { [ $status -eq 1 ] && [ ! -s broken ]; }; then
			echo "$name: not noticed"
			failed=1
		elif [ $status -eq 2 ]; then
			echo "$name: does not fail any more when made smaller: $(cat broken)"
			failed=1
		else
			printf '%-30s %s\n' "$name" \
				"$([ $status -eq 1 ] && cat broken || echo "status $status")"
		fi
	fi
	cp whole "$file"
	rm -r objects
	mv whole.objects objects
done
exit $failed
