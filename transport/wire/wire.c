/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.c - functions that parse and write each header, and the tables of the
 * AETH's codes.
 */
#include <errno.h>

#include "rocin/wire.h"

/* Byte offsets and masks, as in the figures of the headers in the IBTA specification. */
enum {
	BTH_OPCODE = 0,
	BTH_FLAGS = 1, /* SE:1 MigReq:1 PadCnt:2 TVer:4 */
	BTH_PKEY = 2,
	BTH_ECN = 4, /* FECN:1 BECN:1 reserved:6 */
	BTH_DEST_QPN = 5,
	BTH_ACK_REQ = 8, /* AckReq:1 reserved:7 */
	BTH_PSN = 9,

	BTH_SE = 0x80,
	BTH_M = 0x40,
	BTH_PAD_SHIFT = 4,
	BTH_PAD_MASK = 0x3,
	BTH_TVER_MASK = 0x0f,
	BTH_F = 0x80,
	BTH_B = 0x40,
	BTH_A = 0x80,

	RETH_VA = 0,
	RETH_RKEY = 8,
	RETH_DMA_LEN = 12,

	ATOMIC_ETH_VA = 0,
	ATOMIC_ETH_RKEY = 8,
	ATOMIC_ETH_SWAP_ADD = 12,
	ATOMIC_ETH_COMPARE = 20,

	AETH_SYNDROME = 0,
	AETH_MSN = 1,

	DETH_QKEY = 0,
	DETH_SRC_QPN = 5, /* after 8 reserved bits */

	XRCETH_SRQN = 1, /* after 8 reserved bits */

	FETH_LAST = 3, /* reserved:2 selectivity:2 placement:4, after 24 reserved bits */
	FETH_SELECTIVITY_SHIFT = 4,
	FETH_SELECTIVITY_MASK = 0x3,
	FETH_PLACEMENT_MASK = 0xf,
};

#define U24_MAX 0xffffffu

int rn_bth_parse(struct rn_bth *bth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_BTH_LEN)
		return -EMSGSIZE;
	if (p[BTH_FLAGS] & BTH_TVER_MASK)
		return -EPROTO;

	*bth = (struct rn_bth){
		.opcode = p[BTH_OPCODE],
		.solicited = (p[BTH_FLAGS] & BTH_SE) != 0,
		.migreq = (p[BTH_FLAGS] & BTH_M) != 0,
		.ack_req = (p[BTH_ACK_REQ] & BTH_A) != 0,
		.fecn = (p[BTH_ECN] & BTH_F) != 0,
		.becn = (p[BTH_ECN] & BTH_B) != 0,
		.pad_cnt = p[BTH_FLAGS] >> BTH_PAD_SHIFT & BTH_PAD_MASK,
		.pkey = rn_get_be16(p + BTH_PKEY),
		.dest_qpn = rn_get_be24(p + BTH_DEST_QPN),
		.psn = rn_psn(rn_get_be24(p + BTH_PSN)),
	};
	return 0;
}

/* Writes a BTH, as three words (see rn_put_be32()), because the ICRC code reads these
 * words right afterwards.
 */
uint8_t *rn_bth_emit(uint8_t *p, const struct rn_bth *bth)
{
	uint32_t flags = (bth->solicited ? BTH_SE : 0u) | (bth->migreq ? BTH_M : 0u) |
			 (uint32_t)bth->pad_cnt << BTH_PAD_SHIFT;
	uint32_t ecn = (bth->fecn ? BTH_F : 0u) | (bth->becn ? BTH_B : 0u);
	uint32_t ack_req = bth->ack_req ? BTH_A : 0u;

	assert(bth->pad_cnt <= BTH_PAD_MASK);
	assert(bth->dest_qpn <= RN_QPN_MASK);
	assert(bth->psn.v <= RN_PSN_MASK);

	p = rn_put_be32(p, (uint32_t)bth->opcode << 24 | flags << 16 | bth->pkey);
	p = rn_put_be32(p, ecn << 24 | bth->dest_qpn);
	return rn_put_be32(p, ack_req << 24 | bth->psn.v);
}

int rn_reth_parse(struct rn_reth *reth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_RETH_LEN)
		return -EMSGSIZE;
	*reth = (struct rn_reth){
		.va = rn_get_be64(p + RETH_VA),
		.rkey = rn_get_be32(p + RETH_RKEY),
		.dma_len = rn_get_be32(p + RETH_DMA_LEN),
	};
	return 0;
}

uint8_t *rn_reth_emit(uint8_t *p, const struct rn_reth *reth)
{
	rn_put_be64(p + RETH_VA, reth->va);
	rn_put_be32(p + RETH_RKEY, reth->rkey);
	return rn_put_be32(p + RETH_DMA_LEN, reth->dma_len);
}

int rn_atomic_eth_parse(struct rn_atomic_eth *eth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_ATOMIC_ETH_LEN)
		return -EMSGSIZE;
	*eth = (struct rn_atomic_eth){
		.va = rn_get_be64(p + ATOMIC_ETH_VA),
		.rkey = rn_get_be32(p + ATOMIC_ETH_RKEY),
		.swap_add = rn_get_be64(p + ATOMIC_ETH_SWAP_ADD),
		.compare = rn_get_be64(p + ATOMIC_ETH_COMPARE),
	};
	return 0;
}

uint8_t *rn_atomic_eth_emit(uint8_t *p, const struct rn_atomic_eth *eth)
{
	rn_put_be64(p + ATOMIC_ETH_VA, eth->va);
	rn_put_be32(p + ATOMIC_ETH_RKEY, eth->rkey);
	rn_put_be64(p + ATOMIC_ETH_SWAP_ADD, eth->swap_add);
	return rn_put_be64(p + ATOMIC_ETH_COMPARE, eth->compare);
}

int rn_aeth_parse(struct rn_aeth *aeth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_AETH_LEN)
		return -EMSGSIZE;
	*aeth = (struct rn_aeth){
		.syndrome = p[AETH_SYNDROME],
		.msn = rn_get_be24(p + AETH_MSN),
	};
	return 0;
}

uint8_t *rn_aeth_emit(uint8_t *p, const struct rn_aeth *aeth)
{
	assert(aeth->msn <= U24_MAX);

	p[AETH_SYNDROME] = aeth->syndrome;
	return rn_put_be24(p + AETH_MSN, aeth->msn);
}

int rn_atomic_ack_eth_parse(uint64_t *orig, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_ATOMIC_ACK_ETH_LEN)
		return -EMSGSIZE;
	*orig = rn_get_be64(p);
	return 0;
}

uint8_t *rn_atomic_ack_eth_emit(uint8_t *p, uint64_t orig)
{
	return rn_put_be64(p, orig);
}

int rn_imm_parse(uint32_t *imm, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_IMM_LEN)
		return -EMSGSIZE;
	*imm = rn_get_be32(p);
	return 0;
}

uint8_t *rn_imm_emit(uint8_t *p, uint32_t imm)
{
	return rn_put_be32(p, imm);
}

int rn_ieth_parse(uint32_t *rkey, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_IETH_LEN)
		return -EMSGSIZE;
	*rkey = rn_get_be32(p);
	return 0;
}

uint8_t *rn_ieth_emit(uint8_t *p, uint32_t rkey)
{
	return rn_put_be32(p, rkey);
}

int rn_deth_parse(struct rn_deth *deth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_DETH_LEN)
		return -EMSGSIZE;
	*deth = (struct rn_deth){
		.qkey = rn_get_be32(p + DETH_QKEY),
		.src_qpn = rn_get_be24(p + DETH_SRC_QPN),
	};
	return 0;
}

uint8_t *rn_deth_emit(uint8_t *p, const struct rn_deth *deth)
{
	assert(deth->src_qpn <= RN_QPN_MASK);

	p = rn_put_be32(p, deth->qkey);
	return rn_put_be32(p, deth->src_qpn);
}

int rn_xrceth_parse(uint32_t *srqn, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_XRCETH_LEN)
		return -EMSGSIZE;
	*srqn = rn_get_be24(p + XRCETH_SRQN);
	return 0;
}

uint8_t *rn_xrceth_emit(uint8_t *p, uint32_t srqn)
{
	assert(srqn <= U24_MAX);

	return rn_put_be32(p, srqn);
}

int rn_feth_parse(struct rn_feth *feth, const uint8_t *p, const uint8_t *end)
{
	if (end - p < RN_FETH_LEN)
		return -EMSGSIZE;
	*feth = (struct rn_feth){
		.placement = p[FETH_LAST] & FETH_PLACEMENT_MASK,
		.selectivity =
			p[FETH_LAST] >> FETH_SELECTIVITY_SHIFT & FETH_SELECTIVITY_MASK,
	};
	return 0;
}

uint8_t *rn_feth_emit(uint8_t *p, const struct rn_feth *feth)
{
	assert(feth->placement <= FETH_PLACEMENT_MASK);
	assert(feth->selectivity <= FETH_SELECTIVITY_MASK);

	return rn_put_be32(p, (uint32_t)feth->selectivity << FETH_SELECTIVITY_SHIFT |
				      feth->placement);
}

/* Credits for each credit code. IBTA Vol 1, encoding of AETH credit counts: from 8 on,
 * two steps per doubling.
 */
static const uint32_t credits_of_code[RN_AETH_VALUE_MASK + 1] = {
	0,    1,    2,	  3,	 4,	6,     8,     12,   /* 0x00 */
	16,   24,   32,	  48,	 64,	96,    128,   192,  /* 0x08 */
	256,  384,  512,  768,	 1024,	1536,  2048,  3072, /* 0x10 */
	4096, 6144, 8192, 12288, 16384, 24576, 32768, RN_CREDITS_UNLIMITED,
};

const char *rn_nak_name(uint8_t code)
{
	static const char *const name[] = {
		[RN_NAK_PSN_SEQ] = "PSN sequence error",
		[RN_NAK_INVALID_REQ] = "invalid request",
		[RN_NAK_REMOTE_ACCESS] = "remote access error",
		[RN_NAK_REMOTE_OP] = "remote operational error",
		[RN_NAK_INVALID_RD_REQ] = "invalid RD request",
	};

	return code < RN_ARRAY_SIZE(name) ? name[code] : NULL;
}

uint32_t rn_aeth_credits(uint8_t code)
{
	assert(code <= RN_AETH_VALUE_MASK);
	return credits_of_code[code];
}

uint8_t rn_aeth_credit_code(uint32_t credits)
{
	uint8_t code = RN_AETH_NO_CREDIT - 1;

	while (credits_of_code[code] > credits)
		code--;
	return code;
}

rn_ns rn_rnr_timer_ns(uint8_t code)
{
	/* Waiting time for each code of the RNR timer, in units of 10 us. IBTA Vol 1
	 * table 45.
	 */
	static const uint32_t wait[RN_AETH_VALUE_MASK + 1] = {
		65536, 1,    2,	   3,	  4,	 6,	8,     12,    /* 0x00 */
		16,    24,   32,   48,	  64,	 96,	128,   192,   /* 0x08 */
		256,   384,  512,  768,	  1024,	 1536,	2048,  3072,  /* 0x10 */
		4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152, /* 0x18 */
	};

	assert(code <= RN_AETH_VALUE_MASK);
	return RN_USEC(10) * wait[code];
}

rn_ns rn_ack_timeout_ns(uint8_t code)
{
	assert(code <= 31);
	return code == 0 ? RN_NEVER : (rn_ns)4096 << code;
}
