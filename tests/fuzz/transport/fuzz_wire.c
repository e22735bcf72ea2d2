/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_wire.c - any bytes as a packet from BTH to ICRC: what parses must survive being
 * emitted and parsed again, the headers must add up to the length in the opcode table,
 * and the ICRC check must accept what is sealed.
 */
#include <stdlib.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Parse a header at *p, emit it, parse that: both must agree, byte for byte once
 * emitted. The structs are zeroed first, so that their padding agrees too.
 */
#define ROUND_TRIP(name, type, len)                                          \
	static bool round_trip_##name(const uint8_t **p, const uint8_t *end) \
	{                                                                    \
		uint8_t once[len], twice[len];                               \
		type a, b;                                                   \
                                                                             \
		memset(&a, 0, sizeof(a));                                    \
		if (rn_##name##_parse(&a, *p, end))                          \
			return false;                                        \
		require(end - *p >= len);                                    \
		require(EMIT_##name(once, a) == once + len);                 \
		require(rn_##name##_parse(&b, once, once + len) == 0);       \
		require(EMIT_##name(twice, b) == twice + len);               \
		require(memcmp(once, twice, len) == 0);                      \
		*p += len;                                                   \
		return true;                                                 \
	}

#define EMIT_bth(p, v) rn_bth_emit(p, &(v))
#define EMIT_reth(p, v) rn_reth_emit(p, &(v))
#define EMIT_aeth(p, v) rn_aeth_emit(p, &(v))
#define EMIT_atomic_eth(p, v) rn_atomic_eth_emit(p, &(v))
#define EMIT_deth(p, v) rn_deth_emit(p, &(v))
#define EMIT_feth(p, v) rn_feth_emit(p, &(v))
#define EMIT_atomic_ack_eth(p, v) rn_atomic_ack_eth_emit(p, v)
#define EMIT_imm(p, v) rn_imm_emit(p, v)
#define EMIT_ieth(p, v) rn_ieth_emit(p, v)
#define EMIT_xrceth(p, v) rn_xrceth_emit(p, v)

ROUND_TRIP(bth, struct rn_bth, RN_BTH_LEN)
ROUND_TRIP(deth, struct rn_deth, RN_DETH_LEN)
ROUND_TRIP(xrceth, uint32_t, RN_XRCETH_LEN)
ROUND_TRIP(feth, struct rn_feth, RN_FETH_LEN)
ROUND_TRIP(reth, struct rn_reth, RN_RETH_LEN)
ROUND_TRIP(atomic_eth, struct rn_atomic_eth, RN_ATOMIC_ETH_LEN)
ROUND_TRIP(aeth, struct rn_aeth, RN_AETH_LEN)
ROUND_TRIP(atomic_ack_eth, uint64_t, RN_ATOMIC_ACK_ETH_LEN)
ROUND_TRIP(imm, uint32_t, RN_IMM_LEN)
ROUND_TRIP(ieth, uint32_t, RN_IETH_LEN)

/* In the order of the wire. */
static const struct {
	uint32_t flag;
	bool (*round_trip)(const uint8_t **p, const uint8_t *end);
} headers[] = {
	{ RN_OP_DETH, round_trip_deth },
	{ RN_OP_XRCETH, round_trip_xrceth },
	{ RN_OP_FETH, round_trip_feth },
	{ RN_OP_RETH, round_trip_reth },
	{ RN_OP_ATOMIC_ETH, round_trip_atomic_eth },
	{ RN_OP_AETH, round_trip_aeth },
	{ RN_OP_ATOMIC_ACK_ETH, round_trip_atomic_ack_eth },
	{ RN_OP_IMM, round_trip_imm },
	{ RN_OP_IETH, round_trip_ieth },
};

static void walk_headers(const uint8_t *data, size_t size)
{
	const struct rn_opcode_info *info = &rn_opcode_info[data[0]];
	const uint8_t *p = data, *end = data + size;

	if (!round_trip_bth(&p, end) || !rn_opcode_is_known(data[0]))
		return;
	for (size_t i = 0; i < RN_ARRAY_SIZE(headers); i++) {
		if (!(info->flags & headers[i].flag))
			continue;
		if (!headers[i].round_trip(&p, end)) {
			require(size < info->hdr_len);
			return;
		}
	}
	if (info->flags & RN_OP_NOTIFY)
		p += RN_CNP_RESERVED_LEN;
	require((size_t)(p - data) == info->hdr_len);
}

static void check_icrc(const uint8_t *data, size_t size)
{
	struct rn_flow flow = { .sport = 0xc000 };
	struct rn_icrc_hint hint = { .last_id = data[1], .habit = data[2] % 4 };
	uint16_t ip_id = rn_get_be16(data + 2);
	uint8_t *copy;

	/* Not a question of right or wrong, only of staying inside. */
	rn_icrc_check(&hint, &flow, data, size, data[3], data[5] & 1);
	if (size < RN_BTH_LEN || size > RN_ICRC_DATA_MAX)
		return;

	for (unsigned i = 10; i < 12 && data[0] & 1; i++)
		flow.src.raw[i] = flow.dst.raw[i] = 0xff; /* IPv4 */
	copy = malloc(size + RN_ICRC_LEN);
	require(copy != NULL);
	memcpy(copy, data, size);
	rn_icrc_seal(&flow, ip_id, copy, size);
	require(rn_icrc_check(&hint, &flow, copy, size + RN_ICRC_LEN, 0, false) !=
		RN_ICRC_BAD);
	/* Over IPv4 a damaged packet may be a good one of another identification. */
	copy[size] ^= 1;
	if (!rn_flow_is_ipv4(&flow))
		require(rn_icrc_check(&hint, &flow, copy, size + RN_ICRC_LEN, 0, false) ==
			RN_ICRC_BAD);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 6)
		return 0;
	walk_headers(data, size);
	check_icrc(data, size);
	return 0;
}
