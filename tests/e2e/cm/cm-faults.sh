#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cm-faults.sh - programs connect although messages of the connection manager between two network
# namespaces are lost, duplicated and delayed, by rules of `rocin fault`.
#
# usage: cm-faults.sh short|long
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
two_hosts 78
export ROCIN_LOG=info:$work/log
touch "$work/log"

# play NAME RULES-OF-A RULES-OF-B SERVER CLIENT: runs the command SERVER in namespace b and its
# client in a, with these fault rules
listens() { [ "$(grep -c 'listens for connections' "$work/log")" -gt "$before" ]; }
rules() {
	"${@:2}" rocin fault --clear >/dev/null && "${@:2}" rocin fault "$1" >/dev/null
}
play() {
	local name=$1 server=$4 client=$5
	rules "$2" "${in_a[@]}" && rules "$3" "${in_b[@]}" || fail "$name: rocin fault"
	before=$(grep -c 'listens for connections' "$work/log")
	# shellcheck disable=SC2086 # words
	timeout 1800 "${in_b[@]}" rocin run --netdev vb -- $server >"$work/server.out" 2>&1 &
	pids+=("$!")
	wait_for listens || fail "$name: $server does not listen"
	# shellcheck disable=SC2086 # words
	timeout 1800 "${in_a[@]}" rocin run --netdev va -- $client >"$work/client.out" 2>&1 ||
		fail "$name: $(tail -n 5 "$work/client.out" "$work/server.out")"
	wait "${pids[-1]}" || fail "$name: $(tail -5 "$work/server.out")"
	# Checks that the rules have hit messages, by the counts of `rocin fault`.
	"${in_a[@]}" rocin fault --json >"$work/fault.json"
	/usr/bin/python3 - "$work/fault.json" <<'PY' || fail "$name: no rule has hit: $(cat "$work/fault.json")"
import json, sys
assert any(rule["hits"] for rule in json.load(open(sys.argv[1]))["rules"])
PY
	echo "ok: $name"
}

if [ "$1" = short ]; then
	play 'everything twice, some of it late' 'duplicate tx rx mad=*; delay=20ms mad=REQ,DREQ every=2' \
		'duplicate mad=REP; reorder mad=* every=3' \
		'ucmatose -b 10.78.0.2 -c 20 -C 5 -t 8' 'ucmatose -s 10.78.0.2 -c 20 -C 5 -t 8'
	play 'the first REQ and REP are lost, the RTU comes late' 'drop mad=REQ nth=1; delay=50ms mad=RTU' \
		'drop mad=REP nth=1' 'rping -s -a 10.78.0.2 -C 10 -V' 'rping -c -a 10.78.0.2 -C 10 -V'
	# The server waits until the connection is established. Instead of the lost RTU, the data of
	# the client shows that it is.
	play 'each RTU is lost' 'drop mad=RTU' 'duplicate mad=REP' \
		'rping -s -a 10.78.0.2 -C 10 -V' 'rping -c -a 10.78.0.2 -C 10 -V'
	play 'each RTU and a tenth of the packets are lost' 'drop mad=RTU; drop mad=* chance=10%' \
		'drop chance=10%' 'rping -s -a 10.78.0.2 -C 10 -V' 'rping -c -a 10.78.0.2 -C 10 -V'
else
	play 'a fifth of all messages is lost' 'drop tx rx mad=* chance=10%' 'drop tx rx mad=* chance=10%' \
		'ucmatose -b 10.78.0.2 -c 50 -C 5 -t 8' 'ucmatose -s 10.78.0.2 -c 50 -C 5 -t 8'
	for _ in 1 2 3; do
		play 'a fifth of all messages is lost, rping' 'drop tx rx mad=* chance=10%' \
			'drop tx rx mad=* chance=10%' 'rping -s -a 10.78.0.2 -C 100 -V' \
			'rping -c -a 10.78.0.2 -C 100 -V'
	done
fi
exit 0
