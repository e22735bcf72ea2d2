#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# dapl.sh - the test programs of uDAPL, connected by rdma_cm: data, RDMA, atomics and a thousand
# connections. They use a fixed TCP port, so they run in a network namespace of their own.
# shellcheck disable=SC2034 # by lib.sh
network=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
for program in dtest dtestx dtestcm; do
	command -v "$program" >/dev/null || skip "$program is not installed"
done
[ -n "$own_network" ] || skip 'there is no network of its own'
where=lo
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
limit=1800

for side in a b; do
	address=addr_$side
	cat >"$work/$side.conf" <<-END
		by-cm u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "${!address} 0" ""
	END
done
run_server=(env DAT_OVERRIDE="$work/a.conf" "${run_server[@]}")
run_client=(env DAT_OVERRIDE="$work/b.conf" "${run_client[@]}")
# Waits only for the TCP port: the programs listen for RDMA connections before that.
listens() { [ -n "$(ss -ltnH 'sport = :15828')" ] || ! kill -0 "$server_pid" 2>/dev/null; }

wire='RC_SEND_* RC_WRITE_* RC_READ_REQUEST RC_READ_RESPONSE_* RC_ACK' \
	play 'dtest: data, RDMA' dtest -P by-cm -b 65536 -- dtest -P by-cm -b 65536 -h "${server:?}"
grep -q 'Test Complete. PASSED' "$work/client.out" || fail "$(tail -3 "$work/client.out")"
wire='RC_WRITE_*_IMM RC_FETCH_ADD RC_CMP_SWAP RC_ATOMIC_ACK RC_ACK RC_WRITE_*? RC_SEND_*?' \
	play 'dtestx: immediate data, atomics' dtestx -P by-cm -- dtestx -P by-cm -h "${server:?}"
grep -q 'immed/atomic test PASSED' "$work/client.out" || fail "$(tail -3 "$work/client.out")"
play 'dtestcm: connections' dtestcm -P by-cm -- dtestcm -P by-cm -h "${server:?}"
grep -q 'Connections:.*Num=1000' "$work/client.out" || fail "$(tail -3 "$work/client.out")"
