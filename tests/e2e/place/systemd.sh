#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# systemd.sh - a systemd user manager with rocind.socket, with units that contain the output of
# `rocin env`, and with an environment generator.
#
# usage: systemd.sh DIRECTORY-OF-UNITS
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
units=$1
manager=/lib/systemd/systemd
group=/sys/fs/cgroup
[ -x $manager ] || skip 'systemd is not installed'
[ "$(id -u)" = 0 ] || skip 'its namespaces need root'
if [ "${2:-}" = '' ]; then
	unshare -mpf --mount-proc true 2>/dev/null || skip 'namespaces cannot be made here'
	# The manager needs a control group in which it may create others.
	cgroup=$work/cgroup
	mkdir "$cgroup"
	unshare -m sh -c 'mount -t cgroup2 none "$1" && mkdir "$1/rocin-$2"' sh "$cgroup" $$ 2>/dev/null ||
		skip 'there are no control groups (cgroup2)'
	unshare -mpf --mount-proc --kill-child sh -c '
		mount -t cgroup2 none "$1" && echo 0 >"$1/$2/cgroup.procs" && shift 2 && exec unshare -C "$@"' \
		sh "$cgroup" rocin-$$ "$0" "$units" inside
	status=$?
	unshare -m sh -c 'mount -t cgroup2 none "$1" &&
		find "$1/$2" -depth -type d -exec rmdir {} +' sh "$cgroup" rocin-$$
	exit $status
fi

# Inside: the same state as after a boot by systemd.
mount -t tmpfs none /run && mkdir -p /run/systemd/system && umount -R $group 2>/dev/null
mount -t cgroup2 none $group || skip 'no control groups inside'
unset ROCIN_RUNTIME_DIR
export HOME=$work/home XDG_RUNTIME_DIR=$work/xdg
export XDG_CONFIG_HOME=$HOME/.config
mkdir -p -m 700 "$HOME" "$XDG_RUNTIME_DIR"
mkdir -p "$XDG_CONFIG_HOME/systemd/user" /run/systemd/user-environment-generators
sed "s,ExecStart=rocind --foreground,& --idle-ms=300,; s,=rocind ,=$ROCIN_BIN/rocind ," \
	"$units/rocind.service" >"$XDG_CONFIG_HOME/systemd/user/rocind.service"
cp "$units/rocind.socket" "$XDG_CONFIG_HOME/systemd/user/"

# A service whose variables come from `rocin env'.
service() { # NAME LINE...
	local name=$1
	shift
	printf '%s\n' '[Service]' Type=oneshot "$@" "ExecStart=$(command -v ibv_devinfo) -d rocin0" \
		"StandardOutput=append:$work/$name.out" "StandardError=append:$work/$name.out" \
		>"$XDG_CONFIG_HOME/systemd/user/$name.service"
}
service bare
rocin env --netdev "lo:$addr_a" --format=systemd >"$work/lines"
grep -q '^Environment="LD_PRELOAD=' "$work/lines" || fail "rocin env: $(cat "$work/lines")"
mapfile -t lines <"$work/lines"
service with-env "${lines[@]}"

start() {
	"$manager" --user --log-target=console >"$work/log" 2>&1 &
	pid=$!
	pids+=("$pid")
	answers() { systemctl --user is-system-running 2>/dev/null | grep -qE 'running|degraded'; }
	wait_for answers || skip "systemd does not start here: $(tail -3 "$work/log")"
}
start
systemctl --user enable --now rocind.socket >"$work/out" 2>&1 || fail "rocind.socket: $(cat "$work/out" "$work/log")"
[ "$(readlink "$XDG_RUNTIME_DIR/rocin/rocind-$(stat -Lc %i /proc/self/ns/net).sock")" = rocind.sock ] ||
	fail "no link: $(ls "$XDG_RUNTIME_DIR/rocin")"
state() { systemctl --user is-active rocind.service; }
[ "$(state)" = inactive ] || fail 'rocind runs already'
verify_pair 'rocind by its unit' --type rc -n 50
# rocind ends soon after its last program, so a program runs while it is checked.
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done" &
holder=$!
pids+=("$holder")
wait_for test -e "$work/ready" || fail 'no queue pair'
[ "$(systemctl --user show -P MainPID rocind.service)" = "$(daemon_pid)" ] || fail 'another rocind serves'
touch "$work/done"
wait "$holder" || fail 'a queue pair does not end'
ended() { [ "$(state)" = inactive ]; }
wait_for ended || fail "rocind does not end when it is idle: $(state)"
verify_pair 'and once more' --type rc -n 50
systemctl --user stop rocind.socket rocind.service
[ ! -S "$XDG_RUNTIME_DIR/rocin/rocind.sock" ] || fail 'the socket is left'
ROCIN_IDLE_MS=100 verify_pair 'without the unit again' --type rc -n 50

systemctl --user start bare.service 2>/dev/null && fail 'a service finds devices on its own'
systemctl --user start with-env.service || fail "Environment=: $(cat "$work/with-env.out" "$work/log")"
grep -q 'hca_id:.*rocin0' "$work/with-env.out" || fail "Environment=: $(cat "$work/with-env.out")"
echo 'ok: Environment='
systemctl --user exit
wait "$pid"

# A generator sets the variables for all services of the user.
page=$(dirname "$0")/../../../tools/man/rocin.7
generator=/run/systemd/user-environment-generators/60-rocin
sed -n '/user-environment-generators/,/^\.Ed/p' "$page" | grep -A1 '^#!/bin/sh' |
	sed "s,exec rocin,exec $ROCIN_BIN/rocin," >$generator
chmod +x $generator
start
systemctl --user start bare.service || fail "generator: $(cat "$work/bare.out" "$work/log")"
grep -q 'hca_id:.*rocin0' "$work/bare.out" || fail "generator: $(cat "$work/bare.out")"
echo 'ok: a generator of environments'
systemctl --user exit
wait "$pid"
exit 0
