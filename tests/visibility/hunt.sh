#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hunt.sh - what `rocin hunt' prints and refuses: statuses, checkers, programs that hang, schedules of
# other programs, signals. That it finds what there is to find shows hunt.py.
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"
program=$ROCIN_TESTS/visibility
export TMPDIR=$work/tmp VISIBILITY_CHECK=1
export ROCIN_NETDEVS=lo:$addr_a,lo:$addr_b,lo:127.99.${addr_a#127.*.}
mkdir "$TMPDIR"
cd "$work" || exit 1

# hunt STATUS PATTERN ARG...: must end with the status and print the pattern
hunt() {
	local want=$1 pattern=$2 status
	shift 2
	timeout 600 rocin hunt "$@" >"$work/out" 2>&1
	status=$?
	[ "$status" = "$want" ] || fail "hunt $*: status $status, want $want: $(cat "$work/out")"
	grep -qE "$pattern" "$work/out" || fail "hunt $* lacks \"$pattern\": $(cat "$work/out")"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "hunt $* leaves $(ls -A "$TMPDIR")"
}

# A wrong program: the witness names the write, its event, rule and remedy; the schedule replays.
hunt 1 'when 1 write is late' -- "$program" gpu/imm-flag
for pattern in '^  late        rocin1 qp 1 request 1 gpu0 page 0$' '^  arrives     by ' '^  rule        GV1' \
	'^  remedy      ' '^  machines    wrong on switch.none, ports, c2c, relaxed; right on switch$' \
	'rocin hunt --replay rocin.hunt -- '; do
	grep -q -- "$pattern" "$work/out" || fail "the witness lacks \"$pattern\": $(cat "$work/out")"
done
[ "$(grep '^late' rocin.hunt)" = 'late rocin1 qp 1 request 1 gpu0 page 0' ] || fail "$(cat rocin.hunt)"
hunt 1 'ends with status 1' --replay rocin.hunt -- "$program" gpu/imm-flag
# The same writes do the mended program no harm.
hunt 0 'by a launch, flush or doorbell of gpu0' --replay rocin.hunt -- "$program" gpu/imm-launch
# A schedule of another program, or of another machine, or none.
hunt 64 'makes no write "rocin1 qp 1 request 1 gpu0 page 0"' --replay rocin.hunt -- "$program" host/write-imm
hunt 64 'made on a machine with' --replay rocin.hunt --pcie typical -- "$program" gpu/imm-flag
hunt 64 'is no schedule' --replay "$0" -- true
hunt 64 'No such file' --replay nowhere -- true

hunt 0 'Nothing found: the program ends well under 3 schedules' --runs 3 -- true
hunt 0 '"wrong": false' --json --runs 2 -- true
hunt 1 'although no write is late' --runs 2 -- false
hunt 1 'does not end within 0.2 s' --runs 1 --limit 0.2 -- sleep 3333
hunt 1 'wrong for the checker' --runs 2 --checker 'exit 3' -- true
hunt 0 'Nothing found' --runs 2 --checker true -- false
hunt 64 'which program'
hunt 64 'runs takes a number' --runs 0 -- true
hunt 127 'no such program' -- no-such-program-here
hunt 64 'holds no data' --pcie strict -- true

# A signal ends the program, too, and leaves nothing.
setsid rocin hunt -- sleep 4444 &
pid=$!
for _ in $(seq 600); do
	[ -z "$(ls "$TMPDIR"/*/output 2>/dev/null)" ] || break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
[ $? = 143 ] || fail 'the status after SIGTERM'
[ -z "$(ls -A "$TMPDIR")" ] || fail "SIGTERM leaves $(ls -A "$TMPDIR")"
echo ok
