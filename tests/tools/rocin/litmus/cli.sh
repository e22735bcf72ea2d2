#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cli.sh ROCIN BANK - what `rocin litmus` prints and how it ends.
set -u
rocin=$1 bank=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# ends STATUS ARGUMENTS...: runs, keeps the output in $work/out and $work/err
ends() {
	local want=$1 got
	shift
	"$rocin" litmus "$@" >"$work/out" 2>"$work/err"
	got=$?
	[ $got = "$want" ] && return
	echo "rocin litmus $*: ended with $got, not $want"
	cat "$work/out" "$work/err"
	failed=1
}

# says PATTERN [FILE]
says() {
	grep -qE -e "$1" "$work/${2:-out}" && return
	echo "no \"$1\" in:"
	cat "$work/${2:-out}"
	failed=1
}

# Without a file it is the bank that comes with rocin, and a name may be one of its files.
tests=$(cat "$bank"/*.litmus | grep -c '^RDMA ')
ends 0
says "^$tests tests, "
says '^M1-write\+write +F ok +F ok +F ok +A 1/2'
says '^([0-9]+) tests, ([0-9]+) verdicts: \2 ok; ([0-9]+) of \3 allowed states seen$'

ends 0 --list
[ "$(wc -l <"$work/out")" = "$tests" ] || { echo "--list: $(wc -l <"$work/out") lines of $tests tests"; failed=1; }
says '^M1-write\+write +02-mp.litmus +message passing by two WRITEs'
ends 0 --list --test=M1-
says '^M1-write\+write '
[ "$(wc -l <"$work/out")" = 1 ] || { echo '--list --test=M1- lists others'; failed=1; }
ends 0 --list --json 02-mp.litmus
python3 -c 'import json, sys
tests = json.load(sys.stdin)["tests"]
assert len(tests) > 5 and any(t["name"] == "M1-write+write" and "spins" in t["about"] for t in tests)' <"$work/out" ||
	failed=1
ends 2 00-no-such.litmus
says '^rocin: 00-no-such.litmus: No such file or directory$' err
mkdir "$work/bin"
cp "$rocin" "$work/bin/"
"$work/bin/rocin" litmus >"$work/out" 2>"$work/err"
[ $? = 2 ] || { echo 'a missing bank: not status 2'; failed=1; }
says '^rocin: the bank of tests .*/share/rocin/litmus is missing; install Rocin again, or name files or directories$' err

ends 0 --test=G2- --knobs=gpu=none "$bank/03-gpu.litmus"
says '^ +1 \*> B.gpu0:r0=0;   forbidden in: gpu=owner'
says '^Expected Allowed \(B.gpu0:r0=0\)   Observed Sometimes 1 1 .* ok$'
says '^Explorer: [0-9]+ states, 2 final, complete$'
says '^  B.gpu0   ld r0 d -> 0, while MWr d=1 is in '
says '^Remedy: flush: .*\(GV1\)$'

cat >"$work/wrong.litmus" <<'END'
RDMA two-writes
"a verdict that is wrong on purpose"
{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0; rule V5 P1 }
A.cpu | B.cpu ;
write q x <- #1 | wait y=1 ;
write q y <- #1 | ld r0 x ;
allowed (B.cpu:r0=0)
[place=any] forbidden (B.cpu:r0=0)
END
ends 1 "$work/wrong.litmus"
says '^!! UNREACHABLE  two-writes \(B.cpu:r0=0\)  typical$'
says '^!! FORBIDDEN  two-writes \(B.cpu:r0=0\)  typical,place=any$'
says 'wrong.litmus:8$'
says '^Remedy: '
head -1 "$work/out" | grep -q '^!!' || { echo 'failures do not come first'; failed=1; }

ends 1 --backend=model --runs=200 --seed=5 "$work/wrong.litmus"
says '^   again: --seed=[0-9]+ --runs=1$'
seed=$(sed -n 's/.*again: --seed=\([0-9]*\).*/\1/p' "$work/out" | head -1)
ends 1 --backend=model --runs=1 --seed="$seed" --knobs=place=any "$work/wrong.litmus"
says '^!! FORBIDDEN'

ends 0 --json --mode=all --test=M1 "$bank"
python3 - "$work/out" <<'END' || failed=1
import json, sys
r = json.load(open(sys.argv[1]))
runs = {run["knobs"]: run for run in r["tests"][0]["runs"]}
assert list(runs) == ["strict", "ibta", "typical", "adversarial"], list(runs)
weak = runs["adversarial"]
assert weak["complete"] and weak["verdicts"][0]["status"] == "ok"
stale = [s for s in weak["states"] if s["state"] == "B.cpu:r0=0;"][0]
assert any(step["text"] == "ld r0 x -> 0" or "ld r0 x -> 0" in step["text"]
           for step in stale["witness"])
END

printf 'RDMA x\n{ x@A.host=0 }\nA.cpu ;\nfly x ;\n' >"$work/bad.litmus"
ends 2 "$work/bad.litmus"
says 'bad.litmus:4:1: fly: no such instruction' err
ends 2 "$work/none.litmus"
printf '(* one\n' >"$work/open.litmus"
ends 2 "$work/open.litmus"
says 'open.litmus:1:1: expected the end of this comment' err
printf '(* nothing *)\n' >"$work/nothing.litmus"
ends 2 "$work/wrong.litmus" "$work/nothing.litmus"
says 'nothing.litmus: no test' err
printf 'RDMA x\n"x"\n{ x@B.host=0; q: A.nic0->B.nic0; rule V5, Z9 }\nA.cpu ;\nwrite q x <- #1 ;\nallowed (x=1)\n' >"$work/rule.litmus"
ends 2 "$work/rule.litmus"
says 'rule.litmus: x names the rule Z9' err
mkdir "$work/pipes"
mkfifo "$work/pipes/a.litmus"
ends 2 "$work/pipes"
says 'pipes: no file \*.litmus' err
ends 2 --mode= "$bank"
says 'names no mode' err
ends 2 --test=Z9 "$bank"
says 'no test begins with Z9' err
"$rocin" litmus --test=M1 "$bank" >/dev/full 2>"$work/err" && {
	echo 'output that cannot be written is no failure'
	failed=1
}
says 'No space left' err

# A test as facts, once for each set of knobs, and nothing else.
ends 0 --backend=facts --test=G9- "$bank/03-gpu.litmus"
says '^%% G9-flag-in-gpu-by-nic$'
says '^%% typical,.*relaxed=d'
says '^location\("d","B",gpu\(0\),0\)\. extent\("d",8,64\)\. relaxed\("d"\)\.$'
says '^instr\("B.gpu0",1,wait\)\. at\("B.gpu0",1,"g"\)\. operand\("B.gpu0",1,1\)\. number\(1\)\. % wait g=1$'
! grep -qvE '^(%%|knob|location|qp|queue|thread|instr|observed)' "$work/out" || { echo 'not only facts'; failed=1; }

# Requests, threads and locations with all that they can have.
cat >"$work/all.litmus" <<'LITMUS'
RDMA all
"fence, no completion, both ends of a READ, a launched thread, relaxed regions"
{ s@A.host=1, x@B.host=0, y@B.gpu0=0, z@A.host=0; q: A.nic0->B.nic0 }
A.cpu | B.cpu | B.gpu0 ;
write q x <- s U | launch B.gpu0 | ld r0 y ;
read q z <- x F | | ;
poll q | | ;
allowed (x=1)
[mr.relaxed=force] allowed (x=1)
LITMUS
ends 0 --backend=facts "$work/all.litmus"
says '^instr\("A.cpu",1,write\)\. request\("A.cpu",1,0,"q"\)\. unsignaled\(0\)\. element\(0,1,"x","s"\)\. % write'
says '^instr\("A.cpu",2,read\)\. request\("A.cpu",2,1,"q"\)\. fenced\(1\)\. element\(1,1,"x","z"\)\. % read'
says '^thread\("B.cpu","B",cpu,1\)\.$'
says '^thread\("B.gpu0","B",gpu\(0\),1\)\. launched\("B.gpu0"\)\.$'
says '^location\("s","A",cpu,1\)\. extent\("s",8,64\)\.$'
says '^location\("s","A",cpu,1\)\. extent\("s",8,64\)\. relaxed\("s"\)\.$'

# What is seen of a live run is kept where it is said, if that can be.
ends 2 --backend=live --state="$work/missing/state" --test=M1 "$bank"
says 'missing/state: No such file or directory' err

ends 64 --backend=magic "$bank"
ends 64 --runs=many "$bank"
ends 2 --knobs=place=purple "$bank"
exit $failed
