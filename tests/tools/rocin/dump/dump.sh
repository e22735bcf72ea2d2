#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# dump.sh - `rocin dump` reads what Linux rxe sent. What was sent stands in
# tests/captures/README.md: sizes, keys and codes are those that its programs posted.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
captures=$ROCIN_SOURCE/tests/captures
to_b='10.77.0.1 > 10.77.0.2 '
to_a='10.77.0.2 > 10.77.0.1 '

# begins NAME LINE...: the first packets of a capture, without their times
begins() {
	local name=$1
	shift
	is "$name" "$(rocin dump --count $# "$captures/$name.pcap" | cut -c15-)" \
		"$(printf '%s\n' "$@")"
}

begins rxe-rc-send-small \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118464 len 0 ackreq" \
	"$to_a RC_ACK                 qp 0x000011 psn 1118464 ACK msn 1" \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118465 len 1 ackreq" \
	"$to_a RC_ACK                 qp 0x000011 psn 1118465 ACK msn 2" \
	"$to_b RC_SEND_ONLY           qp 0x000011 psn 1118466 len 2 ackreq"
begins rxe-rc-write-imm \
	"$to_b RC_WRITE_ONLY_IMM      qp 0x000016 psn 1118464 va 0x5582c1f39000 rkey 0x7e2 dmalen 0 imm 0xa1b2c3d4 len 0 ackreq"
begins rxe-rc-atomic \
	"$to_b RC_CMP_SWAP            qp 0x000019 psn 1118464 va 0x555a9cd71040 rkey 0xae8 swap/add 1234605616436508552 compare 100 ackreq" \
	"$to_a RC_ATOMIC_ACK          qp 0x000019 psn 1118464 ACK msn 1 original 100"
begins rxe-rc-rem-access-write \
	"$to_b RC_WRITE_FIRST         qp 0x000025 psn 1118464 va 0x555daf01e000 rkey 0x5a5a1610 dmalen 3000 len 1024" \
	"$to_a RC_ACK                 qp 0x000025 psn 1118464 NAK remote access error msn 0"
begins rxe-rc-rnr-fail \
	"$to_b RC_SEND_ONLY           qp 0x00001b psn 1118464 len 64 ackreq" \
	"$to_a RC_ACK                 qp 0x00001b psn 1118464 RNR NAK 0.64 ms msn 0"
begins rxe-rc-read-req-lost \
	"$to_b RC_READ_REQUEST        qp 0x000022 psn 1118464 va 0x56147de31000 rkey 0x13f5 dmalen 64 ackreq" \
	"$to_b RC_READ_REQUEST        qp 0x000022 psn 1118464 va 0x56147de31000 rkey 0x13f5 dmalen 64 ackreq [again: after a timeout, 72.4 ms]" \
	"$to_a RC_READ_RESPONSE_ONLY  qp 0x000022 psn 1118464 ACK msn 1 len 64"
begins rxe-ud-send \
	"$to_b UD_SEND_ONLY           qp 0x000033 psn 1118464 qkey 0x11223344 src-qp 0x33 len 0" \
	"$to_b UD_SEND_ONLY           qp 0x000033 psn 1118465 qkey 0x11223344 src-qp 0x33 len 1"
begins rxe-ipv6-rc \
	'fd77::1 > fd77::2  RC_SEND_ONLY           qp 0x000035 psn 1118464 len 1024 ackreq' \
	'fd77::2 > fd77::1  RC_ACK                 qp 0x000035 psn 1118464 ACK msn 1'

# The number of packets in each, and no packet that is marked.
while read -r name packets; do
	rocin dump "$captures/$name.pcap" >"$work/all"
	is "$name has $packets packets" "$(wc -l <"$work/all")" "$packets"
	is "$name has no wrong ICRC" "$(grep 'ICRC' "$work/all")" ''
	is "$name breaks no rule" "$(status rocin dump --check "$captures/$name.pcap")" 0
	is "$name, summed up" "$(cat "$work/out")" "$packets packets, 0 violations, 0 suspicions"
done <<'LIST'
rxe-rc-send-small 14
rxe-rc-write-imm 8
rxe-rc-atomic 8
rxe-rc-rem-access-write 2
rxe-rc-rnr-fail 6
rxe-rc-read-req-lost 3
rxe-ud-send 6
rxe-ipv6-rc 14
LIST

is 'times start at 0' "$(rocin dump -c 1 "$captures/rxe-ud-send.pcap" | cut -c1-12)" \
	'    0.000000'
is 'a resend waits for the timeout of 67 ms' \
	"$(rocin dump "$captures/rxe-rc-read-req-lost.pcap" | sed -n 2p | cut -c1-9)" \
	'    0.072'
is 'standard input will do' \
	"$(rocin dump - <"$captures/rxe-rc-atomic.pcap" | wc -l)" 8

# A byte of a payload turned over: that packet is marked, no other.
cp "$captures/rxe-rc-rnr-fail.pcap" "$work/bad.pcap"
printf '\377' | dd of="$work/bad.pcap" bs=1 seek=130 conv=notrunc 2>/dev/null
is 'a damaged packet is marked' \
	"$(rocin dump "$work/bad.pcap" | grep -c 'wrong ICRC')" 1
is 'a violation is an exit status' "$(status rocin dump --check "$work/bad.pcap")" 2
is 'a violation is told' "$(grep -c '! violation: icrc (A1; IBTA 7.8.1, A17)' "$work/out")" 1

# The same packet as other devices might send it: an ICRC that is right stays right, and
# what cannot be read is counted.
python3 - "$work/others.pcap" "$work/credits.pcap" <<'PY'
import struct, sys, zlib

def roce(ip, masked, opcode='04', rest=b'four'):
    """A packet behind the IP header, its ICRC over the masked one."""
    udp = struct.pack('>HHHH', 0xc001, 4791, 28, 0x1234)
    bth = bytes.fromhex(opcode + '00ffff0000001180000064') + rest
    crc = zlib.crc32(b'\xff' * 8 + masked + udp[:6] + b'\xff\xff' + bth[:4] + b'\xff' + bth[5:])
    return ip + udp + bth + struct.pack('<I', crc)

def v4(flags, options=b'', ident=7):
    ip = struct.pack('>BBHHHBBH8s', 0x45 + len(options) // 4, 0x6a, 48 + len(options), ident, flags, 9, 17,
                     0xbeef, bytes([10, 0, 0, 1, 10, 0, 0, 2])) + options
    return ip, ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:]

def v6(next_header, between=b''):
    ip = struct.pack('>IHBB', 0x6ab12345, 28 + len(between), next_header, 9) + bytes(range(32)) + between
    return ip, b'\x6f\xff\xff\xff' + ip[4:7] + b'\xff' + ip[8:]

nop = b'\x01' * 4
packets = [roce(*v4(0x4000)), roce(*v4(0)), roce(*v4(0x8000, ident=0)), roce(*v6(17)),
           roce(*v4(0x4000, nop)), roce(v4(0x4000, nop * 10)[0], v4(0x4000, nop * 10)[1][:20]),
           roce(v4(0, nop)[0], b''), roce(v4(0)[0], b''),
           roce(*v4(5)), roce(*v6(0, b'\x11\0\1\4\0\0\0\0')), roce(*v6(60, b'\x2c' + bytes(7) + b'\x11' + bytes(7))),
           roce(*v6(44, b'\x11\0\0\x08\0\0\0\0')),
           # What `rocin doctor --peer` and devices send to hear by ICMP that nobody has the port.
           v4(0)[0][:2] + b'\0\x1c' + v4(0)[0][4:] + bytes.fromhex('c00112b700080000')]

def write(name, packets):
    with open(name, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for i, p in enumerate(packets):
            f.write(struct.pack('<IIII', 1, i, len(p), len(p)) + p)

def back(ip):
    return ip[:12] + ip[16:20] + ip[12:16]

# A SEND and ACKs with codes for 6, 3 and no credits.
write(sys.argv[2], [roce(*v4(0x4000))] +
      [roce(*map(back, v4(0x4000)), '11', bytes([code, 0, 0, 1])) for code in (5, 3, 31)])
write(sys.argv[1], packets)
PY
rocin dump "$work/others.pcap" >"$work/out" 2>"$work/err"
is 'packets of other devices are read' "$(grep -c 'RC_SEND_ONLY' "$work/out")" 8
is 'an ICRC without DF, with options, with reserved flags, is right' \
	"$(grep RC_SEND "$work/out" | grep -n ICRC | sed 's/:.*\[/ [/')" "$(printf '%s\n' \
		'7 [ICRC not judged: IPv4 options]' '8 [wrong ICRC]')"
is 'credits over time' "$(rocin dump --json --stats "$work/credits.pcap" |
	python3 -c 'import json, sys; print([b["credits"] for h in json.load(sys.stdin)["halves"] for b in h["over_time"]])')" '[None, 6, 3, None]'
rocin dump --html "$work/credits.html" "$work/credits.pcap"
is 'credits have a plot' "$(grep -c 'credits in the ACKs' "$work/credits.html")" 1
rocin dump --html "$work/credits.html" "$captures/rxe-rc-read.pcap"
is 'where there are any' "$(grep -c 'credits in the ACKs' "$work/credits.html")" 0
is 'IPv4 options are told' "$(rocin dump --check "$work/others.pcap" 2>/dev/null | grep -c '! violation: ip-options')" 3
is 'what was passed over is counted' "$(cat "$work/err")" "$(printf "rocin: $work/others.pcap: passed over %s\n" \
	'2 packets that are later fragments of UDP packets: only the first has the headers' \
	'2 packets with IPv6 extension headers, which RoCEv2 does not have' \
	'1 packet without payload, which ask whether anybody has the port')"

# RoCE v1, and InfiniBand as tcpdump, DAG cards and ibdump write it. The WRITE is the example of the
# specification, with its ICRC; an ERF record may have extension headers, or an Ethernet frame in it.
python3 - "$work" <<'PY'
import struct, sys, zlib

def write(name, link, packets):
    with open(sys.argv[1] + "/" + name, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, link))
        for i, p in enumerate(packets):
            f.write(struct.pack("<IIII", 1, i, len(p), len(p)) + p)

spec = bytes.fromhex("7012375c000e17d2 0a20248700 87b1b3 000dec2a 01710a1c015d4002 38f27a05 0000000e"
                     "bb884d85fd5cfba4728bc0690ed4 0000 9625b75a")
vcrc = b"\x12\x34"

def erf(kind, body, more=0):
    head = struct.pack("<Q", 1 << 32) + bytes([kind | (128 if more else 0), 4]) + struct.pack(">HHH", 16 + 8 * more + len(body), 0, len(body))
    return head + b"".join(bytes([128 if i + 1 < more else 0]) + bytes(7) for i in range(more)) + body

def v1(psn, flip=0):
    bth = bytes([4, 0, 0xff, 0xff, 0, 0, 0, 0x11]) + struct.pack(">I", 1 << 31 | psn)
    rest = bth + b"hello v1"
    grh = b"\x60\0\0\0" + struct.pack(">HBB", len(rest) + 4, 27, 64) + bytes.fromhex("fe80" + "00" * 13 + "01" "fe80" + "00" * 13 + "02")
    seen = bytearray(b"\xff" * 8 + grh + rest)
    seen[8] |= 15
    seen[9:12] = b"\xff" * 3
    seen[15] = seen[8 + 40 + 4] = 0xff
    return grh + rest + struct.pack("<I", zlib.crc32(seen) ^ flip)

eth = bytes(12) + b"\x89\x15"
tagged = bytes(12) + b"\x81\0\0\5\x89\x15"
write("v1.pcap", 1, [eth + v1(7), tagged + v1(8), eth + v1(9, 1), eth + v1(10)[:50]])
write("ib.pcap", 247, [spec + vcrc, spec, spec[:40], b"\x70\x10" + spec[2:], spec[:7]])
write("erf.pcap", 197, [erf(21, spec + vcrc), erf(21, spec, 2), erf(2, b"\0\0" + eth + v1(7)), erf(21, spec, 9)[:40], erf(1, spec), b"\0" * 9])
PY
is 'RoCE v1, with a tag, with a wrong ICRC, cut off' "$(rocin dump "$work/v1.pcap" | grep -v violation | sed 's/^ *[0-9.]* *//')" \
	"$(printf 'fe80::1 > fe80::2  %s\n' 'RC_SEND_ONLY           qp 0x000011 psn 7 len 8 ackreq [RoCE v1]' \
		'RC_SEND_ONLY           qp 0x000011 psn 8 len 8 ackreq [RoCE v1]' \
		'RC_SEND_ONLY           qp 0x000011 psn 9 len 8 ackreq [RoCE v1] [wrong ICRC]' \
		'malformed BTH, 10 bytes [RoCE v1] [cut off by the capture]')"
write='lid 6098 > lid 14172  RC_WRITE_ONLY          qp 0x87b1b3 psn 912426 va 0x1710a1c015d4002 rkey 0x38f27a05 dmalen 14 len 14 [InfiniBand, vl 7 sl 1]'
is 'InfiniBand' "$(rocin dump "$work/ib.pcap" | sed 's/^ *[0-9.]* *//; s/ \[nothing new\]//; s/ \[again[^]]*\]//')" \
	"$(printf '%s\n' "$write" "$write" "$write [cut off by the capture]")"
is 'InfiniBand in ERF records' "$(rocin dump "$work/erf.pcap" | grep -oE '(lid|fe80).* RC_[A-Z_]*')" \
	"$(printf '%s\n' 'lid 6098 > lid 14172  RC_WRITE_ONLY' 'lid 6098 > lid 14172  RC_WRITE_ONLY' 'fe80::1 > fe80::2  RC_SEND_ONLY')"
is 'the format in JSON' "$(for f in v1 ib; do rocin dump --json "$work/$f.pcap" | head -1; done |
	python3 -c 'import json, sys; print([(p["format"], p["src"], p["icrc"]) for p in map(json.loads, sys.stdin)])')" \
	"[('RoCE v1', 'fe80::1', True), ('InfiniBand', 'lid 6098', True)]"

is 'what is sent again, and why' \
	"$(rocin dump "$captures/rxe-rc-rnr-fail.pcap" | grep -c 'again: after an RNR NAK')" 2
is 'one queue pair only' \
	"$(rocin dump --qp 0x38 "$captures/rxe-cm-rping.pcap" | grep -c ' RC_')" 36
is 'a queue pair that is not there' \
	"$(rocin dump --qp 0x39 "$captures/rxe-cm-rping.pcap" 2>&1)" \
	"rocin: $captures/rxe-cm-rping.pcap holds no packet of this queue pair; rocin dump --stats lists those that it has"
is 'messages of the connection manager' \
	"$(rocin dump -c 1 "$captures/rxe-cm-reject.pcap" | grep -c 'CM REQ id .* service 0x106.* RC starting qp ')" 1
is 'a refusal' \
	"$(rocin dump "$captures/rxe-cm-reject.pcap" | grep -c 'CM REJ .* reason 8, nobody listens')" 1

# A diagram, a picture, a page, the counts.
is 'a ladder' "$(rocin dump --ladder -c 4 "$captures/rxe-rc-rnr-fail.pcap" | sed 2,3d)" \
	"$(printf '%s\n' \
	'              10.77.0.1                                                    10.77.0.2 qp 0x1b' \
	'              |   : 10.4 ms' \
	'    0.010618  |==== SEND_ONLY psn 1118464 len 64 ackreq ==================================>|' \
	'              |   again: after an RNR NAK, 10.6 ms' \
	'    0.010965  |<~~~ RNR NAK 0.64 ms msn 0, psn 1118464 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|')"
# In a terminal of 80 columns no line is longer, and no word is lost.
python3 - "$captures/rxe-rc-send-multi.pcap" "$work/gap.pcap" >"$work/narrow" <<'PY'
import fcntl, os, pty, re, struct, sys, termios

# Without the second packet of the first long message.
data = open(sys.argv[1], 'rb').read()
at, packets = 24, []
while at < len(data):
    end = at + 16 + struct.unpack_from('<I', data, at + 8)[0]
    packets.append(data[at:end])
    at = end
packets.remove(next(p for p in packets if p[16 + 14 + 28] == 1)) # SEND_MIDDLE
open(sys.argv[2], 'wb').write(data[:24] + b''.join(packets))
for name in sys.argv[1:]:
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 25, 80, 0, 0))
        os.execvp('rocin', ['rocin', 'dump', '--ladder', name])
    got = b''
    try:
        while chunk := os.read(fd, 65536):
            got += chunk
    except OSError:
        pass
    os.waitpid(pid, 0)
    print(re.sub('\033[^m]*m', '', got.decode()).replace('\r', ''), end='')
PY
is 'a ladder is as wide as its terminal' "$(awk '{ if (length > most) most = length } END { print most }' "$work/narrow")" 80
is 'a rule is told in two lines' "$(grep -A1 '? suspicion: gap' "$work/narrow" | sed 's/before [0-9]*/before N/')" "$(printf '%s\n' \
	'              |   ? suspicion: gap (B5; IBTA 9.7.1): PSNs go up by one a' \
	'              |     packet: 1 missing before N')"
rocin dump --html "$work/page.html" --svg "$work/ladder.svg" "$captures/rxe-rc-rnr-fail.pcap" >"$work/out"
is 'files are written in silence' "$(cat "$work/out")" ''
is 'the picture has an arrow for each packet' "$(grep -c "class='arrow" "$work/ladder.svg")" 6
is 'the picture is XML' "$(python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/ladder.svg" 2>&1)" ''
is 'the page has diagram and plot' "$(grep -c '<svg ' "$work/page.html")" 2
is 'the page counts' "$(grep -c '<b>6</b>packets' "$work/page.html")" 1
rocin dump --stats "$captures/rxe-rc-send-multi.pcap" >"$work/out"
is 'bytes' "$(grep -c 'sent         4 messages, 10 packets, 9098 bytes' "$work/out")" 1
is 'ACKs' "$(grep -c 'answered by  4 ACKs, 0 responses with data; NAKs: 0 sequence, 0 RNR, 0 fatal' "$work/out")" 1
is 'JSON of packets' "$(rocin dump --json "$captures/rxe-rc-rnr-fail.pcap" |
	python3 -c 'import json, sys; print([json.loads(l).get("again") for l in sys.stdin])')" \
	"[None, None, 'after an RNR NAK', None, 'after an RNR NAK', None]"
is 'JSON of counts' "$(rocin dump --json --stats "$captures/rxe-rc-read.pcap" |
	python3 -c 'import json, sys; h = json.load(sys.stdin)["halves"][0]; print(h["done_bytes"], h["pmtu"], sum(b["bytes"] for b in h["over_time"]))')" \
	'8138 1024 8138'
is 'a page that cannot be' "$(status rocin dump --html "$work/none/page" "$captures/rxe-ud-send.pcap")" 1
is 'two forms at once' "$(status rocin dump --ladder --stats a)" 64

# Each rule has its place in the manual page.
while read -r rule level test _; do
	is "$rule is in rocin-dump(1)" \
		"$(grep -c "^\.It Cm $rule Pq ${test//,/, }" "$ROCIN_SOURCE/tools/man/rocin-dump.1")" 1
	is "$rule, its level" \
		"$(grep "^\.It Cm $rule Pq" "$ROCIN_SOURCE/tools/man/rocin-dump.1" | grep -c suspicion)" \
		"$([ "$level" = suspicion ]; echo $((1 - $?)))"
done < <(rocin dump --rules)

# What both ends captured: requests 1 and 2 left, 1 and 2 arrived, 2 came once more.
python3 - "$captures/rxe-rc-atomic.pcap" "$work/both.pcap" <<'PY'
import struct
import sys
data = open(sys.argv[1], "rb").read()
order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
at, packets = 24, []
while at < len(data) and len(packets) < 2:
    length, = struct.unpack_from(order + "I", data, at + 8)
    packets.append(data[at + 16 + 14:at + 16 + length])
    at += 16 + length
out = data[:20] + struct.pack(order + "I", 113)
for time, (way, packet) in enumerate([(4, 0), (4, 1), (0, 0), (0, 1), (0, 1)]):
    body = struct.pack("!HHH8xH", way, 0xFFFE, 0, 0x800) + packets[packet]
    out += struct.pack(order + "IIII", 0, time, len(body), len(body)) + body
open(sys.argv[2], "wb").write(out)
PY
is 'what both ends captured is there once' "$(rocin dump "$work/both.pcap" | grep -c ' RC_')" 3
is 'or as often as it was captured' "$(rocin dump --copies "$work/both.pcap" | grep -c ' RC_')" 5
# The same of what is passed over: a later fragment that left and arrived, and one that only arrived.
python3 - "$captures/rxe-rc-atomic.pcap" "$work/pieces.pcap" <<'PY'
import struct
import sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack_from("<I", data, 32)
packet = data[40 + 14:40 + length]
out = data[:20] + struct.pack("<I", 113)
for time, (way, ip) in enumerate([(4, packet), (4, None), (0, None), (0, packet), (0, b"else")]):
    if ip != packet:
        ip = packet[:6] + b"\0\x05" + packet[8:] + (ip or b"")
    body = struct.pack("!HHH8xH", way, 0xFFFE, 0, 0x800) + ip
    out += struct.pack("<IIII", 0, time, len(body), len(body)) + body
open(sys.argv[2], "wb").write(out)
PY
rocin dump "$work/pieces.pcap" >"$work/out" 2>"$work/err"
is 'what was passed over at both ends is counted once' "$(grep -c ' RC_' "$work/out")/$(cut -d' ' -f3-6 "$work/err")" \
	'1/passed over 2 packets'
rocin dump --copies "$work/pieces.pcap" >"$work/out" 2>"$work/err"
is 'or as often as it was captured, too' "$(grep -c ' RC_' "$work/out")/$(cut -d' ' -f3-6 "$work/err")" \
	'2/passed over 3 packets'

# The same packet behind the headers of each kind of link.
python3 - "$captures/rxe-rc-atomic.pcap" "$work" <<'PY'
import struct
import sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack_from("<I", data, 32)
ip = data[40 + 14:40 + length]
macs = bytes(12)
for name, link, head in [
        ("raw", 101, b""), ("ipv4", 228, b""), ("null", 0, b"\2\0\0\0"), ("loop", 108, b"\0\0\0\2"),
        ("sll", 113, struct.pack("!HHH8xH", 1, 1, 6, 0x800)), ("sll2", 276, struct.pack("!HHIHBB8x", 0x800, 0, 1, 1, 1, 6)),
        ("vlan", 1, macs + b"\x81\0\0\5\x08\0"), ("two-vlans", 1, macs + b"\x88\xa8\0\5\x81\0\0\6\x08\0")]:
    with open(f"{sys.argv[2]}/link-{name}.pcap", "wb") as f:
        f.write(data[:20] + struct.pack("<I", link) + struct.pack("<IIII", 0, 0, len(head + ip), len(head + ip)) + head + ip)
PY
for link in raw ipv4 null loop sll sll2 vlan two-vlans; do
	is "a packet behind a header of link type $link" \
		"$(rocin dump "$work/link-$link.pcap" 2>&1 | grep -c ' RC_CMP_SWAP .* psn 1118464 ')" 1
done

# pcapng, in both byte orders, with clocks of several kinds: what was written beside packets.
cat >"$work/pcapng.py" <<'PY'
import struct, sys

name, order, out = sys.argv[1:4]
data = open(name, 'rb').read()
at, packets = 24, []
while at < len(data):
    length, = struct.unpack_from('<I', data, at + 8)
    packets.append(data[at + 16:at + 16 + length])
    at += 16 + length

def option(code, value):
    return struct.pack(order + 'HH', code, len(value)) + value + bytes(-len(value) % 4)

def block(kind, body, *options):
    body += b''.join(options) + (option(0, b'') if options else b'')
    size = struct.pack(order + 'I', 12 + len(body))
    return struct.pack(order + 'I', kind) + size + body + size

def section():
    return block(0x0a0d0d0a, struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1), option(4, b'test'))

def interface(link, *options):
    return block(1, struct.pack(order + 'HHI', link, 0, 0), *options)

def padded(packet):
    return packet + bytes(-len(packet) % 4)

def packet(number, units, data, *options):
    return block(6, struct.pack(order + 'IIIII', number, units >> 32, units & 0xffffffff, len(data), len(data)) +
                 padded(data), *options)

def flags(way):
    return option(2, struct.pack(order + 'I', way))

def queue(qpn):
    return option(6, struct.pack(order + 'I', qpn))

SECOND = 1_700_000_000
blocks = [
    section(), block(0x0bad, b'what nobody knows...'),
    interface(1, option(2, b'rocin0'), option(3, b'ours, process 7, on lo, slot 1'), option(9, b'\x09')),
    interface(101, option(2, b'eth1'), option(9, b'\x94'), option(14, struct.pack(order + 'q', SECOND))),
    interface(1, option(2, b'rocin0'), option(3, b'theirs, process 8, on lo, slot 2')),
    packet(0, SECOND * 10**9 + 1000, packets[0], flags(2), queue(0x1c), option(1, b'first'), option(1, 'zw\xf6lf\x1b[2J \u2713'.encode())),
    packet(1, 1 << 19, packets[1][14:]), # half a second, raw IP
    block(2, struct.pack(order + 'HHIIII', 2, 0, (SECOND * 10**6 + 750000) >> 32, (SECOND * 10**6 + 750000) & 0xffffffff,
                         len(packets[2]), len(packets[2])) + padded(packets[2]), flags(1)),
    packet(2, SECOND * 10**6 + 800000, packets[3], flags(2), queue(0x1b), option(1, b'not \xff\xc0\x80 text')),
    block(5, struct.pack(order + 'III', 2, 0, 0)),
    section(), interface(1), block(3, struct.pack(order + 'I', len(packets[4])) + padded(packets[4])),
]
open(out, 'wb').write(b''.join(blocks))
# What no block may be: lengths that differ, an interface that is not there, a packet longer than its block.
good = blocks[:5]
for i, bad in enumerate([blocks[5][:-4] + b'\0\0\0\x10', packet(3, 0, packets[0]),
                         block(6, struct.pack(order + 'IIIII', 0, 0, 0, 0xfffffff0, 64) + bytes(64)),
                         blocks[5][:4] + b'\xff\xff\xff\xff', blocks[5][:40]]):
    open(f'{out}.{i}', 'wb').write(b''.join(good + [blocks[5], bad]))
PY
for order in '<' '>'; do
	python3 "$work/pcapng.py" "$captures/rxe-rc-rnr-fail.pcap" "$order" "$work/said.pcapng"
	rocin dump "$work/said.pcapng" >"$work/out" 2>"$work/err"
	is 'a pcapng file is read in silence' "$(cat "$work/err")" ''
	is 'comments' "$(grep '# ' "$work/out" | sed 's/^ *//')" "$(printf '%s\n' \
		'# queue pair 0x1c of 10.77.0.1: rocin0, ours, process 7, on lo, slot 1' \
		'# first; zwölf?[2J ✓' '# queue pair 0x1b of 10.77.0.2: rocin0, theirs, process 8, on lo, slot 2' \
		'# not ??? text')"
	is 'clocks of nanoseconds, of parts of 2^-20, of microseconds' \
		"$(grep ' > ' "$work/out" | cut -c1-12 | xargs)" '0.000000 0.499999 0.749999 0.799999 0.799999'
	is 'packets of blocks of all kinds' "$(grep -c ' > ' "$work/out")" 5
	is 'comments as JSON' "$(rocin dump --json "$work/said.pcapng" | python3 -c '
import json, sys
for line in map(json.loads, sys.stdin):
    print(*(line.get(k) for k in ("comment", "interface", "owner", "local_qp")), sep="|")' | sed -n '1p;2p;4p')" \
		"$(printf '%s\n' 'first; zwölf?[2J ✓|rocin0|ours, process 7, on lo, slot 1|28' 'None|eth1|None|None' \
			'not ??? text|rocin0|theirs, process 8, on lo, slot 2|27')"
	is 'comments in a ladder' "$(rocin dump --ladder "$work/said.pcapng" | grep -c '^ *|   # ')" 4
	rocin dump --html "$work/said.html" --svg "$work/said.svg" "$work/said.pcapng"
	is 'a comment is a tooltip' "$(grep -c '<g><title>first; zw??lf?\[2J ???</title>' "$work/said.svg")" 1
	is 'and beside the arrow' "$(grep -c "class='said'.*>first; zw??lf?\[2J ???</text>" "$work/said.svg")" 1
	is 'the page says whose queue pairs' "$(grep -c '<p class=.dim.>10.77.0.2 qp 0x1b: rocin0, theirs, process 8' "$work/said.html")" 1
	for bad in 0 1 2 3 4; do
		is "damage $bad" "$(status rocin dump "$work/said.pcapng.$bad")" 1
		is "damage $bad: what was whole is printed" "$(grep -c ' > ' "$work/out")" 1
		is "damage $bad: one sentence" "$(grep -cE ': (the pcapng block at byte [0-9]+ is damaged|it breaks off in the middle of a block, at byte [0-9]+)$' "$work/err")/$(wc -l <"$work/err")" 1/1
	done
	is 'pcapng from a pipe' "$(rocin dump - <"$work/said.pcapng" | grep -c ' > ')" 5
done
# What arrived and was said of it then stands where it came, of a packet that stands above.
python3 - "$captures/rxe-rc-atomic.pcap" "$work/arrived.pcapng" <<'PY'
import struct, sys
data = open(sys.argv[1], 'rb').read()
length, = struct.unpack_from('<I', data, 32)
ip = data[40 + 14:40 + length]
def block(kind, body):
    return struct.pack('=II', kind, 12 + len(body)) + body + struct.pack('=I', 12 + len(body))
out = block(0x0a0d0d0a, struct.pack('=IHHq', 0x1a2b3c4d, 1, 0, -1)) + block(1, struct.pack('=HHI', 113, 0, 0))
for way, comment in (4, b''), (0, b'dropped there'):
    body = struct.pack('!HHH8xH', way, 0xfffe, 0, 0x800) + ip
    out += block(6, struct.pack('=IIIII', 0, 0, way, len(body), len(body)) + body + bytes(-len(body) % 4) +
                 struct.pack('=HH', 1, len(comment)) + comment + bytes(-len(comment) % 4) + bytes(4))
open(sys.argv[2], 'wb').write(out)
PY
is 'what the other end thought' "$(rocin dump "$work/arrived.pcapng" | sed 1d)" \
	'              # psn 1118464 as it arrived: dropped there'
is 'in a ladder' "$(rocin dump --ladder "$work/arrived.pcapng" | tail -1)" \
	'              |   # psn 1118464 as it arrived: dropped there'
is 'as JSON' "$(rocin dump --json "$work/arrived.pcapng" | tail -1 | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["number"], o["arrived"], o["comment"])')" \
	'1 True dropped there'
rocin dump --svg "$work/arrived.svg" "$work/arrived.pcapng"
is 'at the arrow of the packet' "$(grep -c '<title>dropped there</title>' "$work/arrived.svg")" 1
is 'shown twice, it has its own line' "$(rocin dump --copies "$work/arrived.pcapng" | tail -1)" \
	'              # dropped there'
rocin dump --html "$work/page.html" "$captures/rxe-rc-atomic.pcap"
is 'of atomics no path MTU is known' "$(grep -c "qp 0x19<td class='number'><td class='number'>[1-9]" "$work/page.html")" 1
rocin dump --html "$work/page.html" "$captures/rxe-rc-read.pcap"
is 'of READs it is' "$(grep -c "<td class='number'>1024<td class='number'>[1-9]" "$work/page.html")" 1

# What is no capture, or has nothing to show, says so in a sentence.
python3 - "$work" <<'PY'
import struct, sys
eth = bytes(12)
tcp = eth + b'\x08\0' + bytes.fromhex('4500002800004000400600000102030405060708') + bytes(20)
udp = eth + b'\x08\0' + bytes.fromhex('4500001c00004000401100000102030405060708003500350008') + bytes(2)
for name, link, packets in ('none', 1, (tcp, tcp, udp, eth + b'\x08\x06' + bytes(28))), ('no', 1, ()), ('wifi', 105, (tcp,)):
    with open(f'{sys.argv[1]}/{name}.pcap', 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, link))
        f.writelines(struct.pack('<IIII', 1, 0, len(p), len(p)) + p for p in packets)
PY
gzip -c "$captures/rxe-rc-atomic.pcap" >"$work/packed.gz"
head -c 10 "$captures/rxe-rc-atomic.pcap" >"$work/header.pcap"
: >"$work/empty.pcap"
head -c 100 /dev/zero >"$work/zero.pcap"
while IFS='|' read -r name sentence; do
	is "$name ends with 1" "$(status rocin dump "$work/$name")" 1
	is "$name says so" "$(sed "s,$work/,," "$work/err")" "rocin: $sentence"
	is "$name ends with 1 when checked" "$(status rocin dump --check "$work/$name")" 1
done <<LIST
none.pcap|none.pcap holds no packet of RoCE or InfiniBand (RoCE v2 is UDP to port 4791, v1 EtherType 0x8915): its 4 packets are 2 of TCP, 1 of UDP, 1 not of IP
no.pcap|no.pcap holds no packet of RoCE or InfiniBand (RoCE v2 is UDP to port 4791, v1 EtherType 0x8915): it holds no packet at all
wifi.pcap|wifi.pcap: link type 105 is not one that carries RoCE or InfiniBand here
header.pcap|header.pcap: it breaks off in the middle of its header
empty.pcap|empty.pcap is empty: not even the header of a capture is in it
zero.pcap|zero.pcap is no pcap or pcapng file
packed.gz|packed.gz is no pcap or pcapng file; if it was packed by gzip: zcat $work/packed.gz | rocin dump -
LIST
is 'a directory' "$(status rocin dump "$work")/$(cat "$work/err")" "1/rocin: $work: Is a directory"
is 'a packed one from its reader' "$(zcat "$work/packed.gz" | rocin dump - | wc -l)" 8

is 'a file that is not there' "$(status rocin dump "$work/none.pcap")" 1
is 'a file that is no capture' "$(status rocin dump "$work/zero.pcap")" 1
head -c 300 "$captures/rxe-rc-atomic.pcap" >"$work/cut.pcap"
is 'a capture that breaks off' "$(status rocin dump "$work/cut.pcap")" 1
is 'prints what was whole' "$(wc -l <"$work/out")" 2
is 'no file is wrong usage' "$(status rocin dump)" 64
is 'two files are wrong usage' "$(status rocin dump a b)" 64
is 'a QPN has 24 bits' "$(status rocin dump --qp 0x1000000 a)" 64
is 'a count of 0 is wrong usage' "$(status rocin dump -c 0 a)" 64
# Lines are there while the capture goes on, not when it ends.
mkfifo "$work/pipe"
for how in '' --ladder --json; do
	# shellcheck disable=SC2086 # nothing, or a word
	rocin dump $how - <"$work/pipe" >"$work/lines" &
	dump=$!
	exec 9>"$work/pipe"
	cat "$captures/rxe-rc-read-req-lost.pcap" >&9
	for _ in $(seq 6000); do
		[ "$(wc -l <"$work/lines")" -lt 3 ] || break
		sleep 0.02
	done
	is "rocin dump $how shows a pipe's packets at once" "$(($(wc -l <"$work/lines") >= 3))" 1
	exec 9>&-
	wait "$dump"
done

finish
