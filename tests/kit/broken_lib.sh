# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# broken_lib.sh - sourced by tests which break the code on purpose and look whether a suite
# notices. It goes to a directory of its own that ends with the test, and gives:
#
#   compile FILE...       an object for each in objects/; complaints in the file `errors`
#   each_broken PATCH...  apply one patch after the other, compile what it changed and ask
#                         verdict; not 0 if one does not apply or verdict is not content
#
# The caller has set $cc and $flags, lays out the sources in the directory, lists in $parts what
# may include a header that a patch changes, and defines
#
#   verdict PATCH         say in a line who noticed; not 0 if nobody did
command -v patch >/dev/null || { echo "patch(1) is not installed" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir objects

compile() {
	# shellcheck disable=SC2086,SC2154 # words; the caller's
	printf '%s\n' "$@" | xargs -P 2 -I{} sh -c \
		"$cc $flags -c {} -o objects/\$(echo {} | tr / -).o" 2>>errors
}

# one_broken PATCH: with what it changes put back afterwards
one_broken() {
	local patch=$1 file changed rc=0
	file=$(sed -n 's|^+++ b/||p' "$patch")
	changed=("$file")
	# shellcheck disable=SC2154 # the caller's
	[ "${file%.h}" = "$file" ] || changed=("${parts[@]}")
	cp "$file" whole
	cp -r objects whole.objects
	if patch -s -p1 <"$patch" >>errors 2>&1 && compile "${changed[@]}"; then
		verdict "$patch" || rc=1
	else
		echo "$(basename "$patch" .patch): does not apply or does not compile"
		cat errors
		rc=1
	fi
	cp whole "$file"
	rm -r objects
	mv whole.objects objects
	return $rc
}

each_broken() {
	local patch failed=0
	for patch; do
		one_broken "$patch" || failed=1
	done
	return $failed
}
