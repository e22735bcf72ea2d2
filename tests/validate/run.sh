#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh - run the cases of a category of rules on a device of their own.
#
# usage: run.sh BIN-DIRECTORY PROGRAM CATEGORY
set -u
# Addresses are compared with the port, which has the MTU of Ethernet where a network of its own is to be had.
if [ "$3" = addressing ] && [ -z "${VALIDATE_NETWORK:-}" ]; then
	for how in -n -rn; do
		unshare "$how" true 2>/dev/null && exec env VALIDATE_NETWORK=own unshare "$how" "$0" "$@"
	done
fi
[ -z "${VALIDATE_NETWORK:-}" ] || PATH=$PATH:/usr/sbin:/sbin ip link set lo mtu 1500 up
here=$(cd "$(dirname "$0")" && pwd)
findings=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$findings"' EXIT
export VALIDATE_FINDINGS=$findings/findings
export ROCIN_VALIDATE=all,symbolize=off,exitcode=0,log=$findings/log,json=$VALIDATE_FINDINGS
"$here/../provider/kit/run_verbs.sh" "$1" "$2" '' '' "$3"
