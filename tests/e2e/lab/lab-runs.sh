#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lab-runs.sh - programs run on several simulated hosts of `rocin lab'.
#
# usage: lab-runs.sh root|nobody
who=$1
# shellcheck source=lab_lib.sh
. "$(dirname "$0")/lab_lib.sh"

lab --hosts 4 -- "$ROCIN_TESTS/lab_all"
said 0 'a program of four ranks, every byte of which is right'
has out 'h1 | rank 0 of 4: 262144 bytes from each, 0 wrong' \
	'h4 | rank 3 of 4: 262144 bytes from each, 0 wrong'
has err 'rocin lab: h1 to h4: 10.86.0.1, fd86::1 to 10.86.0.4, fd86::4 on eth0, MTU 1500'
grep -q '^rocin lab: 4 of 4 ended well, ' "$work/err" || fail 'no summary'

# Properties of links, implemented by netem or by fault rules of the devices, which count packets.
lab --hosts 3 --loss 2% --delay 200us --reorder 1% --seed 7 --json "$home/report" -- \
	sh -c "'$ROCIN_TESTS/lab_all' 100000 && echo trips \$(rocin fault --json | python3 -c '
import json, sys
print(all(r[\"hits\"] for r in json.load(sys.stdin)[\"rules\"]))')"
said 0 'the same with loss, delay and disorder'
has out 'h1 | rank 0 of 3: 100000 bytes from each, 0 wrong'
how=$(python3 - "$home/report" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["status"] == 0 and r["hosts"] == 3 and r["mtu"] == 1500
assert r["link"] == "loss 2 %, delay 200 us, reorder 1 %", r["link"]
assert [p["host"] for p in r["programs"]] == ["h1", "h2", "h3"]
assert all(p["status"] == 0 and p["seconds"] > 0 for p in r["programs"])
print(r["by"])
END
) || fail 'the report'
grep -q "by $how" "$work/err" || fail "it is not said that $how did it"
[ "$how" != rules ] || has out 'h1 | trips True' 'h2 | trips True' 'h3 | trips True'
echo "ok: by $how, and the report says so"

lab --mtu 9000 --capture "$home/lab.pcapng" --on h1 'ib_send_bw -n 100' --on h2 'ib_send_bw -n 100 h1'
said 0 'perftest between two hosts, with a server that is awaited'
grep -q 'h2 |  Mtu             : 4096' "$work/out" || fail 'the path MTU does not follow the MTU'
packets=$(sed -n 's/rocin lab: \([0-9]*\) packets captured, 0 missed/\1/p' "$work/err")
[ "$packets" = "$(tshark -r "$home/lab.pcapng" 2>/dev/null | wc -l)" ] || fail 'packets are missing'
[ "$(tshark -r "$home/lab.pcapng" -Y 'infiniband.bth.opcode in {0..5}' 2>/dev/null | wc -l)" -ge 1600 ] ||
	fail 'there are no SENDs'
rocin dump --check "$home/lab.pcapng" >"$work/dump" || fail "the packets: $(head -5 "$work/dump")"
echo "ok: $packets packets in the capture, and none breaks a rule"

# shellcheck disable=SC2016 # the hosts' shell is to see it
lab --hosts 3 --on h2 'echo $ROCIN_LAB_RANK $ROCIN_LAB_SIZE $ROCIN_LAB_HOST $ROCIN_LAB_HOSTS $ROCIN_LAB_PEER $ROCIN_LAB_ADDRESS' \
	--on h1,h3 'hostname; echo >&2 "complaint of $(id -u)"; printf "no end"; getent hosts h2 h2-v6 | xargs'
said 0 'what a program finds'
has out 'h1 | h1' 'h3 | h3' 'h2 | 1 3 h2 h1,h2,h3 h3 10.86.0.2' \
	'h3 | no end10.86.0.2 h2 fd86::2 h2-v6'
has err "h1 | complaint of $("${as[@]}" id -u)"

lab --hosts 12 -q -- sh -c 'cat /proc/sys/kernel/random/boot_id; rocin run -- ibv_devinfo | grep node_guid'
said 0 'twelve hosts'
[ "$(sed 's/.*| *//' "$work/out" | sort -u | wc -l)" = 24 ] || fail 'they are not told apart'
grep -q '^h1  | ' "$work/out" || fail 'lines are not below one another'
[ ! -s "$work/err" ] || fail "quiet is not: $(cat "$work/err")"

lab --hosts 2 --on h1 'ssh h2 "hostname; echo \$ROCIN_LAB_RANK"; ssh -x -o A=b me@10.86.0.2 exit 5; echo $?
	rocin lab-exec h9 true; echo in | rocin-lab-exec localhost cat; echo in | ssh -n h2 cat
	ssh h2 ibv_devices | grep -o "rocin0"; ip -br link show eth0 | grep -o UP
	ip route show 224.0.0.0/4 | xargs'
said 0 'commands on other hosts'
has out 'h1 | h2' 'h1 | 1' 'h1 | 5' 'h1 | in' 'h1 | rocin0' 'h1 | UP' \
	'h1 | 224.0.0.0/4 dev eth0 scope link'
[ "$(grep -c 'h1 | in' "$work/out")" = 1 ] || fail 'empty input is not'
has err 'h1 | rocin: "h9" is none of the hosts h1 to h2 of this lab'

lab --pcie adversarial --rate 200M -- "$ROCIN_TESTS/lab_all" 50000
said 0 'with options of rocin run, and a rate'

# Only root may do this: the boot id file of a host is mounted over that of the machine.
if [ "$who" = root ]; then
	lab --hosts 3 --on h2 'rocin lab -q -- sh -c "hostname; ssh h1 hostname"; hostname'
	said 0 'a lab on a host of a lab'
	has out 'h2 | h1 | h1' 'h2 | h2 | h2' 'h2 | h2 | h1' 'h2 | h2'
fi

# An interactive shell in a terminal.
TERM=dumb timeout 1800 script -qec "${as[*]} rocin lab --shell --hosts 3" /dev/null >"$work/out" 2>&1 \
	< <(echo 'echo I am $(hostname); ssh h3 hostname; exit 4')
status=$?
said 4 'a shell on h1'
tr -d '\r' <"$work/out" | grep -Eq '(^|[#$] )I am h1$' || fail "the shell: $(cat "$work/out")"
tr -d '\r' <"$work/out" | grep -Eq '(^|[#$] )h3$' || fail "the shell's way to h3: $(cat "$work/out")"
