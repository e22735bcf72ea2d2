#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bench.sh - `rocin bench` runs every item and says what it measured. Numbers are not judged.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD
address=127.$((100 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
bench() { rocin bench --netdev "lo:$address" "$@"; }
python() { LD_PRELOAD='' python3 "$@"; }

is 'a sweep with a picture' \
	"$(status bench --rounds 1 --slice-ms 5 --sizes 64,256K --plot "$work/standard.svg")" 0
is 'has the sizes' "$(grep -c '^write_bw:256K  *RDMA' "$work/out")" 1
is 'and well-formed' "$(python -c 'import sys, xml.dom.minidom as m
print(m.parse(sys.argv[1]).documentElement.tagName)' "$work/standard.svg")" svg

is 'each item once' "$(status bench --rounds 1 --slice-ms 10)" 0
is 'has all 25 items, 12 of them over the local wire as well' \
	"$(grep -cE ' (GB/s|us|M/s) ' "$work/out")" 37
is 'nothing on standard error that is no terminal' "$(cat "$work/err")" ''

is 'the bars' "$(status bench --rounds 1 --slice-ms 5 --bars --json)" 0
is 'are all there, one after the other' "$(python - "$work/out" <<'PYTHON'
import json, sys
j = json.load(open(sys.argv[1]))
rows = j["ratios"]
judged = [r for r in rows if "meant" in r]
print(len(rows), len(judged), sum(r["meant"] == "at least" for r in judged),
      all(sum(k in r for k in ("reached", "not_measured", "beyond_reach")) == 1
          for r in judged),
      all(r["median"] > 0 for r in rows if "reached" in r and "-" not in r["name"]))
PYTHON
)" '20 19 11 True True'

is 'two items, as JSON' "$(status bench --rounds 6 --slice-ms 5 --only send_lat \
	--only udp_lat --no-pin --json --save "$work/base")" 0
is 'is what it says' "$(python - "$work/out" <<'PYTHON'
import json, sys
j = json.load(open(sys.argv[1]))
print(j["rounds"], j["slice_ms"], j["pinned"], [i["name"] for i in j["items"]],
      [len(i["rounds"]) for i in j["items"]],
      all(0 < i["cpu"] and 0 < i["cores"] < 64 and i["copies"] in (1, 2, 3, 4, None) for i in j["items"]),
      all(0 < i["min"] <= i["q1"] <= i["median"] <= i["q3"] <= i["max"]
          for i in j["items"]),
      all(0 < i["p50"] <= i["p99"] <= i["p99.9"] for i in j["items"]),
      [(r["name"], len(r["rounds"])) for r in j["ratios"]])
PYTHON
)" "6 5 False ['send_lat', 'udp_lat'] [6, 6] True True True [('send_lat / udp_lat', 6)]"
is 'and what is saved' "$(cmp "$work/out" "$work/base")" ''

# The same figures, all ten times as large: no noise of a machine does that.
python - "$work/base" "$work/other" <<'PYTHON'
import json, sys
j = json.load(open(sys.argv[1]))
j["ratios"][0]["rounds"] = [1e9 + i for i in range(10)]
json.dump(j, open(sys.argv[2], "w"))
PYTHON
is 'held against a baseline' "$(status bench --rounds 6 --slice-ms 2 --only send_lat \
	--only udp_lat --only tcp_poll_lat --baseline "$work/other")" 0
is 'says what is faster' "$(grep -c 'send_lat / udp_lat.* faster (x ' "$work/out")" 1
is 'and what is new' "$(grep -c 'tcp_poll_lat.* not in the baseline' "$work/out")" 1
echo '{}' >"$work/other"
is 'a baseline that is none is a sentence' \
	"$(status bench --only udp_lat --baseline "$work/other")" 1
is 'which names it' "$(grep -c "$work/other is not what" "$work/err")" 1

is 'lists multiply' "$(status bench --rounds 1 --slice-ms 2 --only send_bw --only tcp_bw \
	--sizes 64,4K --qps 1,100 --processes 2,4 --wire udp)" 0
is 'and are measured each' "$(grep -cE ' GB/s ' "$work/out")" 12
is 'threads have a queue pair each' "$(status bench --rounds 1 --slice-ms 5 --only send_rate \
	--only write_bw:64K --threads 1,3)" 0
is 'with a completion queue each, in thread domains, and with one' \
	"$(grep -cE '^(send_rate|write_bw:64K)(:threads=[13](:td|:shared)?)? .* (M|GB)/s ' "$work/out")" 10
is 'a time is kept to' "$(status bench --time 1 --only udp_lat --only tcp_lat)" 0
is 'another device is measured beside' "$(status rocin bench \
	--netdev "lo:$address,lo:127.99.${address#127.*.}" --beside rocin1 --rounds 1 \
	--slice-ms 5 --only write_bw --wire udp,beside)" 0
is 'under its name' "$(grep -c '^write_bw:beside' "$work/out")" 1

# Where rocind may make no memory for them there are no local wires.
rocin stop >/dev/null 2>&1
cat >"$work/without_memfd" <<'PYTHON'
import ctypes, os, platform, struct, sys
number = {"x86_64": 319, "aarch64": 279}[platform.machine()]
text = b"".join(struct.pack("HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
room = ctypes.create_string_buffer(text)
prog = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(room)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
PYTHON
LD_PRELOAD='' python3 "$work/without_memfd" rocind --foreground --idle-ms=10000 &
sandboxed=$!
for _ in $(seq 6000); do
	rocin stat --daemon 2>/dev/null | grep -q " pid $sandboxed " && break
	kill -0 "$sandboxed" 2>/dev/null || break
	sleep 0.05
done
if ! kill -0 "$sandboxed" 2>/dev/null; then
	wait "$sandboxed"
	is 'no sandboxes here' "$?" 77
else
	is 'what did not take the local wire is no measurement of it' \
		"$(status bench --rounds 1 --slice-ms 5 --only send_lat --wire local)" 1
	is 'says the sentence' "$(grep -c '^rocin bench: send_lat:local: 0 of [1-9][0-9]* packets took the local wire' "$work/err")" 1
	is 'and UDP is measured there' \
		"$(status bench --rounds 1 --slice-ms 5 --only send_lat --wire udp)" 0
	kill "$sandboxed"
	wait "$sandboxed"
fi

is 'sockets alone need no device' "$(status rocin bench --rounds 1 --slice-ms 2 --only tcp_lat \
	--only memcpy_bw)" 0
rocin fault 'mark tx op=READ_REQUEST psn=1' >/dev/null
is 'with rules about faults in force' "$(status bench --rounds 1 --slice-ms 2 --only send_lat)" 0
is 'it says so' "$(grep -c '^rocin bench: rules about faults are in force' "$work/err")" 1
rocin fault --clear >/dev/null
is 'and without them' "$(status bench --rounds 1 --slice-ms 2 --only send_lat)" 0
is 'it does not' "$(grep -c 'rules about faults' "$work/err")" 0
is 'an item that is none is wrong usage' "$(status rocin bench --only frobnicate)" 64
is 'no rounds are wrong usage' "$(status rocin bench --rounds 0)" 64
is 'words for numbers are wrong usage' "$(status rocin bench --slice-ms ten)" 64
is 'a device that is not there is a sentence' \
	"$(status bench --beside nosuchdev0 --only write_bw:beside)" 1
is 'of one line' "$(wc -l <"$work/err")" 1
is 'an interface that is not there is a sentence' \
	"$(status rocin bench --netdev nosuchif0 --only send_lat)" 1
is 'of one line, too' "$(wc -l <"$work/err")" 1

# However the first process ends, the others end with it.
members() { grep -lzF "ROCIN_BENCH_MARK=$work" /proc/[0-9]*/environ 2>/dev/null | wc -l; }
await() { # WHAT COUNT
	for _ in $(seq 6000); do
		[ "$(members)" -ne "$2" ] || break
		sleep 0.05
	done
	is "$1" "$(members)" "$2"
}
if [ -z "${ROCIN_TEST_PRELOAD:-}" ]; then
	ROCIN_BENCH_MARK=$work rocin bench --netdev "lo:$address" --rounds 1000 \
		--only send_lat --only udp_lat >/dev/null 2>&1 &
	one=$!
	await 'five processes measure' 5
	kill -KILL "$one"
	wait "$one" 2>/dev/null
	await 'none of them outlives the first' 0
fi
finish
