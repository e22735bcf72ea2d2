#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# sanitize.sh - the reports of `rocin run --sanitize', what it does not report, and how programs end
# under it.
#
# usage: sanitize.sh findings|examples|classes|device|pingpong|perftest|verify
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
quick_perftest

# sanitized STATUS COMMAND...: runs the command under the sanitizer, with its messages in $work/err
sanitized() {
	local expected=$1 status
	shift
	timeout "$limit" rocin run --netdev "lo:$addr_a" --sanitize${sanitize:+=$sanitize} \
		${knobs:+--pcie=$knobs} -- "$@" >"$work/out" 2>"$work/err"
	status=$?
	[ "$status" = "$expected" ] ||
		fail "$*: status $status, not $expected: $(cat "$work/out" "$work/err")"
}

says() {
	local text
	for text in "$@"; do
		grep -qF -- "$text" "$work/err" || fail "no '$text' in: $(cat "$work/err")"
	done
}

silent() {
	! grep -q 'rocin: ' "$work/err" || fail "$*: $(cat "$work/err")"
	echo "ok: silent: $*"
}

# finds CASE TEXT...: this case of hasty.c must have one finding, with these texts
finds() {
	local name=$1
	shift
	sanitized 66 "$ROCIN_TESTS/hasty" "$name"
	says 'rocin: finding 1: ' 'rocin: 1 finding (' 'in hasty, process' "$@"
	! grep -q 'finding 2' "$work/err" || fail "$name: $(cat "$work/err")"
	echo "ok: $name"
}

sanitize='' knobs=''
case $1 in
findings)
	finds source 'source changed' 'RDMA WRITE, wr_id 0x70, request 0; 256 bytes at 0x' \
		'take the completion of this request' '(1 occurrence)' 'where it was posted:' '/hasty'
	finds source-last-byte 'source changed'
	finds page 'source changed' 'where it was posted:'
	sanitize=all finds page 'source changed' 'of the store:' 'where it was posted:'
	sanitized 66 "$ROCIN_TESTS/hasty" source-unsignaled
	says 'source changed' '2 findings'
	finds thrice 'source changed' '(3 occurrences)'
	finds fence-local 'missing fence' 'first       RDMA READ, wr_id 0x70' \
		'then        RDMA WRITE, wr_id 0x71' 'read its source before' 'IBV_SEND_FENCE'
	finds fence-remote 'missing fence' 'change the remote bytes before'
	finds fence-atomic 'missing fence' 'first       fetch and add'
	sanitized 66 "$ROCIN_TESTS/hasty" both
	says 'finding 1: source changed' 'finding 2: missing fence' 'rocin: 2 findings (2 occurrences)'
	# All findings are counted, but only the first 256 are reported.
	sanitize=on,symbolize=off sanitized 66 "$ROCIN_TESTS/hasty" many
	says 'finding 256: source' 'rocin: 320 findings (320 occurrences) in hasty' \
		'rocin: the first 256 are reported above, the other 64 are counted only'
	! grep -q 'finding 257' "$work/err" || fail 'more than 256 reports'
	echo 'ok: many findings'
	for name in polled inlined received-into fenced; do
		sanitized 0 "$ROCIN_TESTS/hasty" "$name"
		silent "$name"
	done
	for knobs in ibta typical,seed=3; do
		finds source 'source changed'
		finds fence-local 'missing fence'
	done
	knobs=''

	# How programs end.
	sanitized 3 "$ROCIN_TESTS/hasty" fails
	says 'rocin: 1 finding'
	sanitized 66 "$ROCIN_TESTS/hasty" forks
	[ "$(grep -c 'rocin: 1 finding (' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
	sanitize=on,exitcode=7 sanitized 7 "$ROCIN_TESTS/hasty" source
	sanitize=all,exitcode=0 sanitized 0 "$ROCIN_TESTS/hasty" source
	says 'rocin: 1 finding'
	sanitize=log="$work/log.%p" sanitized 66 "$ROCIN_TESTS/hasty" source
	silent 'a log'
	cat "$work"/log.* >"$work/err"
	says 'source changed' 'rocin: 1 finding'
	# Findings in child processes are reported, too.
	sanitized 66 sh -c "$ROCIN_TESTS/hasty source; exec $ROCIN_TESTS/hasty fence-local"
	[ "$(grep -c 'rocin: 1 finding (' "$work/err")" = 2 ] || fail "$(cat "$work/err")"
	echo 'ok: how programs end'

	ROCIN_LOG=trace sanitized 0 "$ROCIN_TESTS/hasty" polled
	says 'sanitizer: on, PCIe layer: typical,gpu.ordering=none,driver=adversarial'
	knobs=typical,seed=3 ROCIN_LOG=trace sanitized 0 "$ROCIN_TESTS/hasty" polled
	says 'sanitizer: on, PCIe layer: typical,seed=3'

	# Signal handlers of the program, set by functions or by system calls, are called after
	# those of the sanitizer.
	for name in handler raw-handler; do
		sanitize=all finds $name 'source changed' 'of the store:'
	done
	# System calls on closed pages do not fail.
	for sanitize in '' all; do
		sanitized 0 "$ROCIN_TESTS/spinner" call
	done
	sanitize=''
	# If the program prevents single-stepping, this is reported once.
	for name in trap-handler:'the program handles SIGTRAP itself' \
		trap-blocked:'a thread of the program blocks SIGTRAP'; do
		sanitized 0 "$ROCIN_TESTS/hasty" "${name%%:*}"
		[ "$(grep -c 'only the first access is checked' "$work/err")" = 1 ] ||
			fail "$name: $(cat "$work/err")"
		says "rocin: ${name#*:}: "
	done
	# The sanitizer cannot check a program that loads no libraries.
	if ${CC:-cc} -static -o "$work/static" -x c - 2>/dev/null <<<'int main(void) { return 0; }'; then
		sanitized 126 "$work/static"
		says 'is statically linked'
		timeout "$limit" rocin run --sanitize --force -- "$work/static" 2>"$work/err" ||
			fail 'a static program does not run'
		says 'is statically linked' 'the sanitizer sees nothing of it'
		timeout "$limit" rocin run --force -- "$work/static" 2>"$work/err"
		[ ! -s "$work/err" ] || fail "said without the sanitizer: $(cat "$work/err")"
	fi
	echo 'ok: what it cannot watch is said'

	# Settings that are refused.
	sanitize=everything sanitized 64 true
	says '"everything" is not on, all, off'
	knobs=strict sanitized 64 true
	says 'holds no data back'
	sanitize=off sanitized 0 "$ROCIN_TESTS/hasty" source
	silent off
	;;
examples)
	examples=$(find "$ROCIN_BIN/.." -maxdepth 4 -type d -path '*/rocin/examples' | head -1)
	worst=driver=adversarial,hold=inf,hold.polls=inf
	# example NAME KNOBS TEXT...: the faulty form must report these texts, the mended form
	# nothing. The faulty form must end with status 1 (it has read old bytes), or with $status.
	status=1
	example() {
		local name=$1
		knobs=$2
		shift 2
		sanitized "$status" "$examples/$name"
		says 'rocin: finding 1: ' "$@"
		sanitized 0 "$examples/$name" --mended
		silent "$name --mended"
	}
	example read-completion "typical,gpu.ordering=none,$worst" 'stale read' \
		'by a kernel of gpu0' 'our RDMA READ' 'waits in    inside:gpu0' 'GV1' \
		'rn_gpu_flush()' 'of the read:'
	example write-immediate "typical,gpu.ordering=none,$worst" 'stale read' \
		'receive of an immediate' 'GV1'
	example write-send "typical,gpu.ordering=none,$worst" 'stale read' 'receive of a SEND'
	example cpu-flag "typical,$worst" 'stale read' 'waits in    dn:gpu0,' 'D2a' \
		'rn_gpu_wait_host()'
	example loopback-read "typical,gpu.ordering=none,rc.p2p=split,$worst" 'stale read' \
		'waits in    dn:gpu0<nic0,' 'B2a' 'loopback QP'
	example storage-completion "typical,gpu.ordering=none,$worst" 'stale read' \
		'nvme0, a file read' 'GV1'
	example storage-route "typical,rc.p2p=split,$worst" 'stale read' 'dn:gpu0<nvme0'
	example load-then-send "typical,rc.p2p=split,$worst" 'stale read' \
		'by nic0 for an RDMA WRITE with immediate' 'where that was posted:'
	example source-reuse adversarial 'source changed'
	# Whether one of its messages is seen only in part is a matter of chance.
	sanitize=all knobs=typical,place=any
	timeout "$limit" rocin run --netdev "lo:$addr_a" --sanitize=all --pcie=$knobs -- \
		"$examples/last-byte" >"$work/out" 2>"$work/err"
	[ $? -le 1 ] || fail "last-byte: $(cat "$work/out" "$work/err")"
	says 'rocin: finding 1: ' 'unordered read' 'host memory, by the cpu' \
		'none that covers it has been taken' 'poll a completion'
	sanitized 0 "$examples/last-byte" --mended
	silent 'last-byte --mended'
	;;
classes)
	example=$(find "$ROCIN_BIN/.." -maxdepth 5 -path '*/rocin/examples/read-completion' | head -1)
	# plain FILE: prints the file without what differs from run to run, and with only one line
	# of each stack trace, because the compiler decides how many functions there are. The source
	# line is in it if the program has debug information and rocin-symbolize was built.
	frames='/^ *#[1-9]/d'
	if [ ! -x "${example%/*}/../rocin-symbolize" ] ||
		! readelf -S "$example" | grep -q '\.debug_line'; then
		frames='/^ *#/d; /without lines/d'
	fi
	plain() {
		sed 's/0x[0-9a-f]*/0x/g; s/[0-9]* us before/us before/; s/process [0-9]*/process/
			s, /[^ ]*/tools/, tools/,; s/\(\.c:[0-9]*\):.*/\1/; '"$frames" "$1"
	}
	# The reports in README.md and in tools/docs/visibility.md are equal to the real output.
	sanitized 1 "$example"
	cat "$work/err" "$work/out" >"$work/printed"
	for page in README.md tools/docs/visibility.md; do
		awk '/^\$ rocin run --sanitize -- .*read-completion/ { on = 1; next } on && /^```/ { exit } on' \
			"$(dirname "$0")/../../../$page" >"$work/documented"
		[ -s "$work/documented" ] || fail "no report in $page"
		diff <(plain "$work/documented") <(plain "$work/printed") || fail "$page has another report"
	done
	# Without symbols, the report has addresses in files, which other programs can look up.
	sanitize=on,symbolize=off sanitized 1 "$example"
	grep -qE '^    #0 0x[0-9a-f]+ \(.*/read-completion\+0x[0-9a-f]+\)' "$work/err" ||
		fail "no frame in: $(cat "$work/err")"
	# On this machine the same program is right: only settings that ask for other machines
	# report it.
	knobs=typical
	for sanitize in on given switch; do
		sanitized 0 "$example"
		silent "$sanitize"
	done
	verdict='verdict: switch right, switch.none wrong, ports wrong, c2c wrong, relaxed wrong'
	for sanitize in switch.none ports switch,c2c,exitcode=66 relaxed; do
		sanitized 66 "$example"
		says 'finding 1: stale read' "$verdict"
	done
	# If the log file cannot be opened, reports are written where they would be without one.
	sanitize=relaxed,log=$work/missing/log sanitized 66 "$example"
	says "ROCIN_SANITIZE: $work/missing/log: No such file or directory" 'finding 1: stale read' "$verdict"
	sanitize=switch,summary sanitized 0 "$example"
	[ "$(cat "$work/err")" = "rocin: $verdict" ] || fail "summary: $(cat "$work/err")"
	knobs='' sanitize=summary sanitized 0 "$example" --mended
	says 'verdict: switch right, switch.none right, ports wrong, c2c wrong, relaxed right'
	;;
device)
	# The program treats this memory as ordinary memory, but it is that of a GPU below another
	# root port, so a completion does not guarantee that the data is there. Below the same
	# switch, the CPU's loads push the data.
	export ROCIN_SANITIZE=on,log=$work/log ROCIN_PCIE_DEVICE=all
	export ROCIN_PCIE=adversarial,driver=adversarial,hold=inf,hold.polls=inf
	(verify_pair 'device memory, split' --type rc -n 100 --timeout 18) >"$work/said" 2>&1 &&
		fail 'verify is right although its loads push nothing'
	cat "$work/log" "$work/said" >"$work/err"
	says 'stale read' 'in memory of gpu0, by the cpu' 'completion  ' \
		'waits in    dn:gpu0<nic0' 'of the read:' '/verify'
	rm "$work/log"
	ROCIN_PCIE=typical verify_pair 'device memory, shared' --type rc -n 100 --timeout 18
	[ ! -s "$work/log" ] || fail "findings: $(cat "$work/log")"
	;;
pingpong | perftest | verify)
	# Correct programs: they end with 0, and no finding is printed.
	export ROCIN_SANITIZE=on,log=$work/log ROCIN_PCIE=adversarial
	both() {
		next_port
		pair "$*" "$@" -p "$port" -- "$@" -p "$port" 127.0.0.1
	}
	if [ "$1" = pingpong ]; then
		both ibv_rc_pingpong -g 0 -n 100 -c
		both ibv_rc_pingpong -g 0 -n 100 -c -e -s 100000
		both ibv_uc_pingpong -g 0 -n 100
		both ibv_ud_pingpong -g 0 -n 100
	elif [ "$1" = perftest ]; then
		for program in write_bw read_bw send_bw atomic_bw write_lat read_lat send_lat; do
			both "ib_$program" -x 0 -F -n 100
		done
		both ib_send_bw -x 0 -F -n 50 -c UD
		both ib_write_bw -x 0 -F -n 20 -q 4 -b
	else
		for kind in rc uc ud; do
			verify_pair "$kind" --type "$kind" -n 300 --timeout 16
			verify_pair "$kind, events" --type "$kind" -n 200 --events --timeout 16
		done
		ROCIN_FAULT=drop=1%,seed=3 verify_pair 'rc, 1 % loss' --type rc -n 200 \
			--lossy --timeout 13
	fi
	# The same with `all': ib_write_lat polls memory in a loop.
	export ROCIN_SANITIZE=all,log=$work/log
	if [ "$1" = pingpong ]; then
		both ibv_rc_pingpong -g 0 -n 100 -c -s 100000
	elif [ "$1" = perftest ]; then
		both ib_write_bw -x 0 -F -n 50
		both ib_write_lat -x 0 -F -n 20
	else
		verify_pair 'all: rc' --type rc -n 200 --timeout 16
	fi
	[ ! -s "$work/log" ] || fail "findings: $(cat "$work/log")"
	[ -e "$work/log" ] || fail 'the sanitizer was not there'
	;;
*)
	fail "usage: $0 findings|examples|classes|device|pingpong|perftest|verify"
	;;
esac
