#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# sandbox.sh - programs in sandboxes that restrict what other programs can use.
#
# usage: sandbox.sh user        no privilege, / and HOME read-only, nothing but /dev/shm to write to
#        sandbox.sh nothing     likewise, and not even that: one clear sentence
#        sandbox.sh descriptors RLIMIT_NOFILE 256, hard
#        sandbox.sh namespaces  user namespaces off
#        sandbox.sh CALL        a seccomp profile without CALL: memfd_create, pidfd_open or io_uring
#        sandbox.sh bwrap       bubblewrap, everything unshared but the network
# shellcheck disable=SC2034 # by lib.sh
memory=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
what=$1
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps=-all)

# ends PREFIX...: runs `verify' between two programs, each started with PREFIX; then the doctor
ends() {
	run_a=("$@" rocin run --netdev "lo:$addr_b" --)
	run_b=("$@" rocin run --netdev "lo:$addr_a" --)
	verify_pair "$what, polling" --type rc -n 50
	verify_pair "$what, events" --type rc -n 50 --events
	verify_pair "$what, ud" --type ud -n 50
	"$@" rocin doctor --netdev "lo:$addr_a" >"$work/doctor" || fail "rocin doctor: $(cat "$work/doctor")"
}

# Inside: a mount namespace in which everything is read-only except the named directories.
read_only() { # DIRECTORY...: these stay as they are
	local dir mount
	for dir; do
		mount --bind "$dir" "$dir" || return
	done
	mount -o remount,bind,ro / || return
	findmnt -rno TARGET | while read -r mount; do
		case " $* / " in *" $mount "*) continue ;; esac
		case $mount in /dev/shm | /tmp | /run | /var/tmp | /home) mount -o remount,bind,ro "$mount" ;; esac
	done
}

case ${2:-}$what in
user | nothing)
	[ "$(id -u)" = 0 ] || skip 'mount namespaces need root'
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	unshare -m "$0" "$what" inside
	exit
	;;
insideuser | insidenothing)
	"${as_nobody[@]}" test -x "$ROCIN_TESTS/verify" || skip 'the build directory is closed to other users'
	chmod 755 "$work" # what the test writes down, but the programs do not
	mkdir -m 777 "$work/meeting"
	mount -t tmpfs -o mode=1777 none /dev/shm
	writable=("$work" /dev/shm)
	[ "$what" = user ] || writable=("$work")
	read_only "${writable[@]}" || skip 'mounts cannot be made read-only here'
	touch /root/x /dev/shm/y 2>/dev/null && [ "$what" = nothing ] && fail '/dev/shm can be written to'
	unset ROCIN_RUNTIME_DIR XDG_RUNTIME_DIR TMPDIR
	export HOME=/nonexistent
	if [ "$what" = nothing ]; then
		"${as_nobody[@]}" rocin run -- ibv_devices >"$work/out" 2>&1 && fail 'it runs'
		[ "$(wc -l <"$work/out")" = 1 ] || fail "not one sentence: $(cat "$work/out")"
		grep -q 'cannot be created: .*; set ROCIN_RUNTIME_DIR to a private directory' "$work/out" ||
			fail "$(cat "$work/out")"
		echo "ok: $(cat "$work/out")"
		exit 0
	fi
	# The socket by which the two ends of verify find each other.
	verify_socket=$work/meeting/meet
	"${as_nobody[@]}" touch "$work/x" 2>/dev/null && fail 'it can write elsewhere'
	verify_pair() {
		local pid
		rm -f "$verify_socket"
		timeout 1800 "${run_b[@]}" "$ROCIN_TESTS/verify" --role b --socket "$verify_socket" "${@:2}" >"$work/b.out" 2>&1 &
		pid=$!
		pids+=("$pid")
		timeout 1800 "${run_a[@]}" "$ROCIN_TESTS/verify" --role a --socket "$verify_socket" "${@:2}" \
			>"$work/a.out" 2>&1 && wait "$pid" ||
			fail "$1: $(tail -n 5 "$work/a.out" "$work/b.out")"
		echo "ok: $1"
	}
	ends "${as_nobody[@]}"
	grep -q '^ok .*runtime directory /dev/shm/rocin-65534' "$work/doctor" || fail "$(cat "$work/doctor")"
	"${as_nobody[@]}" rocin stop
	;;
descriptors)
	ulimit -n 256
	ends env
	# Eight more programs at the same time.
	for i in $(seq 8); do
		rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready$i" "$work/done" &
		pids+=("$!")
	done
	for i in $(seq 8); do
		wait_for [ -e "$work/ready$i" ] || fail "program $i has no queue pair"
	done
	verify_pair 'eight others beside it' --type rc -n 50
	touch "$work/done"
	;;
namespaces)
	unshare -Ur true 2>/dev/null || skip 'they are off already, or cannot be told so'
	exec unshare -Ur "$0" inside-namespaces
	;;
inside-namespaces)
	what=namespaces
	echo 0 >/proc/sys/user/max_user_namespaces || skip 'user namespaces cannot be forbidden here'
	unshare -Ur true 2>/dev/null && fail 'a user namespace can still be made'
	ends env
	;;
memfd_create | pidfd_open | io_uring)
	for errno in EPERM ENOSYS; do
		sandbox=("$ROCIN_TESTS/without_call" "$what" "$errno")
		"${sandbox[@]}" true
		case $? in
		0) ;;
		77) skip 'no seccomp here' ;;
		*) fail "a sandbox with $errno cannot be made" ;;
		esac
		ends "${sandbox[@]}"
		[ "$what" != memfd_create ] || grep -q '^note .*memfd_create fails .*by UDP' "$work/doctor" ||
			fail "rocin doctor does not say so: $(cat "$work/doctor")"
		rocin stop # this rocind was started in the sandbox
	done
	;;
bwrap)
	command -v bwrap >/dev/null || skip 'bwrap is not installed (package bubblewrap)'
	box=(bwrap --ro-bind / / --dev /dev --proc /proc --bind "$work" "$work" --unshare-user --unshare-pid
		--unshare-ipc --unshare-uts --die-with-parent --)
	"${box[@]}" true 2>"$work/out" || skip "bwrap: $(cat "$work/out")"
	ends "${box[@]}"
	;;
*) exit 64 ;;
esac
