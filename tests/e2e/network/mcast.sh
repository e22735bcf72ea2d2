#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# mcast.sh - a multicast group with members in several processes.
#
# usage: mcast.sh lo|users|rocind|perftest|bridge
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# Without a keeper rocind has no successor, so programs notice its death.
export ROCIN_KEEPER=no
group=239.$(($$ / 65536 % 128)).$(($$ / 256 % 256)).$(($$ % 256))

# member NAME COMMAND...: starts a member in the background, with its output in $work/NAME.out
members=()
member() {
	local name=$1
	shift
	timeout 1800 "$@" >"$work/$name.out" 2>&1 &
	pids+=("$!")
	members+=("$name:$!")
}
ready() {
	local m
	for m in "${members[@]}"; do
		[ -e "$work/${m%:*}.ready" ] || kill -0 "${m#*:}" 2>/dev/null || return 0
		[ -e "$work/${m%:*}.ready" ] || return 1
	done
}
# all NAME: lets the members send that are senders; all members must succeed
all() {
	local m
	wait_for ready || fail "$1: not all are ready"
	touch "$work/go"
	for m in "${members[@]}"; do
		wait "${m#*:}" || fail "$1: ${m%:*}: $(tail -3 "$work/${m%:*}.out")"
	done
	rm -f "$work/go" "$work"/*.ready
	echo "ok: $1: ${#members[@]} processes"
	members=()
}
# end NAME NETDEV OPTION...: starts one of our own members, with the prefix ${at[@]}
at=()
end() {
	local name=$1 netdev=$2
	shift 2
	member "$name" "${at[@]}" rocin run --netdev "$netdev" -- \
		"$ROCIN_TESTS/mcast" "$@" "$work/$name.ready" "$work/go"
}

# stop_members: ends the members when the test has checked them
stop_members() {
	local m
	for m in "${members[@]}"; do
		kill "${m#*:}"
		wait "${m#*:}" 2>/dev/null
	done
	rm -f "$work"/*.ready
	members=()
}
# drops: prints the number of packets that reached rocind
drops() {
	rocin stat --daemon --all | awk '/dropped_/ { n += $2 } END { print NR ? n + 0 : "?" }'
}

on_lo() {
	# A member that polls no completions: it runs out of receives, and the others do not.
	end idle "lo:$addr_a" -d -n 5 "$group"
	wait_for ready || fail 'no idle member'
	idle=("${members[@]}")
	members=()
	end one "lo:$addr_a" -r "$group"
	end two "lo:$addr_a" -r "$group"
	end three "lo:$addr_b" -r "$group"
	end sender "lo:$addr_b" -s "$group"
	all 'two processes of one address, one of another, a sender'
	end one "lo:$addr_a" -r -s -l 9 "$group"
	end two "lo:$addr_b" -r -l 9 "$group"
	end other "lo:$addr_b" -r -s -t 2 "${group/239/238}"
	all 'a sender gets its own, and another group nothing of it'
	[ "$(drops)" = 0 ] || fail "packets came to rocind: $(rocin stat --daemon)"
	echo 'ok: rocind saw none of it'
	members=("${idle[@]}")
	stop_members
}

users() {
	export ROCIN_NEIGHBOURS=all # both members are on this host
	local theirs
	[ "$(id -u)" = 0 ] || skip 'becoming another user needs root'
	theirs=$(mktemp -d)
	chown 65534:65534 "$theirs"
	chmod 711 "$work"
	as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups
		env "ROCIN_RUNTIME_DIR=$theirs/run" "HOME=$theirs")
	own_cleanup() {
		"${as_nobody[@]}" rocin stop >/dev/null 2>&1
		rm -rf "$theirs"
	}
	"${as_nobody[@]}" test -x "$ROCIN_TESTS/mcast" ||
		skip 'the build directory is closed to other users'
	ln -s "$theirs/ready" "$work/theirs.ready"
	end ours "lo:$addr_a" -r "$group"
	member theirs "${as_nobody[@]}" rocin run --netdev "lo:$addr_b" -- \
		"$ROCIN_TESTS/mcast" -r -s "$group" "$theirs/ready" "$work/go"
	all 'members of two users'
}

rocind() {
	local daemon
	end one "lo:$addr_a" -d "$group"
	end two "lo:$addr_b" -d "$group"
	wait_for ready || fail 'no member'
	daemon=$(daemon_pid)
	kill -9 "$daemon"
	all 'members outlive their devices when rocind dies'
	end one "lo:$addr_a" -r "$group"
	end two "lo:$addr_b" -r -s "$group"
	all 'with a new rocind the group works again'
}

perftest() {
	command -v ib_send_bw >/dev/null || skip 'perftest is not installed'
	local -a bw=(ib_send_bw -c UD -g -M "0:0:0:0:0:0:0:0:0:0:255:255:${group//./:}" -F -n 200)
	next_port
	pair 'ib_send_bw to a group' "${bw[@]}" -p "$port" -- "${bw[@]}" -p "$port" 127.0.0.1
}

# Three hosts on a bridge:
#   [a: 10.79.0.1, fd79::1] --- [br0] --- [b: 10.79.0.2, fd79::2]
#                                   `---- [c: 10.79.0.3, fd79::3]
bridge() {
	local host n ns=rocin-mc-$$
	new_namespace "$ns-br"
	ip -n "$ns-br" link add name br0 type bridge || skip 'no bridges here'
	ip -n "$ns-br" link set br0 up
	n=0
	for host in a b c; do
		n=$((n + 1))
		new_namespace "$ns-$host"
		ip -n "$ns-$host" link add eth type veth peer name "p$host" netns "$ns-br"
		ip -n "$ns-br" link set "p$host" master br0 up
		ip -n "$ns-$host" addr add "10.79.0.$n/24" dev eth
		ip -n "$ns-$host" addr add "fd79::$n/64" dev eth nodad
		ip -n "$ns-$host" link set eth up
	done
	for host in a b c; do
		wait_for settled "$ns-$host" eth || fail 'the bridge does not come up'
	done

	capture_wire eth nsenter --net="/run/netns/$ns-b"
	three_hosts 'IPv4' "$ns" 0 239.1.2.3
	three_hosts 'IPv6' "$ns" 1 ff05::1:2
	three_hosts 'IPv6, of the link' "$ns" 1 ff02::1:2
	three_hosts 'IPv6, from a link-local address' "$ns" 2 ff02::1:3
	three_hosts 'IPv6 that looks like IPv4' "$ns" 1 ff0e::ffff:239.1.2.3

	caught() { [ "$(count_packets 'ipv6.dst == ff0e::ffff:ef01:203')" = 21 ]; }
	wait_for caught || fail 'tcpdump has not seen the last packets'
	end_capture
	"$(dirname "$0")/../kit/judge-capture.sh" "$work/wire.pcap" || fail 'the capture'
	on_wire '239.1.2.3' 'eth.dst == 01:00:5e:01:02:03 && ip.ttl == 5 && ip.src == 10.79.0.1'
	on_wire 'ff05::1:2' 'eth.dst == 33:33:00:01:00:02 && ipv6.hlim == 5'

	# On the loopback interface, IPv6 groups need a route.
	at=(nsenter --net="/run/netns/$ns-a")
	remedy='ip -6 route add local ff00::/8 dev lo'
	"${at[@]}" rocin doctor | grep -q "$remedy" || fail 'rocin doctor does not say so'
	end lone lo -x ENETUNREACH -i 1 ff05::1:2
	all 'IPv6 groups on lo without a route are refused'
	# shellcheck disable=SC2086 # words
	"${at[@]}" $remedy || fail 'the route cannot be added'
	! "${at[@]}" rocin doctor | grep -q "$remedy" || fail 'rocin doctor still says so'
	end one lo -r -i 1 ff05::1:2
	end two lo -r -s -i 1 ff05::1:2
	all 'with a route they work'
	"${at[@]}" sysctl -qw net.ipv4.igmp_max_memberships=0
	end lone lo -x ENOMEM 239.1.2.3
	all 'the limit of the kernel is told'
	"${at[@]}" sysctl -qw net.ipv4.igmp_max_memberships=20
	# On other interfaces the route is added when the link is up.
	ip -n "$ns-c" link set eth down
	at=(nsenter --net="/run/netns/$ns-c")
	end early eth:10.79.0.3 -d ff05::1:2
	wait_for ready || fail 'no member on an interface that is down'
	[ -e "$work/early.ready" ] || fail "an interface that is down: $(cat "$work/early.out")"
	stop_members
	echo 'ok: an interface that is down can be a member'
	# The same group on two interfaces of a host: each device gets only the packets of its
	# interface.
	at=(nsenter --net="/run/netns/$ns-a")
	for group in 239.1.2.3 ff05::1:2; do
		local gid=0
		[ "$group" = 239.1.2.3 ] || gid=1
		end loop lo -r -t 2 -i $gid "$group"
		end ether eth -r -t 1 -i $gid "$group"
		end ether-sender eth -r -s -t 1 -i $gid "$group"
		at=(nsenter --net="/run/netns/$ns-b")
		end there eth -r -t 1 -i $gid "$group"
		at=(nsenter --net="/run/netns/$ns-a")
		wait_for ready || fail 'not all are ready'
		touch "$work/go"
		for m in "${members[@]}"; do
			case $m in loop:*) continue ;; esac
			wait "${m#*:}" || fail "two interfaces: ${m%:*}: $(tail -3 "$work/${m%:*}.out")"
		done
		members=("${members[0]}")
		end loop-sender lo -s -t 2 -i $gid "$group"
		all "two interfaces of one host, $group"
	done
}
# three_hosts NAME NAMESPACES GID GROUP: a sends; a itself, another process on its host, b and c
# must get all messages
three_hosts() {
	local host
	for host in b c; do
		at=(nsenter --net="/run/netns/$2-$host")
		end "$host" eth -r -i "$3" -l 5 "$4"
	done
	at=(nsenter --net="/run/netns/$2-a")
	end beside eth -r -i "$3" -l 5 "$4"
	end a eth -r -s -i "$3" -l 5 "$4"
	all "three hosts, $1"
}
# count_packets FILTER: prints the number of such packets in the capture
count_packets() {
	tshark -r "$work/wire.pcap" -Y "infiniband && $1" 2>/dev/null | wc -l
}
# on_wire GROUP FILTER: the capture must have packets to GROUP; all of them must be for QPN 0xffffff
# and match FILTER
on_wire() {
	local seen good to="ip.dst == $1"
	[[ $1 != *:* ]] || to="ipv6.dst == $1"
	seen=$(count_packets "$to")
	good=$(count_packets "$to && infiniband.bth.destqp == 0xffffff && $2")
	if [ "$seen" = 0 ] || [ "$seen" != "$good" ]; then
		fail "on the wire to $1: $seen packets, $good as they should be"
	fi
	echo "ok: tshark sees $seen packets to $1"
}

case $1 in
lo) on_lo ;;
users) users ;;
rocind) rocind ;;
perftest) perftest ;;
bridge) bridge ;;
esac
