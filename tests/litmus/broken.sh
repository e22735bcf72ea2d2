#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# broken.sh SOURCE CC FILE... - each rule of the model matters: without it
# (broken/NAME.patch) the explorer disagrees with the bank. A patch that says
# "Expected: equal" must change nothing.
set -u
command -v patch >/dev/null || { echo "patch(1) is not installed" && exit 77; }
source=$1 cc=$2
shift 2 # what is left: files of sim/pcie that the model is made of
here=$source/tests/litmus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=gnu11 -O1 -UNDEBUG -D_GNU_SOURCE -I$work/include -I$work/sim/pcie -I$work/sim/litmus"
failed=0

cd "$work" || exit 1
mkdir objects
cp -r "$source/include" "$source/sim" .
cp "$here/check_bank.c" "$here/bank.h" .

# compile FILE: objects/ has one object per file
compile() {
	# shellcheck disable=SC2086 # words
	$cc $flags -c "$1" -o "objects/$(basename "$1" .c).o" 2>>errors
}

# check: the bank with the objects that are there; "CHECKS MISMATCHES"
check() {
	# shellcheck disable=SC2086 # words
	$cc -o check_bank objects/*.o 2>>errors || return
	(ulimit -t 30 && exec ./check_bank "$here"/*.litmus) >out 2>>errors
	tail -1 out | grep -E '^[0-9]+ [0-9]+$' || echo '0 1'
}

for file in check_bank.c sim/litmus/*.c; do
	compile "$file" || failed=1
done
for file; do
	compile "sim/pcie/$file" || failed=1
done
read -r checks mismatches <<<"$(check)"
if [ $failed = 1 ] || [ "${checks:-0}" = 0 ] || [ "${mismatches:-1}" != 0 ]; then
	echo 'the model as it is does not agree with the bank:'
	cat errors out
	exit 1
fi
echo "$checks checks without a mismatch"

for patch in "$here"/broken/*.patch; do
	name=$(basename "$patch" .patch)
	file=$(sed -n 's|^+++ b/||p' "$patch")
	object=objects/$(basename "$file" .c).o
	cp "$file" whole.c
	cp "$object" whole.o
	if ! patch -s -p1 <"$patch" >>errors 2>&1 || ! compile "$file"; then
		echo "$name: does not apply or does not compile"
		cat errors
		failed=1
	else
		read -r _ mismatches <<<"$(check)"
		printf '%4s mismatches  %s\n' "$mismatches" "$name"
		if grep -q 'Expected: equal' "$patch"; then
			[ "$mismatches" = 0 ] || { failed=1 && cat out; }
		elif [ "$mismatches" = 0 ]; then
			echo "$name: the bank does not notice"
			failed=1
		fi
	fi
	cp whole.c "$file"
	cp whole.o "$object"
done
exit $failed
