#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# iser.sh - iSCSI over RDMA: tgt serves a disk, and libiscsi's programs read, write and compare it.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
for program in tgtd tgtadm iscsi-inq iscsi-perf iscsi-test-cu; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
[ "$(id -u)" = 0 ] || skip 'tgtd wants root'
export TGT_IPC_SOCKET=$work/tgtd
limit=1800
head -c 67108864 /dev/urandom >"$work/disk"
name=iqn.2026-11.example:disk
lun=iser://$server/$name/1

start_server tgtd -f --iscsi portal="$server:3260" --iser pool_sz_mb=64
admin() { tgtadm --lld iser "$@" || fail "tgtadm $*: $(tail -3 "$work/server.out")"; }
wait_for tgtadm --lld iser --op show --mode sys >/dev/null 2>&1 ||
	fail "tgtd does not answer: $(tail -3 "$work/server.out")"
admin --op new --mode target --tid 1 -T "$name"
admin --op new --mode logicalunit --tid 1 --lun 1 -b "$work/disk"
admin --op bind --mode target --tid 1 -I ALL
for initiator in libiscsi:iscsi-inq test; do
	admin --op bind --mode target --tid 1 -Q "iqn.2007-10.com.github:sahlberg:$initiator"
done

ask() { # NAME COMMAND...
	local said=$1
	shift
	timeout 1800 "${run_client[@]}" "$@" >"$work/client.out" 2>&1 ||
		fail "$said: $(tail -5 "$work/client.out") $(tail -5 "$work/server.out")"
	echo "ok: $said"
}
me=iqn.2007-10.com.github:sahlberg:test
ask 'iscsi-inq' iscsi-inq "$lun"
grep -q 'Product:VIRTUAL-DISK' "$work/client.out" || fail 'iscsi-inq names no disk'
ask 'iscsi-perf' iscsi-perf -i "$me" -b 64 -m 8 -t 2 "$lun"
# Verify16 writes back what was read, and the target compares it with the content of its disk.
for test in Inquiry ReadCapacity10 Read10 Read16 Write10 Write16 Verify10 Verify16; do
	ask "iscsi-test-cu, $test" iscsi-test-cu -d -i "$me" -t "SCSI.$test.Simple" "$lun"
	! grep -F '[SKIPPED]' "$work/client.out" || fail "$test is skipped"
done
ask 'iscsi-test-cu, Verify16 of other bytes' iscsi-test-cu -d -i "$me" \
	-t SCSI.Verify16.Mismatch "$lun"
