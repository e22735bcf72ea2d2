#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# stat.sh - `rocin stat': repeated reports with rates, and the format of Prometheus.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"

# families: checks standard input by the rules of the text format 0.0.4, and prints the metric
# families in it
families() {
	python3 -c '
import re, sys
label = r"[a-z_]+=\"(?:[^\"\\\n]|\\[\\\"n])*\""
sample = re.compile(r"([a-z_]+)(?:\{%s(?:,%s)*\})? (\d+)" % (label, label))
done, series, family, kind = set(), set(), None, None
for line in sys.stdin.read().split("\n")[:-1]:
    if line.startswith("# HELP "):
        family = line.split()[2]
        assert family not in done, f"{family} comes twice"
        assert re.fullmatch(r"rocin_[a-z0-9_]+", family), family
        assert not re.search(r"_(pkts|kbps|ms|us)(_|$)", family), f"{family}: no base unit"
        done.add(family)
    elif line.startswith("# TYPE "):
        _, _, name, kind = line.split()
        assert name == family and kind in ("counter", "gauge"), line
        assert (kind == "counter") == name.endswith("_total"), line
    else:
        found = sample.fullmatch(line)
        assert found and found.group(1) == family, line
        of = line.rsplit(" ", 1)[0]
        assert of not in series, f"{of} comes twice"
        series.add(of)
print(len(done))' || fail 'not what Prometheus reads'
}
value() { rocin stat --prometheus | sed -n "s/^$1.* //p" | awk '{ s += $1 } END { print s + 0 }'; }

[ "$(rocin stat --prometheus | families)" -gt 50 ] || fail 'no families without rocind'
[ "$(value rocin_rocind_up)" = 0 ] || fail 'rocind is up'

# The name of this program contains characters that must be escaped in labels.
cp "$(command -v ib_write_bw)" "$work/a\"b\\c"
for side in server client; do
	program=ib_write_bw address=$addr_a peer=127.0.0.1
	[ $side = client ] || { program=$work/'a"b\c' address=$addr_b peer=; next_port; }
	# shellcheck disable=SC2086 # no word for the server
	rocin run --netdev "lo:$address" -- "$program" -x 0 -F -D 60 -p "$port" $peer >"$work/$side" 2>&1 &
	pids+=($!)
	[ $side = client ] || wait_for listening $! || fail "$(cat "$work/server")"
	kill -0 $! 2>/dev/null || fail "$(cat "$work/$side")"
done
busy() { [ "$(value rocin_sent_packets_total)" -gt 100 ]; }
wait_for busy || fail "nothing is sent: $(rocin stat; cat "$work/client")"
[ "$(rocin stat --prometheus | families)" -gt 60 ] || fail 'rocind is not among the families'
rocin stat --prometheus >"$work/text"
grep -q '^rocin_qp_info{.*program="a\\"b\\\\c",qpn="0x[0-9a-f]*",type="RC",state="RT[RS]",dest_gid=.*} 1$' "$work/text" ||
	fail "$(grep qp_info "$work/text")"
[ "$(value rocin_rocind_up) $(value rocin_rocind_attached)" = '1 2' ] || fail "$(grep rocind "$work/text")"
echo 'ok: Prometheus'

for kind in pd cq mr qp; do # each program has at least one object of each kind
	rocin stat --resources=$kind | awk '{ print $NF }' >"$work/comms"
	grep -q '^ib_write_bw$' "$work/comms" || fail "no $kind: $(rocin stat --resources)"
	grep -q '^a"b.c$' "$work/comms" || fail "no $kind: $(rocin stat --resources)"
done
rocin stat --resources --json | python3 -c '
import json, sys
for program in json.load(sys.stdin):
    pds = {pd["pdn"] for pd in program["pds"]}
    assert pds and all(mr["pdn"] in pds for mr in program["mrs"]), program
    assert len(program["mrs"]) == program["resources"]["mr"] > 0, program
    assert sum(cq["users"] for cq in program["cqs"]) == 2 * len(program["qps"]), program
' || fail 'JSON of resources'
echo 'ok: resources'

rates() { # two reports: the first has no rates, the second those of the time between them
	rocin stat --watch=0.3 --count=2 --counters >"$work/text" || fail 'watch'
	awk '$1 == "sent_pkts" { print $3 }' "$work/text" >"$work/rates"
	[ "$(sed -n '1,2p' "$work/rates" | sort -u)" = - ] || fail "a rate of nothing: $(cat "$work/text")"
	[ "$(sed -n '3,4p' "$work/rates" | sort -n | tail -1 | cut -d/ -f1)" -gt 10 ]
}
wait_for rates || fail "$(cat "$work/text")"
rocin stat --watch=0.01 --count=3 --json | python3 -c '
import json, sys
reports = [json.loads(line) for line in sys.stdin]
sent = [sum(c["hw_counters"]["sent_pkts"] for c in r) for r in reports]
assert len(reports) == 3 and sent[0] <= sent[1] <= sent[2], sent' || fail 'JSON, a report a line'
timeout 1800 bash -c 'rocin stat --watch=0.01 2>/dev/null | head -1 >/dev/null' || fail 'watch does not end with its reader'
end_now "${pids[@]}"
gone() { [ "$(rocin stat)" = 'no program has a queue pair on a Rocin device' ]; }
wait_for gone || fail "$(rocin stat)"
for wrong in --resources=x --resources= '--resources --daemon' '--resources --prometheus' --watch=0 --watch=x --watch=nan --count=0 --count=-1 '--prometheus --json'; do
	# shellcheck disable=SC2086 # two words
	rocin stat $wrong >/dev/null 2>&1
	[ $? = 64 ] || fail "$wrong is taken"
done
echo 'ok: watch'
