#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma.sh - iproute2's rdma(8) tells of Rocin's devices, and of what other programs have.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

command -v rdma >/dev/null || skip 'no rdma(8)'

tell() { rocin run --netdev "lo:$addr_a" -- rdma "$@"; }

rocin run --netdev "lo:$addr_a" -- python3 -c '
import socket, sys
try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
except OSError: sys.exit(1)' || skip 'no netlink sockets for programs'

# ---- Devices, without a program and without rocind
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
	rocin run --netdev "lo:$address" -- ib_write_bw -x 0 -F -D 60 -q 2 -p "$port" $peer >"$work/$side" 2>&1 &
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
