#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# limits.sh - few descriptors, little memory, short files, a full disk, no /proc, /sys or
# /dev/shm, another time: a program on a device and its rocind do their work, or end with a
# sentence; with so much of each they do their work.
# shellcheck disable=SC2034 # by lib.sh
memory=own
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"
export ROCIN_IDLE_MS=300
runs=0 worked=0

# attempt WHAT COMMAND...: `writes' behind the words of a command; sets $status
attempt() {
	local what=$1
	shift
	runs=$((runs + 1))
	export ROCIN_RUNTIME_DIR=$work/small/$runs
	mkdir -p "$work/small"
	# What it says goes through a pipe, of which no limit holds.
	timeout 120 "$@" rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/writes" 20 2>&1 | cat >"$work/out"
	status=${PIPESTATUS[0]}
	rocin stop >/dev/null 2>&1 # which has the address
	case $status in
	0) worked=$((worked + 1)) ;;
	[1-9] | [1-9][0-9] | 12[67]) [ -s "$work/out" ] || fail "$what: it ends without a word" ;;
	*) fail "$what: exit status $status: $(cat "$work/out")" ;;
	esac
}
works() {
	attempt "$@"
	[ "$status" = 0 ] || fail "$1: $(cat "$work/out")"
}

for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 20; do
	attempt "$n descriptors" prlimit --nofile="$n:$n"
done
works '32 descriptors' prlimit --nofile=32:32
attempt 'files of no byte' prlimit --fsize=0:0
# Shared memory counts as files, too: two programs go on by UDP.
for n in 1 4 16; do
	works "files of $n KiB" prlimit --fsize="$((n << 10)):$((n << 10))"
	run_a=(prlimit --fsize="$((n << 10)):$((n << 10))" rocin run --netdev "lo:$addr_b" --)
	run_b=(prlimit --fsize="$((n << 10)):$((n << 10))" rocin run --netdev "lo:$addr_a" --)
	verify_pair "files of $n KiB" --type rc -n 50 --events
	rocin stop
done
works 'a stack of 64 KiB' prlimit --stack=65536:65536
works 'no memory to lock' prlimit --memlock=0:0
if [ -z "${ROCIN_TEST_PRELOAD:-}" ]; then # of which a sanitizer takes terabytes
	for n in 12 14 16 18 20 22; do
		attempt "$n MiB" prlimit --as="$((n << 20)):$((n << 20))"
	done
	works '64 MiB' prlimit --as="$((64 << 20)):$((64 << 20))"
fi

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # it is another shell's
	{
		full='mount -t tmpfs -o size=$1 none "$2" && shift 2 && exec "$@"'
		hidden='mount -t tmpfs none "$1" && shift && exec "$@"'
		read_only='mount -o remount,bind,ro "$1" && shift && exec "$@"'
	}
	for size in 4k 64k 128k 256k; do
		attempt "a disk of $size" unshare -m bash -c "$full" - "$size" "$work/small"
	done
	works 'a disk of 2 MiB' unshare -m bash -c "$full" - 2m "$work/small"
	for dir in /proc /sys /dev/shm; do
		works "no $dir" unshare -m bash -c "$hidden" - "$dir"
	done
	works '/dev/shm read-only' unshare -m bash -c "$read_only" - /dev/shm
else
	echo 'not as root: disks and directories stay as they are'
fi

# Clocks that differ between the two ends, and between rocind and a program.
if unshare --time --monotonic 1000 --fork true 2>/dev/null; then
	# No clock can be set back to before the machine was started.
	for offset in 1000000 -10; do
		run_a=(unshare --time --monotonic "$offset" --fork rocin run --netdev "lo:$addr_b" --)
		run_b=(rocin run --netdev "lo:$addr_a" --)
		verify_pair "clocks $offset s apart" --type rc -n 50 --events
	done
else
	echo 'no time namespaces here'
fi
echo "ok: $runs machines, of which $worked were enough"
