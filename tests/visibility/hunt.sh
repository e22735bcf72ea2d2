#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hunt.sh - what `rocin hunt' prints, draws and refuses: statuses, checkers, programs that hang, schedules
# of other programs, full disks, signals. That it finds what there is to find shows hunt.py.
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

# drawn FILE PATTERN...: the picture has these lines
drawn() {
	local file=$1 pattern
	shift
	for pattern; do
		grep -q -- "$pattern" "$file" || fail "$file lacks \"$pattern\": $(cat "$file")"
	done
}

# A wrong program: the witness names the write, its event, rule and remedy; the schedule replays.
hunt 1 'when 1 write is late' --svg found.svg -- "$program" gpu/imm-flag
for pattern in '^  late        rocin1 qp 1 request 1 gpu0 page 0$' '^  arrives     by ' '^  rule        GV1' \
	'^  remedy      ' '^  machines    wrong on switch.none, ports, c2c, relaxed; right on switch$' \
	'rocin hunt --replay rocin.hunt -- '; do
	grep -q -- "$pattern" "$work/out" || fail "the witness lacks \"$pattern\": $(cat "$work/out")"
done
[ "$(grep '^late' rocin.hunt)" = 'late rocin1 qp 1 request 1 gpu0 page 0' ] || fail "$(cat rocin.hunt)"
drawn found.svg '^<title>The program ends with status 1 when 1 write is late</title>$' \
	"<text class='head'.*>rocin1</text>" "<text class='head'.*>program</text>" \
	"<text class='head'.*>gpu0</text>" "^<line class='late' " "^<polygon class='late' " \
	'>issued, and late: rocin1 qp 1 request 1 gpu0 page 0</text>' \
	'>the completion that was taken of request 1 of rocin1 qp 1</text>' "^<rect class='mark' " \
	"<text class='early'.*>reads too early, before rocin1 qp 1 request 1 gpu0 page 0</text>" \
	'>arrives by the end of the program</text>'
hunt 1 'ends with status 1' --replay rocin.hunt --svg again.svg -- "$program" gpu/imm-flag
cmp found.svg again.svg || fail 'a replay is drawn in another way'
hunt 1 '"early": true' --json --replay rocin.hunt -- "$program" gpu/imm-flag
python3 - "$work/out" <<'END' || fail "the events of $(cat "$work/out")"
import json
import sys
with open(sys.argv[1], encoding='ascii') as file:
    events = json.load(file)['events']
kinds = [e['event'] for e in events]
write = 'rocin1 qp 1 request 1 gpu0 page 0'
assert kinds[0] == 'issued' and kinds[-1] == 'performed' and kinds.count('read') == 1, kinds
assert events[0] == {'event': 'issued', 'agent': 'rocin1', 'write': write}, events[0]
assert events[-1]['write'] == write and events[-1]['by'] == 'the end of the program', events[-1]
assert {'event': 'read', 'agent': 'gpu0', 'write': write, 'early': True} in events, events
END
# The write of an atomic that is late, and the load that comes before it.
hunt 1 '"early": true' --json --keep atomic.hunt -- "$program" poll/atomic-then-flag
[ "$(grep '^late' atomic.hunt)" = 'late rocin1 qp 1 request 1 atomic host page 0' ] || fail "$(cat atomic.hunt)"
hunt 1 'ends with status 1' --replay atomic.hunt -- "$program" poll/atomic-then-flag
# Under the name that it had beside that of the atomic it is refused.
sed 's/ atomic / /' atomic.hunt >older.hunt
hunt 64 'makes no write "rocin1 qp 1 request 1 host page 0"; the nearest that it makes is "rocin1 qp 1 request 1 atomic host page 0"' \
	--replay older.hunt -- "$program" poll/atomic-then-flag
# The same writes do the mended program no harm.
hunt 0 'by a launch, flush or doorbell of gpu0' --replay rocin.hunt -- "$program" gpu/imm-launch
# A schedule of another program, or of another machine, or none.
hunt 64 'makes no write "rocin1 qp 1 request 1 gpu0 page 0"; the nearest that it makes is "rocin1 qp 1 request 1 host page [01]"' \
	--replay rocin.hunt -- "$program" host/write-imm
grep -q '^rocin: rocin.hunt is a schedule of: .*visibility gpu/imm-flag$' "$work/out" || fail "$(cat "$work/out")"
sed 's/^late .*/late rocin1 qp 1 request 2 host page 99/' rocin.hunt >near.hunt
hunt 64 'the nearest that it makes is "rocin1 qp 1 request 2 host page [0-9]+"$' --replay near.hunt -- \
	"$program" poll/atomic-then-flag
hunt 64 'makes no write "rocin1 .*"; it makes none' --replay rocin.hunt --svg other.svg -- true
[ ! -e other.svg ] || fail 'a schedule of another program is drawn'
hunt 64 'made on a machine with' --replay rocin.hunt --pcie typical -- "$program" gpu/imm-flag
hunt 64 'is no schedule' --replay "$0" -- true
hunt 64 'No such file' --replay nowhere -- true
hunt 64 'is no schedule' --replay "$work" -- true
head -c 5000 /dev/urandom >garbage
hunt 64 'garbage is no schedule' --replay garbage -- true
printf 'pcie blah\n' >garbage
hunt 64 '^rocin: garbage: "blah": a mode is ' --replay garbage -- true

hunt 0 'Nothing found: the program ends well under 3 schedules' --runs 3 -- true
hunt 0 '"wrong": false' --json --runs 2 -- true
hunt 1 'although no write is late' --runs 2 -- false
hunt 1 'does not end within 0.2 s' --runs 1 --limit 0.2 -- sleep 3333
hunt 0 'well under 1 schedules' --runs 50 --budget 0.1 -- sleep 0.1
hunt 0 'well under 3 schedules' --runs 3 --budget 600 -- true
# shellcheck disable=SC2016 # expanded by the program
hunt 1 'went wrong once \(it ends with status 3\)' --runs 2 -- sh -c 'test -e once || { touch once; exit 3; }'
hunt 1 'wrong for the checker' --runs 2 --checker 'exit 3' -- true
hunt 0 'Nothing found' --runs 2 --checker true -- false
hunt 64 'which program'
hunt 64 'runs takes a number' --runs 0 -- true
hunt 127 'no such program' -- no-such-program-here
hunt 64 'holds no data' --pcie strict -- true

# Files that cannot be written: one sentence, also if the disk is full in the middle of a run.
one_sentence() {
	[ "$(wc -l <"$work/out")" = 1 ] || fail "more than a sentence: $(cat "$work/out")"
}
hunt 1 '^rocin: /dev/full: No space left on device$' --keep /dev/full -- "$program" gpu/imm-flag
one_sentence
hunt 1 '^rocin: /dev/full: No space left on device$' --svg /dev/full -- "$program" gpu/imm-flag
one_sentence
hunt 1 '^rocin: nowhere/x: No such file or directory$' --keep nowhere/x -- "$program" gpu/imm-flag
one_sentence
TMPDIR=nowhere timeout 60 rocin hunt -- true >"$work/out" 2>&1
[ $? = 1 ] && grep -q '^rocin: nowhere/rocin-hunt-.*: No such file or directory$' "$work/out" ||
	fail "no folder: $(cat "$work/out")"
mkdir full
# shellcheck disable=SC2016 # expanded by the inner shell
in_full='mount -t tmpfs -o size=4k tmpfs full && head -c 4096 /dev/zero >full/file 2>/dev/null || exit 77
	TMPDIR=$PWD/full timeout 100 rocin hunt -- true; echo "status $?"; ls full'
if unshare -Urm sh -c "$in_full" >"$work/out" 2>&1; then
	[ "$(cat "$work/out")" = "$(printf 'rocin: %s: No space left on device\nstatus 1\nfile' \
		"$(sed -n '1s/^rocin: \(.*\): No space.*/\1/p' "$work/out")")" ] || fail "full disk: $(cat "$work/out")"
fi

# start_hunt SECONDS: a hunt whose program sleeps for so long; $pid is the hunt
has_begun() { [ -n "$(ls "$TMPDIR"/*/output 2>/dev/null)" ]; }
start_hunt() {
	setsid rocin hunt -- sleep "$1" &
	pid=$!
	wait_for has_begun || fail 'no program runs'
}

# A hunt that is killed leaves no program.
start_hunt 5555
child=$(LD_PRELOAD='' pgrep -P "$pid")
kill -KILL "$pid"
wait "$pid"
wait_for test ! -e "/proc/$child" || fail "SIGKILL leaves a program: $(tr '\0' ' ' <"/proc/$child/cmdline")"
rm -r "${TMPDIR:?}"/*

# A signal ends the program, too, and leaves nothing.
start_hunt 4444
kill -TERM "$pid"
wait "$pid"
[ $? = 143 ] || fail 'the status after SIGTERM'
[ -z "$(ls -A "$TMPDIR")" ] || fail "SIGTERM leaves $(ls -A "$TMPDIR")"
echo ok
