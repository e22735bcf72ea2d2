#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture-live.sh - `rocin capture` captures the packets of running programs: the same packets that
# the programs' own captures have, by shared memory and by UDP. tshark and scapy find them right,
# and the file has the owner and the direction of each packet.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# packets FILE...: prints one line for each packet, without its time and without remarks of rocin
# dump
packets() {
	local file
	for file; do
		rocin dump --copies "$file" | sed '/^ *[#?!] /d; s/^ *[0-9.]* *//; s/ *\[.*//'
	done | sort
}
same() {
	packets "$work/a.pcap" "$work/b.pcap" >"$work/expected"
	packets "$work/live.pcapng" >"$work/found"
	[ -s "$work/expected" ] || fail 'no packets at all'
	diff "$work/expected" "$work/found" || fail "$1: the capture differs from those of the programs"
	echo "ok: $1: $(wc -l <"$work/found") packets"
}
run_a=(rocin run --netdev "lo:$addr_b" --pcap "$work/a.pcap" --)
run_b=(rocin run --netdev "lo:$addr_a" --pcap "$work/b.pcap" --)

for local in auto no-icrc off; do
	export ROCIN_LOCAL=$local
	capture -w "$work/live.pcapng"
	verify_pair "local wires $local" --type rc -n 30
	end_capture_live
	same "local wires $local"
	# Packets by shared memory have no ICRC, but in the capture they must have one.
	for file in "$work/a.pcap" "$work/b.pcap" "$work/live.pcapng"; do
		rocin dump "$file" >"$work/out" || fail "$file cannot be read"
		! grep 'wrong ICRC' "$work/out" || fail "local wires $local: wrong ICRCs"
	done
done
unset ROCIN_LOCAL
"$(dirname "$0")/../kit/judge-capture.sh" "$work/live.pcapng" || fail 'others read it otherwise'
tcpdump -nr "$work/live.pcapng" 2>"$work/tcpdump.err" | grep -q ' IP 127.*UDP, length' ||
	fail "tcpdump: $(cat "$work/tcpdump.err")"
# Each packet has left one process and reached the other; both are named in the file.
tshark -r "$work/live.pcapng" -T fields -e frame.interface_description -e frame.packet_flags_direction \
	-e frame.interface_queue 2>/dev/null | sort | uniq -c >"$work/sides"
awk '
	$2 != "verify," || $3 != "process" { bad = 1 }
	$NF == 0 || $(NF - 1) !~ /^(0x0000000)?[12]$/ { bad = 1 }
	END { exit bad || NR < 4 }' "$work/sides" || fail "whose packets: $(cat "$work/sides")"
capinfos -S -a "$work/live.pcapng" | grep -q 'First packet time' || fail 'capinfos'

# A capture of one process, in pcap format, with truncated packets, a limited number of them, to a
# pipe.
rm -f "$work/capture.err"
rocin capture --format=pcap -s 70 -c 25 -w - >"$work/few.pcap" 2>"$work/capture.err" &
few=$!
pids+=("$few")
wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
verify_pair 'a short capture' --type uc -n 20
wait "$few" || fail "$(cat "$work/capture.err")"
capinfos -T -M -r -c "$work/few.pcap" | grep -qE '[[:space:]]25$' || fail "$(capinfos -c "$work/few.pcap")"

# A series of files, of which the last two are kept.
capture -w "$work/ring.pcapng" --file-size 50 --files 2
verify_pair 'several files' --type rc -n 100
end_capture_live
[ "$(find "$work" -name 'ring_*.pcapng' | wc -l)" = 2 ] || fail "$(ls "$work")"
for file in "$work"/ring_*.pcapng; do
	[ "$(stat -c %s "$file")" -lt 120000 ] || fail "$file is long"
	rocin dump "$file" >"$work/out" || fail "$file cannot be read"
done
! [ -e "$work/ring_00001.pcapng" ] || fail 'the oldest file is there still'
echo 'ok: cut, counted, classic, one file after the other'

# A reader that stops does not delay the programs; the packets that it misses are counted.
rm -f "$work/capture.err"
setsid rocin capture --buffer=256 -w - 2>"$work/capture.err" >"$work/slow.pcapng" &
slow=$!
pids+=("$slow")
wait_for grep -qs '^capturing' "$work/capture.err" || fail "$(cat "$work/capture.err")"
rocin run --netdev "lo:$addr_a" -- "$ROCIN_TESTS/verify" --role b --socket "$work/meet2" --type rc -n 300 \
	>"$work/b.out" 2>&1 &
b=$!
pids+=("$b")
wait_for test -e "$work/meet2" || fail 'no program'
kill -STOP "$slow"
rocin run --netdev "lo:$addr_b" -- "$ROCIN_TESTS/verify" --role a --socket "$work/meet2" --type rc -n 300 \
	>"$work/a.out" 2>&1 || fail "beside a reader that stands: $(tail -3 "$work/a.out")"
wait "$b" || fail "beside a reader that stands: $(tail -3 "$work/b.out")"
kill -CONT "$slow"
kill -INT "$slow"
wait "$slow" || fail "$(cat "$work/capture.err")"
grep -qE ' [1-9][0-9]* missed$' "$work/capture.err" || fail "nothing missed: $(cat "$work/capture.err")"
echo "ok: a reader that stands: $(tail -1 "$work/capture.err")"

# Readers are killed repeatedly during traffic: every message is checked, and the next capture is
# complete.
kill_readers() {
	while [ -e "$work/traffic" ]; do
		rocin capture --buffer=256 -w "$work/killed.pcapng" 2>"$work/killed.err" &
		local killed=$!
		wait_for grep -qs '^capturing' "$work/killed.err"
		packets_flow() { [ "$(stat -c %s "$work/killed.pcapng" 2>/dev/null || echo 0)" -gt 20000 ] || ! [ -e "$work/traffic" ]; }
		wait_for packets_flow
		kill -9 "$killed"
		wait "$killed" 2>/dev/null
		packets_flow && echo killed >>"$work/kills"
		rm -f "$work/killed.pcapng" "$work/killed.err"
	done
}
touch "$work/traffic"
kill_readers 2>/dev/null &
killer=$!
pids+=("$killer")
verify_pair 'readers are killed' --type rc -n 3000
rm "$work/traffic"
wait "$killer"
[ "$(wc -l <"$work/kills")" -ge 1 ] || fail 'no reader was killed'
capture -w "$work/after.pcapng"
verify_pair 'a capture after them' --type rc -n 30
end_capture_live
rocin dump --check "$work/after.pcapng" >"$work/out" || fail "$(cat "$work/out")"
echo "ok: $(wc -l <"$work/kills") readers were killed"

# Comments of the devices: a fault rule has dropped a packet, and what followed at both ends.
capture -w "$work/thought.pcapng"
ROCIN_FAULT='drop tx op=*SEND_MIDDLE nth=3' verify_pair 'a packet dropped' --type rc -n 20 --lossy
end_capture_live
tshark -r "$work/thought.pcapng" -Y frame.comment -T fields -e frame.comment 2>/dev/null >"$work/comments"
for comment in 'dropped on purpose by rule 1 about faults' 'beyond the expected PSN: dropped' \
	'NAK: PSN sequence error' 'NAK, PSN sequence error: the requests from there are sent again' \
	'sent again: NAK, PSN sequence error'; do
	grep -q "$comment" "$work/comments" || fail "no \"$comment\": $(sort "$work/comments" | uniq -c)"
done
echo "ok: $(wc -l <"$work/comments") packets have a comment"
rocin dump "$work/thought.pcapng" >"$work/dumped"
rocin dump --copies "$work/thought.pcapng" | grep '^ *# ' >"$work/copies"
is=$(grep -vc 'queue pair 0x[0-9a-f]* of' "$work/copies")
[ "$is" = "$(wc -l <"$work/comments")" ] || fail "$is comments in the dump"
for comment in '^ *# dropped on purpose by rule 1 about faults$' \
	'^ *# psn [0-9]* as it arrived: beyond the expected PSN: dropped$' '^ *# NAK: PSN sequence error$' \
	'^ *# queue pair 0x[0-9a-f]* of 127[0-9.]*: rocin[0-9]*, verify, process [0-9]*, on lo, slot [0-9]*$'; do
	grep -q "$comment" "$work/dumped" || fail "no \"$comment\": $(grep '# ' "$work/dumped")"
done
echo 'ok: rocin dump shows them'

for wrong in '-q 0' '-s x' '--format gif' '--files 2' '--buffer 1' '-p 0 -w x'; do
	# shellcheck disable=SC2086 # several words
	rocin capture $wrong </dev/null >"$work/out" 2>&1
	[ $? = 64 ] || fail "$wrong: status"
done
rocin capture -w /nosuchdir/x 2>"$work/out" && fail 'a file that cannot be'
grep -q 'cannot be written to /nosuchdir/x' "$work/out" || fail "$(cat "$work/out")"
rocin capture -c 1 -w /dev/full 2>"$work/out" && fail 'a full disk'
grep -q 'No space left' "$work/out" || fail "$(cat "$work/out")"
echo 'ok: what cannot be is said'
