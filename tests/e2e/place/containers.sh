#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# containers.sh - two containers in one network namespace, like the containers of a pod, each with
# its own mounts and processes. Each has its own runtime directory, or they share one.
# shellcheck disable=SC2034 # by lib.sh
memory=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
[ "$(id -u)" = 0 ] || skip 'PID and mount namespaces need root'
unshare -mpf --mount-proc true 2>/dev/null || skip 'PID and mount namespaces cannot be made here'

# container NAME COMMAND...: runs the command in a container with its own /dev/shm, /tmp and /run.
# $work is shared, like a volume.
container() {
	local name=$1
	shift
	mkdir -p "$work/$name"
	# shellcheck disable=SC2016 # for the shell inside
	exec unshare -mpf --mount-proc --kill-child sh -c '
		mount --bind "$1" /mnt && mount -t tmpfs none /dev/shm &&
		mount -t tmpfs none /run && shift && exec "$@"' sh "$work" "$@"
}
in_a() { container a "$@"; }
in_b() { container b "$@"; }
own=(env -u ROCIN_RUNTIME_DIR -u XDG_RUNTIME_DIR)

meet() { # NAME PREFIX... -- the same for both; ends by itself
	local name=$1 pid
	shift
	rm -f "$work/meet"
	(in_b "$@" rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/verify" --role b --socket "$work/meet" \
		--type rc -n 100) >"$work/b.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	(in_a timeout 1800 "$@" rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/verify" --role a \
		--socket "$work/meet" --type rc -n 100) >"$work/a.out" 2>&1 ||
		fail "$name: $(tail -n 5 "$work/a.out" "$work/b.out")"
	wait "$pid" || fail "$name: $(cat "$work/b.out")"
	echo "ok: $name"
}
meet 'a runtime directory each' "${own[@]}"

# Both use one address: the second program is refused, with a remedy.
(in_a "${own[@]}" rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done") &
holder=$!
pids+=("$holder")
wait_for [ -e "$work/ready" ] || fail 'no queue pair in the first container'
(in_b timeout 1800 "${own[@]}" rocin run --netdev "lo:$addr_a" -- \
	"$ROCIN_TESTS/hold_qp" "$work/ready2" "$work/done") >"$work/out" 2>&1 && fail 'both have the same address'
grep -q "$addr_a is held by .*--netdev" "$work/out" || fail "no remedy: $(cat "$work/out")"
echo "ok: $(grep -m1 'held by' "$work/out")"
touch "$work/done"
wait "$holder" || fail 'the first container'

# The containers share a runtime directory, as by a volume; then one address suffices. The first
# program would start rocind in its container, and rocind would end with that container, so it is
# started outside here.
rocind --idle-ms=0 >/dev/null || fail rocind
meet 'one runtime directory' env
addr_b=$addr_a meet 'one runtime directory and one address' env

# A process that dies in the container is noticed outside.
rm -f "$work/ready" "$work/done"
(in_a rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done") &
holder=$!
wait_for [ -e "$work/ready" ] || fail 'no queue pair in a container'
seen() { rocin stat --json | grep -c '"pid"'; }
[ "$(seen)" = 1 ] || fail 'rocin stat does not see into the container'
end_now "$holder"
gone() { [ "$(seen)" = 0 ]; }
wait_for gone || fail 'a program that died in a container still has its place'
echo 'ok: seen, and missed'
