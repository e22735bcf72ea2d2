#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# device-events.sh - an interface goes down and up, addresses come and go, rocind dies: the events
# that the program gets, and the contents of its tables.
#
# usage: device-events.sh link|address|rocind
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# Without a keeper rocind has no successor, so programs notice its death.
export ROCIN_KEEPER=no
what=$1
ns=rocin-e-$$
new_namespace "$ns"
ip -n "$ns" link add va type veth peer name vb
# The kernel would add link-local addresses at any time, so the test turns this off.
ip -n "$ns" link set va addrgenmode none
ip -n "$ns" link set vb addrgenmode none
ip -n "$ns" addr add 10.78.0.1/24 dev va
ip -n "$ns" addr add fd78::1/64 dev va nodad
ip -n "$ns" link set vb up
ip -n "$ns" link set va up
wait_for carrier "$ns" va || fail 'the veth pair does not come up'

mkfifo "$work/questions"
nsenter --net="/run/netns/$ns" rocin run --netdev va -- "$ROCIN_TESTS/device_events" \
	<"$work/questions" >"$work/events" 2>"$work/err" &
program=$!
pids+=("$program")
exec 3>"$work/questions"
said() { grep -qxF "$1" "$work/events"; }
wait_for said ready || fail "the program does not start: $(cat "$work/err")"

# ask QUESTION: sends a question to the program; the answer is in $work/answer
asked=0
ask() {
	local from
	from=$(($(wc -l <"$work/events") + 1))
	asked=$((asked + 1))
	printf '%s\nask %s\n' "$1" "$asked" >&3
	wait_for said "asked ask $asked" || fail "no answer to $1: $(cat "$work/err")"
	tail -n "+$from" "$work/events" | grep -v '^asked\|^event' >"$work/answer"
}

# told COUNT EVENT: true if each context has got this event COUNT times in total
told() {
	[ "$(grep -cxF "event 0 $2" "$work/events")" = "$1" ] &&
		[ "$(grep -cxF "event 1 $2" "$work/events")" = "$1" ]
}
expect_told() { wait_for told "$@" || fail "not $1 times: $2; $(cat "$work/events")"; }

port_is() {
	ask port
	[ "$(cat "$work/answer")" = "port $1" ]
}
gids_are() {
	ask gids
	[ "$(sort "$work/answer")" = "$(printf 'gid %s\n' "$@" | sort)" ]
}
expect_gids() { wait_for gids_are "$@" || fail "GIDs: $(cat "$work/answer")"; }

v4='0 ::ffff:10.78.0.1' v6='1 fd78::1'
err='port error' active='port active' changed='GID table change'
[ "$(grep -c . "$work/events")" = 1 ] || fail "events before anything happened: $(cat "$work/events")"
expect_gids "$v4" "$v6"

case $what in
link)
	# Only the carrier is lost: the peer interface goes down, and addresses stay.
	for i in 1 2 3; do
		ip -n "$ns" link set vb down
		expect_told "$i" "$err 1"
		port_is down || fail "$(cat "$work/answer")"
		ip -n "$ns" link set vb up
		expect_told "$i" "$active 1"
		port_is active || fail "$(cat "$work/answer")"
	done
	told 0 "$changed 1" || fail 'the GID table did not change'
	echo 'ok: carrier lost and found'
	# The interface itself goes down: it loses its IPv6 addresses.
	ip -n "$ns" link set va down
	expect_told 4 "$err 1"
	expect_gids "$v4"
	expect_told 1 "$changed 1"
	ip -n "$ns" link set va up
	expect_told 4 "$active 1"
	ip -n "$ns" addr add fd78::1/64 dev va nodad
	expect_gids "$v4" "$v6"
	expect_told 2 "$changed 1"
	echo 'ok: interface down and up'
	;;
address)
	ip -n "$ns" addr add 10.78.0.2/24 dev va
	expect_gids "$v4" "$v6" '2 ::ffff:10.78.0.2'
	expect_told 1 "$changed 1"
	ip -n "$ns" addr add fd78::2/64 dev va nodad
	expect_gids "$v4" "$v6" '2 ::ffff:10.78.0.2' '3 fd78::2'
	expect_told 2 "$changed 1"
	ip -n "$ns" addr del fd78::1/64 dev va
	expect_gids "$v4" '2 ::ffff:10.78.0.2' '3 fd78::2'
	expect_told 3 "$changed 1"
	# The address gets its old place in the table.
	ip -n "$ns" addr add fd78::1/64 dev va nodad
	expect_gids "$v4" "$v6" '2 ::ffff:10.78.0.2' '3 fd78::2'
	expect_told 4 "$changed 1"
	told 0 "$err 1" || fail 'the port had no error'
	echo 'ok: addresses come and go'
	# One event for the loss of the interface, and one for each address.
	ip -n "$ns" link del va
	expect_told 1 "$err 1"
	expect_told 8 "$changed 1"
	port_is down || fail "$(cat "$work/answer")"
	echo 'ok: the interface goes for good'
	;;
rocind)
	daemon=$(daemon_pid nsenter --net="/run/netns/$ns")
	kill -9 "$daemon"
	expect_told 1 'local catastrophic error 1'
	port_is down || fail "$(cat "$work/answer")"
	ask new
	grep -qx 'new 5' "$work/answer" || fail "a QP of a dead device: $(cat "$work/answer")"
	# No context has got any other event.
	[ "$(grep -c '^event' "$work/events")" = 2 ] || fail "$(cat "$work/events")"
	echo 'ok: rocind killed'
	;;
esac
exec 3>&-
wait_for said closed || fail "the program does not close: $(cat "$work/err")"
wait "$program" || fail "the program ended with $?: $(cat "$work/err")"
