#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pingpong.sh - libibverbs' own examples between two processes: RC, UC, UD, RC with a
# shared receive queue and XRC, polling and with events, several sizes, data checked where
# the program can.
#
# usage: pingpong.sh rc|uc|ud|srq|xsrq 4|6
# shellcheck disable=SC2034 # by lib.sh
[ "$2" != 6 ] || network=own # another program may use ::1 on this machine
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
kind=$1 family=$2
gid=0
if [ "$family" = 6 ]; then
	[ -e /proc/net/if_inet6 ] || skip 'this network namespace has no IPv6'
	# There is only one address ::1, so both programs use it, like two programs of one host.
	server_dev=lo:$addr_a+::1
	client_dev=$server_dev
	gid=1
fi

# play NAME OPTION...: runs the program as server and as client
play() {
	local name=$1
	shift
	next_port
	pair "$kind ipv$family $name" "ibv_${kind}_pingpong" -g "$gid" -p "$port" "$@" -- \
		"ibv_${kind}_pingpong" -g "$gid" -p "$port" "$@" 127.0.0.1
}

case $kind in
rc)
	wire='RC_SEND_ONLY RC_ACK' play '1 byte' -s 1 -c
	wire='RC_SEND_FIRST RC_SEND_MIDDLE RC_SEND_LAST RC_ACK' play '4 KiB' -s 4096 -c
	play '4 KiB, events' -s 4096 -e -c
	play '1 MiB' -s 1048576 -n 100 -c
	play '1 MiB, events' -s 1048576 -n 100 -e
	play 'path MTU 256' -s 5000 -m 256 -c
	play 'path MTU 4096' -s 50000 -m 4096 -c
	play 'timestamps' -s 4096 -t
	play 'extended posting' -s 4096 -N -c
	;;
uc)
	wire=UC_SEND_ONLY play '1 byte' -s 1
	wire='UC_SEND_FIRST UC_SEND_MIDDLE UC_SEND_LAST' play '4 KiB' -s 4096
	play '4 KiB, events' -s 4096 -e
	play '1 MiB' -s 1048576 -n 50
	;;
ud)
	wire=UD_SEND_ONLY play '1 byte' -s 1
	play '2 KiB' -s 2048
	play 'the MTU' -s 4096
	play '2 KiB, events' -s 2048 -e
	;;
srq)
	wire='RC_SEND_ONLY RC_ACK' play '1 byte' -s 1 -c
	play '4 KiB, 1 QP' -s 4096 -q 1 -c
	play '4 KiB, events' -s 4096 -e -c
	play '100 kB, 32 QPs' -s 100000 -q 32 -n 500 -c
	play 'few receives' -s 4096 -r 17 -n 2000
	;;
xsrq)
	wire='XRC_SEND_ONLY XRC_ACK' play '1 byte' -s 1 -n 1000
	play '4 KiB' -s 4096 -n 1000
	play '4 KiB, events' -s 4096 -e -n 1000
	play '100 kB' -s 100000 -n 200
	;;
esac
