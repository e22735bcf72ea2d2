#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ceph.sh - Ceph's messenger over RDMA: a monitor and an OSD, each on its own device. Clients create
# a pool, write an object, and read the same bytes.
# shellcheck disable=SC2034 # for lib.sh
network=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
for program in ceph ceph-mon ceph-osd rados monmaptool; do
	command -v "$program" >/dev/null || skip "$program is not installed (ceph-mon, ceph-osd, ceph-common)"
done

addr_osd=${addr_a%.*}.$((${addr_a##*.} % 250 + 3))
fsid=$(cat /proc/sys/kernel/random/uuid) uuid=$(cat /proc/sys/kernel/random/uuid)
next_port
mkdir "$work/mon" "$work/osd"
# The configuration selects the first GID of a device, which is that of its address. It also limits
# the receives: by default Ceph posts 4096 of them, of 128 KiB each.
cat >"$work/ceph.conf" <<-CONF
	[global]
	fsid = $fsid
	mon host = v1:$addr_a:$port
	auth cluster required = none
	auth service required = none
	auth client required = none
	ms type = async+rdma
	ms bind msgr2 = false
	ms async rdma device name = rocin0
	ms async rdma roce ver = 1
	ms async rdma gid idx = 0
	ms async rdma receive buffers = 1024
	ms async rdma receive queue len = 128
	ms async rdma send buffers = 64
	ms async op threads = 1
	osd pool default size = 1
	osd crush chooseleaf type = 0
	osd objectstore = memstore
	memstore device bytes = 67108864
	mon allow pool size one = true
	run dir = $work
	log file = $work/\$name.log
	admin socket = $work/\$name.asok
	mon data = $work/mon
	osd data = $work/osd
CONF

# client COMMAND...: runs the command as a client of the cluster. A client that sends its
# command before it has the monitor's map gets the answer "wrong fsid", which it reports as
# EPERM. Then the command is repeated.
client() {
	for _ in $(seq 20); do
		timeout "$limit" rocin run --netdev "lo:$addr_b" -- "$1" -c "$work/ceph.conf" "${@:2}" \
			>"$work/out" 2>&1 && echo "ok: $*" && return
		grep -q 'Error EPERM: problem getting command descriptions' "$work/out" || break
	done
	tail -n 20 "$work/out" "$work"/*.err
	fail "$*"
}

# daemon ADDRESS COMMAND...: starts a daemon in the background; sets $daemon to its process id
daemon() {
	rocin run --netdev "lo:$1" -- "${@:2}" -c "$work/ceph.conf" >"$work/$2.err" 2>&1 &
	daemon=$!
	pids+=("$daemon")
}

end_daemon() { # PID NAME
	kill -TERM "$1"
	wait "$1" || { tail -n 20 "$work/$2.err"; fail "$2"; }
}

monmaptool --create --addv a "[v1:$addr_a:$port]" --fsid "$fsid" "$work/monmap" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
ceph-mon -c "$work/ceph.conf" --mkfs -i a --monmap "$work/monmap" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
daemon "$addr_a" ceph-mon -f -i a
mon=$daemon
wait_for listening "$mon" || fail 'ceph-mon does not listen'
client ceph osd new "$uuid"
client ceph osd crush add osd.0 1.0 root=default host=h
daemon "$addr_osd" ceph-osd --mkfs -i 0 --osd-uuid "$uuid"
wait "$daemon" || fail "$(tail -20 "$work/ceph-osd.err")"
# An OSD may send its first command before it has got the monitor's map. It then gets "wrong fsid"
# and ends; a service manager would start it again, so this loop does.
has_begun() { grep -qs 'done with init' "$work/osd.0.log" || ! kill -0 "$osd" 2>/dev/null; }
for _ in 1 2 3 4 5 6; do
	daemon "$addr_osd" ceph-osd -f -i 0
	osd=$daemon
	wait_for has_begun || fail "ceph-osd does not begin: $(tail -5 "$work/osd.0.log")"
	! kill -0 "$osd" 2>/dev/null || break
	tail -1 "$work/osd.0.log" | grep -q 'crush_device_class' || fail "ceph-osd: $(tail -5 "$work/osd.0.log")"
done
client ceph osd pool create pool 4
head -c 3000000 /dev/urandom >"$work/data"
client rados -p pool put object "$work/data"
client rados -p pool get object "$work/back"
cmp "$work/data" "$work/back" || fail 'other bytes'
rocin stat --json >"$work/stat"
python3 - "$work/stat" <<-'P' || fail 'nothing came by RDMA'
	import json, sys
	def received(x):
	    if isinstance(x, dict):
	        return x.get("rdma_recvs", 0) + sum(map(received, x.values()))
	    return sum(map(received, x)) if isinstance(x, list) else 0
	sys.exit(received(json.load(open(sys.argv[1]))) < 20)
P
end_daemon "$osd" ceph-osd
end_daemon "$mon" ceph-mon
