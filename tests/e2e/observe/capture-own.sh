#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-own.sh - the pcapng file that a program writes because of ROCIN_PCAP has the same packets
# as a file of `rocin capture`: also lost, duplicated and refused ones, with comments of the device,
# direction and queue pair. It is complete however the program ends.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
here=$(dirname "$0")
run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcapng" --)
run_b=(rocin run --netdev "lo:$addr_a" --pcap "$work/b.pcapng" --)

# own NAME OPTION...: makes both kinds of captures of the same run
own() {
	local name=$1
	shift
	capture -w "$work/live.pcapng"
	verify_pair "$name" "$@"
	end_capture_live
	"$here/same_blocks.py" "$work/live.pcapng" "$work/a.pcapng" "$work/b.pcapng" || fail "$name"
}
own 'nothing is lost' --type rc -n 30
for side in a b; do
	rocin dump --check "$work/$side.pcapng" >"$work/out" || fail "$(tail -5 "$work/out")"
	"$here/../kit/judge-capture.sh" "$work/$side.pcapng" || fail 'others read it otherwise'
done

# Packets that are lost when they are sent or received, and duplicated packets.
rules='drop tx op=*SEND_MIDDLE nth=3; duplicate tx op=request nth=5; drop rx op=*SEND_LAST nth=4'
ROCIN_FAULT=$rules own 'packets with something to say' --type rc -n 40 --lossy
for side in a b; do
	# A packet that a fault rule has dropped is in the file as a sent packet, so that rocin dump
	# recognises its retransmission.
	rocin dump --check "$work/$side.pcapng" >"$work/out" || fail "$(grep violation "$work/out")"
	tshark -r "$work/$side.pcapng" -T fields -E separator=/t -e frame.interface_queue -e frame.packet_flags_direction \
		-e frame.interface_description -e frame.comment 2>/dev/null >"$work/$side.said"
	awk -F'\t' '$1 == "" || $2 == "" || $3 !~ /^verify, process [0-9]+, on lo, slot [0-9]+$/ { exit 1 }' \
		"$work/$side.said" || fail "of whom: $(cut -f1-3 "$work/$side.said" | sort | uniq -c)"
done
for comment in 'dropped on purpose by rule 1 about faults' 'injected on purpose by rule 2 about faults' \
	'dropped on purpose by rule 3 about faults' 'duplicate, acknowledged or answered again' \
	'beyond the expected PSN: dropped' 'NAK: PSN sequence error' \
	'NAK, PSN sequence error: the requests from there are sent again' 'sent again: NAK, PSN sequence error'; do
	cut -f4 "$work"/[ab].said | grep -q "$comment" ||
		fail "no \"$comment\": $(cut -f4 "$work"/[ab].said | sort | uniq -c)"
done
echo "ok: $(cut -f4 "$work"/[ab].said | grep -c .) packets have a comment"

# In a diagram, the arrow of a dropped packet ends where it was dropped: at the sender, if it was
# never on the wire, or at the receiver. No other arrow ends with a cross.
for side in a b; do
	rocin dump --ladder "$work/$side.pcapng" >"$work/ladder"
	rocin dump --svg "$work/$side.svg" "$work/$side.pcapng"
	python3 - "$work/ladder" "$work/$side.svg" <<'PY' || fail 'where packets were dropped'
import re, sys
lines = open(sys.argv[1]).read().splitlines()
arrow = re.compile(r"^ *[0-9.]+  \|")
seen = {"sender": 0, "receiver": 0}
for i, line in enumerate(lines):
    if not arrow.match(line):
        continue
    below = []
    for other in lines[i + 1:]:
        if arrow.match(other) or "as it arrived" in other:
            break
        below.append(other)
    body = line.split("|", 1)[1].rstrip("|")
    dropped = any("dropped" in other for other in below)
    if dropped != ("X" in (body[0], body[-1]) or " X" in body or "X " in body):
        sys.exit(f"{line}\n" + "\n".join(below))
    if dropped:
        seen["receiver" if "X" in (body[0], body[-1]) else "sender"] += 1
        assert ">" not in body and "<" not in body, body
print(f"ok: dropped {seen}")
crosses = open(sys.argv[2]).read().count("class='drop'") // 2 - 1
sys.exit(not (crosses > 0 and sum(seen.values()) > 0))
PY
done
# scapy 2.5 skips comments that have no line end.
/usr/bin/python3 - "$work/a.pcapng" "$(wc -l <"$work/a.said")" <<'PY' || fail 'scapy reads it otherwise'
import logging
import sys
logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import rdpcap, CookedLinux, IP
packets = rdpcap(sys.argv[1])
whole = sum(CookedLinux in p and IP in p for p in packets)
print(f"scapy: {whole} of {sys.argv[2]} packets")
sys.exit(whole != int(sys.argv[2]))
PY

# A NAK that a fault rule generates has the MSN that the responder would have sent.
next_port
capture -w "$work/refused.pcapng"
ROCIN_FAULT='nak=rnr:1 rx op=SEND_ONLY nth=7' pair 'refused on purpose' \
	ibv_rc_pingpong -g 0 -s 100 -n 40 -p "$port" -- ibv_rc_pingpong -g 0 -s 100 -n 40 -p "$port" 127.0.0.1
end_capture_live
rocin dump --check "$work/refused.pcapng" >"$work/out" || fail "$(cat "$work/out")"
[ "$(rocin dump "$work/refused.pcapng" | grep -c 'RNR NAK 0.01 ms msn 6$')" = 2 ] ||
	fail "$(rocin dump "$work/refused.pcapng" | grep -c 'RNR NAK')"

# However a program ends, the last packet in its file is complete: after exit() it is the last
# packet of the program; after other ends, up to a few KiB may be missing.
for how in exit _exit abort kill; do
	(
		ulimit -c 0
		rocin run --netdev "lo:$addr_a" --pcap "$work/end.pcapng" -- "$ROCIN_TESTS/writes" 100 "$how"
	) >"$work/out" 2>&1
	rocin dump --check "$work/end.pcapng" >"$work/out" 2>&1 || fail "$how: $(tail -2 "$work/out")"
	writes=$(rocin dump --copies "$work/end.pcapng" | grep -c RC_WRITE_LAST)
	[ "$writes" -ge 198 ] || fail "$how: $writes packets of 200"
	[ "$how" != exit ] || [ "$writes" = 200 ] || fail "$how: $writes packets of 200"
done
echo 'ok: the ends of programs'
