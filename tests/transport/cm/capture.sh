#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture.sh - every message of the connection manager as tshark and scapy read it.
#
# usage: capture.sh WRITE-EXCHANGE
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work/cm.pcap" >/dev/null || { echo 'FAILED: nothing was written'; exit 1; }
"$here/../../e2e/kit/judge-capture.sh" "$work/cm.pcap"
tshark -r "$work/cm.pcap" -T pdml >"$work/cm.pdml" 2>/dev/null
/usr/bin/python3 - "$work/cm.pdml" <<'PY'
import sys
import xml.etree.ElementTree as tree

# Of each packet what tshark shows of a field, less the words before it.
packets = []
for packet in tree.parse(sys.argv[1]).getroot():
    shown = {}
    for field in packet.iter("field"):
        text = field.get("showname") or ""
        shown[field.get("name").removeprefix("infiniband.")] = text.rsplit(": ", 1)[-1]
    packets.append(shown)


def expect(what, got, want):
    if got != want:
        sys.exit(f"FAILED: {what}\nwanted: {want}\ngot:    {got}")


def fields(number, prefix, want):
    for name, value in want.items():
        expect(f"packet {number}, {name}", packets[number].get(prefix + name), value)


# Number of each message, in the order in which they were sent.
REQ, MRA, REP, RTU, LAP, APR, DREQ, DREP, REFUSED, REJ, SIDR_REQ, SIDR_REP, GET, ANSWER = range(1, 15)
expect("attributes", [p["mad.attributeid"] for p in packets],
       ["0x0010", "0x0010", "0x0011", "0x0013", "0x0014", "0x0019", "0x001a", "0x0015",
        "0x0016", "0x0010", "0x0012", "0x0017", "0x0018", "0x0001", "0x0001"])
for n in range(len(packets)):
    fields(n, "", {
        "bth.opcode": "Unreliable Datagram (UD) - SEND only (100)",
        "bth.destqp": "0x000001", "bth.p_key": "65535", "bth.padcnt": "0",
        "deth.q_key": "0x0000000080010000", "deth.srcqp": "0x00000001",
        "mad.baseversion": "0x01", "mad.mgmtclass": "0x07", "mad.classversion": "0x02",
        "mad.method": "Get() (0x01)" if n == GET else
                      "GetResp() (0x81)" if n == ANSWER else "Send() (0x03)",
        "mad.status": "0x0000"})

# All that is not 0, and what is beside it in the same byte; but for the flow label and the
# rate of a path, which tshark takes for wider than they are.
fields(REQ, "cm.req.", {
    "serviceid.prefix": "0000000001", "serviceid.protocol": "0x06",
    "serviceid.dport": "0x1c06", "localcaguid": "0x0200000000000001",
    "localqpn": "0x000011", "responderres": "0x04", "initdepth": "0x02",
    "remoteresptout": "0x14", "transpsvctype": "0x0", "e2eflowctrl": "0x0",
    "startpsn": "0x000111", "localresptout": "0x14", "retrcount": "0x7", "pkey": "0xffff",
    "pppmtu": "0x3", "rdcexist": "0x0", "rnrretrcount": "0x6", "maxcmretr": "0xf",
    "srq": "0x0", "ext_transport": "0x0", "prim_locallid": "65535",
    "prim_remotelid": "65535", "prim_localgid_ipv4": "10.77.0.1",
    "prim_remotegid_ipv4": "10.77.0.2", "prim_tfcclass": "0x00", "prim_hoplim": "0x40",
    "prim_sl": "0x0", "prim_subnetlocal": "0x0", "prim_localacktout": "0x13",
    "alt_locallid": "0", "alt_localacktout": "0x00", "ip_cm.majv": "0x0",
    "ip_cm.ipv": "0x4", "ip_cm.sport": "0xc350", "ip_cm.sip4": "10.77.0.1",
    "ip_cm.dip4": "10.77.0.2"})
expect("private data of the REQ", packets[REQ]["cm.req.ip_cm.private"][:16],
       b"abcdefgh".hex())
ours, theirs = packets[RTU]["cm.rtu.localcommid"], packets[RTU]["cm.rtu.remotecommid"]
fields(REQ, "cm.", {"req": ours})
fields(REP, "cm.rep", {
    "": theirs, ".remotecommid": ours, ".localqpn": "0x000022", ".startpsn": "0x000122",
    ".respres": "0x04", ".initdepth": "0x02", ".tgtackdelay": "0x0f",
    ".failoveracc": "0x0", ".e2eflowctrl": "0x0", ".rnrretrcount": "0x6", ".srq": "0x0",
    ".localcaguid": "0x0200000000000002"})
expect("private data of the REP", packets[REP]["cm.rep.private"][:46],
       b"private data of the REP".hex())
fields(DREQ, "cm.", {"dreq.localcommid": theirs, "dreq.remotecommid": ours,
                     "req.remoteqpneecn": "0x000011"})
fields(DREP, "cm.drsp.", {"localcommid": ours, "remotecommid": theirs})
fields(REJ, "cm.rej.", {"localcommid": "0x00000000",
                        "remotecommid": packets[REFUSED]["cm.req"], "msgrej": "0x0",
                        "rejinfolen": "0x00", "reason": "0x001c"})
expect("private data of the REJ", packets[REJ]["cm.rej.private"][:6], b"no\0".hex())
expect("transactions", len({packets[n]["mad.transactionid"] for n in range(RTU + 1)}), 1)
print("ok: all fields are where tshark looks for them")
PY
