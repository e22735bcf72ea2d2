#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# guest.sh - the first process of the guest's root: makes rxe0 on the virtio network card,
# then runs what vm.py sends through the port `commands', one after the other.
#
# usage: guest.sh MODULES MTU
#
# A command comes as a line: a number, seconds, the text in base64. The answer is a line:
# the number, the status (124: it ran too long and was killed), its output in base64. One
# that no signal ends (it hangs in the kernel) is left behind.
modules=$1 mtu=$2
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /run/exchange
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t devpts pts /dev/pts
ln -sfn /proc/self/fd /dev/fd
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none exchange /run/exchange
# The host may have a folder or a link there; both would be in the way.
rm -rf /lib/modules
mkdir -p /lib/modules
ln -sfn "$modules" "/lib/modules/$(uname -r)"
ulimit -l unlimited

ip link set lo up
modprobe virtio_net
card=$(basename "$(dirname "$(grep -l 52:54:00:91:00:02 /sys/class/net/*/address)")")
ip link set "$card" name net0 mtu "$mtu" up
ip addr add 10.91.0.2/24 dev net0
ip addr add fd91::2/64 dev net0 nodad
for module in rdma_rxe ib_uverbs rdma_ucm ib_umad; do
	modprobe "$module"
done
rdma link add rxe0 type rxe netdev net0
ready=no
for _ in {1..100}; do
	! [ -c /dev/infiniband/uverbs0 ] || { ready=yes && break; }
	sleep 0.1
done

port=$(basename "$(dirname "$(grep -lx commands /sys/class/virtio-ports/*/name)")")
mkfifo /run/ended
exec 3<>"/dev/$port" 4<>/run/ended
echo "ready $ready $(uname -r)" >&3
while :; do
	# The end of the input: nobody is connected on the host's side.
	read -r number limit text <&3 || { sleep 0.2 && continue; }
	base64 -d <<<"$text" >/tmp/command
	setsid bash -c 'bash /tmp/command >/tmp/output 2>&1 </dev/null 3>&- 4>&-
		echo "'"$number"' $?" >&4' &
	status=124
	end=$((SECONDS + limit))
	while left=$((end - SECONDS)) && [ "$left" -gt 0 ] && read -r -t "$left" which rc <&4; do
		[ "$which" = "$number" ] && status=$rc && break
	done
	[ "$status" != 124 ] || kill -9 -- "-$!"
	echo "$number $status $(base64 -w0 /tmp/output)" >&3
done
