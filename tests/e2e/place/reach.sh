#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# reach.sh - `rocin run --reach=all`: programs that LD_PRELOAD does not reach find the devices
# and their counters in /sys and /dev, and what calls libibverbs beside that moves data.
#
# usage: reach.sh root|nobody
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
who=$1
as=()
if [ "$who" = nobody ]; then
	[ "$(id -u)" = 0 ] || skip 'wants to become nobody'
	another_user
	chmod 755 "$work"
	as_nobody test -x "$ROCIN_BIN/rocin" || skip 'the build directory is closed to other users'
	as_nobody unshare -Urm true 2>/dev/null || skip 'no user namespaces for users here'
	as=(as_nobody)
else
	unshare -m true 2>/dev/null || unshare -Urm true 2>/dev/null || skip 'no mount namespaces here'
fi
reach() { "${as[@]}" timeout 600 rocin run --netdev "lo:$addr_a" --reach=all -- "$@"; }

# A static program has no dynamic loader, so nothing is preloaded.
cat >"$work/look.c" <<'END'
#include <dirent.h>
#include <stdio.h>

int main(void)
{
	static const char *const where[] = { "/sys/class/infiniband", "/sys/class/infiniband_verbs",
					     "/sys/class/net", "/dev/infiniband", "/dev/shm" };
	char state[32] = "";
	FILE *f = fopen("/sys/class/infiniband/rocin0/ports/1/state", "r");

	if (!f || !fgets(state, sizeof(state), f))
		return 1;
	printf("%s", state);
	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		if (!opendir(where[i]))
			return perror(where[i]), 1;
	return 0;
}
END
gcc -static -o "$work/look" "$work/look.c" 2>"$work/err" || skip "no static C library: $(head -3 "$work/err")"
"$work/look" 2>/dev/null && skip 'this machine has a device of that name'
[ "$(reach "$work/look" 2>&1)" = '4: ACTIVE' ] || fail 'a static program does not find the port'
echo 'ok: a static program finds the port'

# What is there without Rocin is still there, and nothing of it is elsewhere.
list=(bash -c 'printf "%s\n" /dev/* /sys/class/* /sys/devices/virtual/*')
reach "${list[@]}" >"$work/inside"
"${list[@]}" >"$work/outside"
gone=$(comm -13 "$work/inside" "$work/outside")
[ -z "$gone" ] || fail "these have gone: $gone"
[ ! -e /sys/class/infiniband ] || [ ! -e /sys/class/infiniband/rocin0 ] || fail 'the machine has the device'
[ "$(reach id -u)" = "$("${as[@]}" id -u)" ] || fail 'another user'
echo 'ok: the rest of the machine is what it was'

# Both ends behind namespaces of their own, at the same addresses as any other program.
next_port
"${as[@]}" timeout 600 rocin run --netdev "lo:$addr_b" -- ibv_rc_pingpong -g 0 -n 100 -p "$port" >"$work/server" 2>&1 &
outside=$!
pids+=("$outside")
wait_for listening "$outside" || fail "ibv_rc_pingpong: $(cat "$work/server")"
reach ibv_rc_pingpong -g 0 -n 100 -p "$port" 127.0.0.1 >"$work/client" 2>&1 || fail "$(cat "$work/client")"
wait "$outside" || fail "$(cat "$work/server")"
echo 'ok: ibv_rc_pingpong with a program outside'

# The counters are at most a second old: this program reads them without Rocin.
cat >"$work/count.c" <<'END'
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long words = 0;

	/* a minute, for a machine that has no time */
	for (int i = 0; i < 600 && !words && argc == 2; i++) {
		FILE *f = fopen(argv[1], "r");

		if (!f || fscanf(f, "%lu", &words) != 1)
			return 1;
		fclose(f);
		usleep(100000);
	}
	return !words;
}
END
gcc -static -o "$work/count" "$work/count.c" || fail 'gcc'
cat >"$work/both" <<END
#!/bin/bash
ibv_rc_pingpong -g 0 -n 100 -p $port >/dev/null &
until ss -ltnH "sport = :$port" | grep -q .; do sleep 0.02; done
ibv_rc_pingpong -g 0 -n 100 -p $port 127.0.0.1 >/dev/null && wait \$! &&
	exec $work/count /sys/class/infiniband/rocin0/ports/1/counters/port_xmit_data
END
chmod 755 "$work/both"
reach "$work/both" || fail 'the counters stand still'
echo 'ok: a static program reads counters that count'

if command -v go >/dev/null; then
	cp "$(dirname "$0")/go_verbs.go" "$work"
	(cd "$work" && HOME=$work GO111MODULE=off GOCACHE=$work/cache CGO_ENABLED=1 go build -o go_verbs go_verbs.go) ||
		fail 'go build'
	reach "$work/go_verbs" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
	echo "ok: $(cat "$work/out")"
	"${as[@]}" rocin doctor --netdev "lo:$addr_a" -- "$work/go_verbs" >"$work/out" 2>&1
	grep -q 'rocin run --reach=all' "$work/out" || fail "the doctor of a Go program: $(cat "$work/out")"
else
	echo 'left out: golang-go is not installed'
fi
"${as[@]}" rocin doctor --netdev "lo:$addr_a" -- "$work/look" >"$work/out" 2>&1
grep -q 'finds the devices and their counters in /sys, but cannot open them' "$work/out" ||
	fail "the doctor of a static program: $(cat "$work/out")"
reach true --reach=none || fail 'options behind the program are its own'
rocin run --reach=some -- true 2>"$work/err" && fail '--reach=some'
grep -q '"preload" or "all"' "$work/err" || fail "$(cat "$work/err")"

if command -v prometheus-node-exporter curl >/dev/null; then
	next_port
	reach prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
		--web.listen-address="127.0.0.1:$port" >"$work/exporter" 2>&1 &
	exporter=$!
	pids+=("$exporter")
	wait_for listening "$exporter" || fail "$(cat "$work/exporter")"
	curl -s "127.0.0.1:$port/metrics" >"$work/metrics" || fail 'no metrics'
	for line in 'node_infiniband_info{.*device="rocin0"' 'node_infiniband_state_id{device="rocin0",port="1"} 4' \
		'node_infiniband_port_data_transmitted_bytes_total{device="rocin0",port="1"} [1-9]' \
		'node_scrape_collector_success{collector="infiniband"} 1'; do
		grep -q "$line" "$work/metrics" || fail "prometheus-node-exporter does not say: $line"
	done
	end_now "$exporter"
	echo "ok: prometheus-node-exporter shows $(grep -c '^node_infiniband' "$work/metrics") metrics"
else
	echo 'left out: prometheus-node-exporter or curl is not installed'
fi
# Whoever kept the counters has ended with its program.
ended() { ! pgrep -fx "rocin keep-counters $1" >/dev/null; }
# shellcheck disable=SC2016 # by the shell inside
reach bash -c 'echo $$' >"$work/pid"
wait_for ended "$(cat "$work/pid")" || fail 'the counters of a program that has ended are kept'
