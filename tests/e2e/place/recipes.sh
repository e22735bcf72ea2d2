#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# recipes.sh - runs the recipes of rocin-ci(7), taken from the manual page.
#
# usage: recipes.sh ssh|mpirun|compose
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
page=$(dirname "$0")/../../../tools/man/rocin-ci.7
recipe() { "$(dirname "$0")/../../man/recipe" -v section="$1" -v n="${2:-1}" "$page" || fail "$page has no recipe $1 $2"; }

# tried NAME COMMAND: the command must show the device $times times
times=1
tried() {
	timeout 1800 bash -c "$2" >"$work/out" 2>&1 || fail "$1: $2: $(cat "$work/out")"
	[ "$(grep -c '^ *rocin0 ' "$work/out")" = "$times" ] || fail "$1: $2: $(cat "$work/out")"
	echo "ok: $1: $2"
}

case $1 in
ssh)
	sshd=$(command -v sshd) || skip 'sshd is not installed (package openssh-server)'
	ssh-keygen -q -t ed25519 -N '' -f "$work/key" || fail 'ssh-keygen'
	next_port
	# The server uses no configuration of this machine, and only the account of the user.
	cat >"$work/sshd_config" <<-END
		HostKey $work/key
		AuthorizedKeysFile $work/key.pub
		StrictModes no
		PidFile none
		PermitRootLogin yes
		PermitUserEnvironment no
		SetEnv PATH=$PATH ROCIN_RUNTIME_DIR=$ROCIN_RUNTIME_DIR ROCIN_NETDEVS=lo:$addr_a
		AcceptEnv LD_PRELOAD RDMAV_DRIVERS ROCIN_*
	END
	# sshd needs this directory if it runs as root. Its package creates it at boot.
	if [ "$(id -u)" = 0 ] && mkdir /run/sshd 2>/dev/null; then
		own_cleanup() { rmdir /run/sshd; }
	fi
	"$sshd" -D -e -f "$work/sshd_config" -o "ListenAddress=$addr_a" -p "$port" 2>"$work/sshd.log" &
	server=$!
	pids+=("$server")
	wait_for listening "$server"
	kill -0 "$server" 2>/dev/null || skip "sshd: $(cat "$work/sshd.log")"
	# This program replaces the entry of a configuration file for the host.
	cat >"$work/ssh" <<-END
		#!/bin/sh
		exec $(command -v ssh) -F none -i $work/key -p $port -o StrictHostKeyChecking=no \
			-o UserKnownHostsFile=$work/known -o LogLevel=ERROR \$SSH_OPTIONS "\$@"
	END
	chmod +x "$work/ssh"
	PATH=$work:$PATH
	export ROCIN_NETDEVS=lo:$addr_a
	ssh "$addr_a" true >"$work/out" 2>&1 || skip "one cannot log in here: $(cat "$work/out" "$work/sshd.log")"
	ssh "$addr_a" ibv_devices 2>/dev/null | grep rocin0 && fail 'devices without a recipe'
	for n in 1 2; do
		tried ssh "$(recipe ssh $n | sed "s/HOST/$addr_a/")"
	done
	# If the server accepts these variables.
	eval "$(rocin env)"
	SSH_OPTIONS='-o SendEnv=LD_PRELOAD -o SendEnv=RDMAV_DRIVERS -o SendEnv=ROCIN_TREE' \
		tried 'AcceptEnv' "ssh $addr_a ibv_devices"
	;;
mpirun)
	command -v mpirun >/dev/null || skip 'mpirun is not installed (package openmpi-bin)'
	# These settings lift restrictions of mpirun, which are not tested here.
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
		OMPI_MCA_plm_rsh_agent='' PRTE_ALLOW_RUN_AS_ROOT=1 ROCIN_NETDEVS=lo:$addr_a
	mpirun -n 1 true >"$work/out" 2>&1 || skip "mpirun: $(tail -3 "$work/out")"
	times=2
	for n in 1 2; do
		tried mpirun "$(recipe mpirun $n)"
	done
	# Two ranks are the two ends of a program.
	next_port
	timeout 1800 mpirun -n 2 rocin run -- sh -c '
		[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec ibv_rc_pingpong -g 0 -c -p "$1"
		until ibv_rc_pingpong -g 0 -c -p "$1" "$2"; do sleep 0.1; done' sh "$port" 127.0.0.1 >"$work/out" 2>&1 ||
		fail "two ranks: $(cat "$work/out")"
	[ "$(grep -c 'bytes in' "$work/out")" = 2 ] || fail "two ranks: $(cat "$work/out")"
	echo 'ok: two ranks'
	;;
compose)
	python3 -c 'import yaml' 2>/dev/null || skip 'no yaml for Python (package python3-yaml)'
	recipe 'Compose files' >"$work/compose.yaml"
	# The variables are those of the manual page, and those of `rocin env`.
	python3 - "$work" "$addr_a" "$addr_b" "$(ROCIN_NETDEVS=lo:$addr_a rocin env --format=compose)" <<-'END' || fail 'the compose file'
		import shlex, sys, yaml
		work, addr_a, addr_b, lines = sys.argv[1:]
		file = yaml.safe_load(open(work + "/compose.yaml"))
		variables = yaml.safe_load(lines)
		assert variables["ROCIN_NETDEVS"] == "lo:" + addr_a and "LD_PRELOAD" in variables, variables
		services = file["services"]
		assert services["client"]["network_mode"] == "service:server"
		for name, own in ("server", addr_a), ("client", addr_b):
		    with open(f"{work}/{name}", "w") as script:
		        command = [word.replace("127.0.0.2", addr_a) for word in services[name]["command"]]
		        print("ROCIN_NETDEVS=lo:" + own, "exec rocin run --", shlex.join(command), file=script)
	END
	# Runs the services as an engine would: with their own mounts and processes, and one
	# network. So each has its own rocind; a shared one would end with the client that has
	# started it.
	unshare -n true 2>/dev/null || skip 'network namespaces cannot be made here'
	[ "$(id -u)" = 0 ] || skip 'PID and mount namespaces need root'
	# shellcheck disable=SC2016 # for the shells inside
	timeout 1800 unshare -n sh -c 'ip link set lo up
		unset ROCIN_RUNTIME_DIR XDG_RUNTIME_DIR
		box() { exec unshare -mpf --mount-proc --kill-child sh -c "mount -t tmpfs none /dev/shm && exec sh $1"; }
		(box "$1/server") & server=$!
		(box "$1/client") && wait $server' sh "$work" >"$work/out" 2>&1 || fail "compose: $(cat "$work/out")"
	[ "$(grep -c 'bytes in' "$work/out")" = 2 ] || fail "compose: $(cat "$work/out")"
	echo 'ok: compose'
	;;
*) exit 64 ;;
esac
