#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh - run the cases of a category of rules on a device of their own.
#
# usage: run.sh BIN-DIRECTORY PROGRAM CATEGORY
set -u
here=$(cd "$(dirname "$0")" && pwd)
findings=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$findings"' EXIT
export VALIDATE_FINDINGS=$findings/findings
export ROCIN_VALIDATE=all,symbolize=off,exitcode=0,log=$findings/log,json=$VALIDATE_FINDINGS
"$here/../provider/run_verbs.sh" "$1" "$2" '' '' "$3"
