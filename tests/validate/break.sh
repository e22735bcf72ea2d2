#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# break.sh - with `break' the first finding ends a program without a debugger by SIGTRAP, once it
# is written; without a finding the program goes on.
#
# usage: break.sh BIN-DIRECTORY PROGRAM
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
export VALIDATE_FINDINGS=$work/json
export ROCIN_VALIDATE=error,break,symbolize=off,exitcode=0,log=$work/log,json=$VALIDATE_FINDINGS
ulimit -c 0

cat > "$work/run" <<'EOF'
#!/usr/bin/env bash
"$CASES" --exit life/use-after-destroy "$HOW"
echo $? > "$STATUS"
EOF
chmod +x "$work/run"
export CASES=$2 HOW STATUS=$work/status

HOW=breach
"$here/../provider/kit/run_verbs.sh" "$1" "$work/run" || exit
[ "$(cat "$STATUS")" = $((128 + 5)) ] || { echo "no SIGTRAP: status $(cat "$STATUS")"; exit 1; }
grep -q 'life/use-after-destroy' "$work/log" || { echo "the finding is not in the log"; exit 1; }

HOW=keep
"$here/../provider/kit/run_verbs.sh" "$1" "$work/run" || exit
[ "$(cat "$STATUS")" = 0 ] || { echo "status $(cat "$STATUS") without a finding"; exit 1; }
