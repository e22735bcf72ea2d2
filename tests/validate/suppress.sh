#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# suppress.sh - a suppression names functions as reports do, also those that have debug
# information alone; it holds for the stack of the call.
#
# usage: suppress.sh BIN-DIRECTORY PROGRAM
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
export VALIDATE_FINDINGS=$work/json
export ROCIN_VALIDATE=error,exitcode=0,log=$work/log,json=$VALIDATE_FINDINGS,suppress=$work/suppress
cat > "$work/run" <<'EOF'
#!/usr/bin/env bash
exec "$CASES" --exit life/use-after-destroy breach
EOF
chmod +x "$work/run"
export CASES=$2

bin=$1

# found FUNCTION: with a suppression of it, 0 if the finding is there
found() {
	echo "life/use-after-destroy $1" > "$work/suppress"
	rm -f "$work/json" "$work/log"
	"$here/../provider/kit/run_verbs.sh" "$bin" "$work/run" > "$work/out" 2>&1 ||
		{ cat "$work/out" && exit 1; }
	grep -q '"rule":"life/use-after-destroy"' "$work/json"
}

found nobody || { cat "$work/log" && echo 'FAILED: the finding is not there' && exit 1; }
grep -q ' in destroy_twice ' "$work/log" || { echo 'skipped: there are no lines' && exit 77; }
! found destroy_twice || { echo 'FAILED: destroy_twice is in the stack of the call' && exit 1; }
grep -q '"findings":0,"occurrences":0,"suppressed":1,"suppressed_occurrences":1}' "$work/json" ||
	{ tail -1 "$work/json" && echo 'FAILED: what is suppressed is not counted apart' && exit 1; }
found val_create_qp || { echo 'FAILED: val_create_qp has made the QP, and is not in that stack' && exit 1; }
