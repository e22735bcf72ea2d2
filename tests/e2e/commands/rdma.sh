#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma.sh - rdma(8) of iproute2 shows Rocin's devices, and the objects of other programs.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

command -v rdma >/dev/null || skip 'no rdma(8)'

tell() { rocin run --netdev "lo:$addr_a" -- rdma "$@"; }

rocin run --netdev "lo:$addr_a" -- python3 -c '
import socket, sys
try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
except OSError: sys.exit(1)' || skip 'no netlink sockets for programs'

# ---- Devices, while no program and no rocind run
[ "$(tell link show)" = 'link rocin0/1 state ACTIVE physical_state LINK_UP netdev lo ' ] || fail "$(tell link show)"
tell dev show | grep -q '^0: rocin0: node_type ca fw [0-9.]* node_guid [0-9a-f:]* sys_image_guid' || fail "$(tell dev show)"
tell system show | grep -q 'netns shared copy-on-fork on' || fail "$(tell system show)"
tell -j resource show | python3 -c '
import json, sys
[dev] = json.load(sys.stdin)
assert dev.pop("ifname") == "rocin0" and dev.pop("ifindex") == 0
assert dev == dict.fromkeys(("pd", "cq", "qp", "cm_id", "mr", "ctx", "srq"), 0), dev' || fail 'something is there'
[ "$(rocin stat --daemon)" = 'rocind is not running' ] || fail 'rocind was started'
tell link add rxe0 type rxe netdev lo 2>/dev/null && fail 'a link was made'
tell dev set rocin0 name other 2>/dev/null && fail 'a device was renamed'
rocin run --netdev "lo:$addr_a,lo:$addr_b" -- rdma link show | grep -c '^link rocin[01]/1 state ACTIVE' | grep -qx 2 || fail 'two devices'
guid=$(rocin run --netdev "lo:$addr_a" -- ibv_devices | awk '$1 == "rocin0" { print $2 }')
tell -j dev show | python3 -c '
import json, sys
[dev] = json.load(sys.stdin)
assert dev["node_guid"].replace(":", "") == sys.argv[1], dev' "$guid" || fail "node GUID, and ibv_devices says $guid"
echo 'ok: devices'

# ---- Objects of other programs
for side in server client; do
	address=$addr_a peer=127.0.0.1
	[ $side = client ] || { address=$addr_b peer=; next_port; }
	# shellcheck disable=SC2086 # no word for the server
	rocin run --netdev "lo:$address" -- ib_write_bw -x 0 -F -D 3600 -q 2 -p "$port" $peer >"$work/$side" 2>&1 &
	pids+=($!)
	[ $side = client ] || wait_for listening $! || fail "$(cat "$work/server")"
done
busy() { [ "$(tell -j statistic show | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["sent_pkts"])')" -gt 100 ]; }
wait_for busy || fail "nothing is sent: $(rocin stat; cat "$work/client")"
for kind in qp cq mr pd ctx; do tell -j resource show $kind >"$work/$kind"; done
tell -j resource show >"$work/summary"
rocin stat --json --resources >"$work/stat"
python3 - "$work" <<'EOF' || fail "$(head -50 "$work/stat" "$work/qp")"
import json, sys

of = {name: json.load(open(f"{sys.argv[1]}/{name}")) for name in ("stat", "qp", "cq", "mr", "pd", "ctx", "summary")}
assert len(of["stat"]) == 2, of["stat"]

def same(kind, want, got):
    want, got = sorted(want), sorted(got)
    assert want == got, f"{kind}: rocin stat has {want}, rdma has {got}"

same("qp", [(q["qpn"], q["dest_qpn"], q["type"], q["state"], p["pid"]) for p in of["stat"] for q in p["qps"]],
     [(q["lqpn"], q["rqpn"], q["type"], q["state"], q["pid"]) for q in of["qp"]])
same("cq", [(c["cqn"], c["cqe"], c["users"], c["ctxn"], p["pid"]) for p in of["stat"] for c in p["cqs"]],
     [(c["cqn"], c["cqe"], c["users"], c["ctxn"], c["pid"]) for c in of["cq"]])
same("mr", [(m["mrn"], m["mrlen"], m["pdn"], int(m["rkey"], 16), p["pid"]) for p in of["stat"] for m in p["mrs"]],
     [(m["mrn"], m["mrlen"], m["pdn"], int(m["rkey"], 16), m["pid"]) for m in of["mr"]])
same("pd", [(d["pdn"], d["users"], d["ctxn"], p["pid"]) for p in of["stat"] for d in p["pds"]],
     [(d["pdn"], d["users"], d["ctxn"], d["pid"]) for d in of["pd"]])
same("ctx", [p["pid"] for p in of["stat"]], [c["pid"] for c in of["ctx"]])
assert all(q["comm"] == "ib_write_bw" and q["path-mig-state"] == "MIGRATED" for q in of["qp"]), of["qp"]
assert any(q["sq-psn"] for q in of["qp"]) and all(0 <= q["sq-psn"] < 1 << 24 for q in of["qp"]), of["qp"]
[summary] = of["summary"]
assert [summary[k] for k in ("pd", "cq", "qp", "mr", "ctx")] == [2, 2, 4, 2, 2], summary
EOF
lqpn=$(tell resource show qp | sed -n '1s/.*lqpn \([0-9]*\) .*/\1/p')
tell resource show qp lqpn "$lqpn" | grep -q "^link rocin0/1 lqpn $lqpn .* type RC state RT[RS] .* comm ib_write_bw" ||
	fail "one of them: $(tell resource show qp lqpn "$lqpn")"
[ "$(tell resource show qp lqpn "$lqpn" | wc -l)" = 1 ] || fail 'more than one'
tell statistic qp show link rocin0/1 >"$work/bound" || fail 'counters of queue pairs'
[ ! -s "$work/bound" ] || fail "a counter is bound: $(cat "$work/bound")"
echo 'ok: objects'

# ---- Counters in sysfs
class=/sys/class/infiniband/rocin0/ports/1
show() { rocin run --netdev "lo:$addr_a" -- cat "$class/$1"; }
same_as_stat() { # NAME FACTOR FILE: FILE has the value of rocin stat
	local before now after
	before=$(count "$1")
	now=$(($(show "$3") * $2))
	after=$(count "$1")
	[ "$before" -le $((now + $2 - 1)) ] && [ "$now" -le "$after" ] || fail "$3: $now, and $1 was $before and is $after"
}
count() { rocin stat --json | python3 -c '
import json, sys
print(sum(p["hw_counters"][sys.argv[1]] for p in json.load(sys.stdin)))' "$1"; }
same_as_stat sent_bytes 4 counters/port_xmit_data
same_as_stat rcvd_bytes 4 counters/port_rcv_data
same_as_stat sent_pkts 1 counters/port_xmit_packets
same_as_stat sent_pkts 1 counters/unicast_xmit_packets
same_as_stat rcvd_pkts 1 counters/port_rcv_packets
same_as_stat rx_write_requests 1 hw_counters/rx_write_requests
for name in out_of_sequence duplicate_request rnr_nak_retry_err packet_seq_err local_ack_timeout_err implied_nak_seq_err; do
	same_as_stat $name 1 hw_counters/$name
done
first=$(show counters/port_xmit_data)
grows() { [ "$(show counters/port_xmit_data)" -gt "$first" ]; }
wait_for grows || fail 'port_xmit_data does not grow'
# Scripts find files in many ways; these are tested.
rocin run --netdev "lo:$addr_a" -- sh -c "cat $class/counters/*" >"$work/all" || fail 'cat of all'
[ "$(wc -l <"$work/all")" = 21 ] || fail "$(cat "$work/all")"
grep -qvE '^[0-9]+$' "$work/all" && fail "$(cat "$work/all")"
rocin run --netdev "lo:$addr_a" -- python3 -c '
import glob, os, sys
values = {os.path.basename(f): int(open(f).read()) for f in glob.glob(sys.argv[1] + "/hw_counters/*")}
assert values["sent_pkts"] > 100 and values["rcvd_pkts"] > 100, values
os.chdir(sys.argv[1] + "/counters")
here = int(open("port_xmit_packets").read())
assert here >= values["sent_pkts"], (here, values["sent_pkts"])' "$class" || fail 'as scripts read them'
rocin run --netdev "lo:$addr_a" -- grep -r . "$class/counters/" | grep -q 'port_xmit_data:[1-9]' || fail 'grep -r'
end_now "${pids[@]}"
gone() { [ "$(rocin stat)" = 'no program has a queue pair on a Rocin device' ]; }
wait_for gone || fail "$(rocin stat)"
last=$(show counters/port_xmit_data)
[ "$last" -gt "$first" ] || fail "the counters of a port fell from $first to $last when its programs ended"
# Waits for the end of rocind without asking it, because each request would keep it running.
daemon=$(daemon_pid)
ended() { [ ! -e "/proc/$daemon" ]; }
wait_for ended || fail 'rocind does not end'
[ "$(show counters/port_xmit_data)" = "$last" ] || fail 'the end of rocind changes counters'
tell -j statistic show | python3 -c '
import json, sys
[link] = json.load(sys.stdin)
assert link["sent_bytes"] // 4 == int(sys.argv[1]), (link["sent_bytes"], sys.argv[1])' "$last" || fail 'rdma statistic has other counters'
echo 'ok: counters'

# ---- Ids of rdma_cm
rocin run --netdev "lo:$addr_b" -- rping -s -a "$addr_b" -p $((port + 1)) >"$work/rping-s" 2>&1 &
pids+=($!)
listens() { tell -j resource show cm_id | python3 -c '
import json, sys
[i] = json.load(sys.stdin)
assert (i["state"], i["ps"], i["src-addr"], i["comm"]) == ("LISTEN", "TCP", ":".join(sys.argv[1:]), "rping"), i
' "$addr_b" $((port + 1)) 2>"$work/listens"; }
wait_for listens || fail "$(cat "$work/listens"; tell resource show cm_id; cat "$work/rping-s")"
rocin run --netdev "lo:$addr_a" -- rping -c -a "$addr_b" -p $((port + 1)) -C 100000000 >"$work/rping-c" 2>&1 &
pids+=($!)
connected() { tell -j resource show cm_id >"$work/cm_id" && rocin stat --json >"$work/stat" && python3 - "$work" "$addr_a" "$addr_b" 2>"$work/connected" <<'EOF'
import json, sys
ids, stat = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("cm_id", "stat"))
a, b = sys.argv[2:]
ends = [i for i in ids if i["state"] == "CONNECT"]
assert len(ids) == 3 and len(ends) == 2, ids
qps = {(q["qpn"], p["pid"]) for p in stat if p["program"] == "rping" for q in p["qps"]}
assert {(i["lqpn"], i["pid"]) for i in ends} == qps and len(qps) == 2, (ends, qps)
assert {tuple(i[k].rsplit(":", 1)[0] for k in ("src-addr", "dst-addr")) for i in ends} == {(a, b), (b, a)}, ends
assert all(i["qp-type"] == "RC" and i["ps"] == "TCP" and i["comm"] == "rping" for i in ends), ends
EOF
}
wait_for connected || fail "$(cat "$work/connected" "$work/cm_id" "$work/rping-c")"
[ "$(tell -j resource show | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["cm_id"])')" = 3 ] || fail 'ids are not counted'
echo 'ok: ids of rdma_cm'
