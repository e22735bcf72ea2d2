#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rubbish.sh - malformed packets of every kind come from the network during a transfer: they are
# dropped and counted, and the transfer continues.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
export ROCIN_NEIGHBOURS=all # the malformed packets come from a socket of this host
next_port
rocin run --netdev "lo:$addr_a" -- ib_send_bw -x 0 -F -D 3600 -s 4096 -p "$port" \
	>"$work/server.out" 2>&1 &
server=$!
pids+=("$server")
wait_for listening "$server" || fail 'server does not listen'
rocin run --netdev "lo:$addr_b" -- ib_send_bw -x 0 -F -D 3600 -s 4096 -p "$port" 127.0.0.1 \
	>"$work/client.out" 2>&1 &
client=$!
pids+=("$client")
two() { [ "$(rocin stat --json | grep -c '"qpn"')" = 2 ]; }
wait_for two || fail 'no queue pairs'

rocin stat --json >"$work/stat.json"
python3 - "$addr_a" "$addr_b" "$work/stat.json" <<'PY'
import json, random, socket, struct, sys
random.seed(1)
addresses = sys.argv[1:3]
qpns = [qp["qpn"] for c in json.load(open(sys.argv[3])) for qp in c["qps"]]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20000):
    qpn = random.choice(qpns + [0, 1, 2, 255, 0xffffff, random.getrandbits(24)])
    bth = struct.pack(">BBHII", random.getrandbits(8), random.getrandbits(8) & 0xf0 if i % 4 else 15,
                      0xffff if i % 3 else random.getrandbits(16), qpn, random.getrandbits(32))
    packet = bth + random.randbytes(random.choice([0, 1, 3, 4, 5, 16, 20, 32, 1028, 5000]))
    packet = packet[:random.choice([0, 1, 4, 11, 12, 15, 16, 9000])]
    s.sendto(packet, (random.choice(addresses), 4791))
PY
# counted NAME: prints the sum of this counter over both programs
counted() { rocin stat --all --counters | awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }'; }
dropped() { rocin stat --daemon --all | awk '/dropped_/ { n += $2 } END { print n + 0 }'; }
wrong() { [ "$(counted rx_icrc_encapsulated)" -gt 100 ]; }
for_nobody() { [ "$(dropped)" -gt 100 ]; }
more() { [ "$(counted sent_pkts)" -gt $((before + 1000)) ]; }
wait_for wrong || fail "wrong ICRCs: $(counted rx_icrc_encapsulated)"
wait_for for_nobody || fail "rocind dropped $(dropped)"
before=$(counted sent_pkts)
wait_for more || fail "no data moves any more: $(tail -n 5 "$work/server.out" "$work/client.out")"
for pid in "$client" "$server"; do
	kill -0 "$pid" || fail "it has ended: $(tail -n 5 "$work/server.out" "$work/client.out")"
done
echo "ok: $(counted rx_icrc_encapsulated) wrong ICRCs, $(dropped) for nobody; the transfer goes on"
