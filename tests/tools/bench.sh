#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bench.sh - `rocin bench` runs every item and says what it measured. Numbers are not judged.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD
address=127.$((100 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))

is 'every item, as a table' \
	"$(status rocin bench --netdev "lo:$address" --rounds 1 --slice-ms 20)" 0
tail -20 "$work/out" "$work/err"
is 'has all twelve items' "$(grep -cE ' (GB/s|us|M/s)$' "$work/out")" 12
is 'and all five ratios' "$(grep -cE ' (met|missed)$' "$work/out")" 5
is 'nothing on standard error that is no terminal' "$(cat "$work/err")" ''

is 'two items, as JSON' "$(status rocin bench --netdev "lo:$address" --rounds 3 \
	--slice-ms 5 --only send_lat --only udp_lat --no-pin --json)" 0
read_json() {
	python3 - "$work/out" <<'PYTHON'
import json, sys
j = json.load(open(sys.argv[1]))
print(j["rounds"], j["slice_ms"], j["pinned"], [i["name"] for i in j["items"]],
      [len(i["rounds"]) for i in j["items"]],
      all(0 < i["min"] <= i["median"] <= i["max"] for i in j["items"]),
      [(r["over"], r["under"], r["meant"], r["budget"]) for r in j["ratios"]])
PYTHON
}
if command -v python3 >/dev/null; then
	is 'is what it says' "$(LD_PRELOAD='' read_json)" "3 5 False ['send_lat', 'udp_lat'] \
[3, 3] True [('send_lat', 'udp_lat', 'at most', 2.0)]"
fi

is 'sockets alone need no device' "$(status rocin bench --rounds 1 --slice-ms 2 --only tcp_lat \
	--only memcpy_bw)" 0
is 'an item that is none is wrong usage' "$(status rocin bench --only frobnicate)" 64
is 'no rounds are wrong usage' "$(status rocin bench --rounds 0)" 64
is 'words for numbers are wrong usage' "$(status rocin bench --slice-ms ten)" 64
is 'an interface that is not there is a sentence' \
	"$(status rocin bench --netdev nosuchif0 --only send_lat)" 1
is 'of one line' "$(wc -l <"$work/err")" 1
finish
