#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# migration.sh - QEMU moves a virtual machine to another process by RDMA. The memory is registered
# piece by piece or all at once; the test compares each byte that arrives.
#
# usage: migration.sh lo|veth4
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=$1
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
command -v qemu-system-x86_64 >/dev/null || skip 'qemu-system-x86 is not installed'
limit=1800

# The virtual machine does not run (-S), so its memory has only the data that was loaded there.
machine=(qemu-system-x86_64 -M pc -accel tcg -m 48 -nodefaults -display none -S)
head -c 16777216 /dev/urandom >"$work/noise"

move() { # NAME PIN-ALL
	local source status
	next_port
	start_server "${machine[@]}" -incoming "rdma:$server:$port" -qmp "unix:$work/there,server=on,wait=off"
	record_wire timeout "$limit" "${run_client[@]}" "${machine[@]}" -qmp "unix:$work/here,server=on,wait=off" \
		-device "loader,file=$work/noise,addr=0x1000000,force-raw=on" >"$work/client.out" 2>&1 &
	source=$!
	pids+=("$source")
	wait_for test -S "$work/here" || fail "$1: QEMU does not start: $(cat "$work/client.out")"
	timeout 1800 python3 "$(dirname "$0")/migration.py" "$work" "rdma:$server:$port" "$2"
	status=$?
	end_now "$source" "$server_pid"
	wait "$source" "$server_pid" 2>/dev/null
	[ "$status" = 0 ] || fail "$1: $(tail -n 5 "$work/server.out" "$work/client.out")"
	cmp -s -n 16777216 "$work/noise" "$work/there.ram" || fail "$1: the memory is not the same"
	judge_wire "$1"
	echo "ok: $1${wire:+, $wire}"
	rm "$work/there" "$work/here" "$work/there.ram"
}
wire='RC_WRITE_* RC_SEND_* RC_ACK' move 'a machine moves, registered piece by piece' off
move 'a machine moves, pinned at once' on
