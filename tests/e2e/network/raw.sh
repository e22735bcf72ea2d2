#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# raw.sh - raw packet queue pairs and flow rules, on an interface without other traffic.
#
# usage: raw.sh DIRECTORY lo | veth | user [KNOBS]
#   lo, veth  in a network namespace of its own, as root: the test programs in DIRECTORY
#   user      without privilege: EPERM, and the device serves all else
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
programs=$1 where=$2 knobs=${3:-}
[ "$(id -u)" = 0 ] || skip 'network namespaces need root'

if [ "$where" = user ]; then
	another_user
	as_nobody test -x "$programs/verbs_raw_denied" ||
		skip 'the build directory is closed to other users'
	as_nobody timeout 1800 rocin run --netdev "lo:$addr_a" -- "$programs/verbs_raw_denied" ||
		fail 'a user without privilege'
	echo 'ok: EPERM without CAP_NET_RAW'
	exit 0
fi

ns=rocin-raw-$$
new_namespace "$ns"
export RAW_NETDEV=lo
if [ "$where" = veth ]; then
	# Prevents automatic addresses of the kernel, whose announcements would be additional
	# frames.
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv6.conf.default.disable_ipv6=1 2>/dev/null
	ip -n "$ns" link add va type veth peer name vb
	ip -n "$ns" addr add 10.79.0.1/24 dev va
	ip -n "$ns" link set va up
	ip -n "$ns" link set vb up
	wait_for carrier "$ns" va || fail 'the veth pair does not come up'
	export RAW_NETDEV=va RAW_PEER=vb
fi
for program in raw raw_senders flow counters rss raw_death; do
	ROCIN_PCIE=$knobs timeout 1800 nsenter --net="/run/netns/$ns" \
		rocin run --netdev "$RAW_NETDEV" -- "$programs/verbs_$program" \
		>"$work/out" 2>&1 || {
		tail -40 "$work/out"
		fail "verbs_$program on $where${knobs:+, $knobs}"
	}
	echo "ok: verbs_$program on $where${knobs:+, $knobs}"
done
