/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.h - RoCEv2 headers: byte layout, parsed form, functions that parse and write
 * (emit) them; and the arithmetic of packet sequence numbers.
 *
 * All code uses these two layers:
 *
 *   rn_get_be*(), rn_put_be*()    numbers in bytes; no other code of the core knows the
 *                                 byte order
 *   rn_*_parse(), rn_*_emit()     headers, one pair of functions for each
 *
 * opcode.h says which headers follow the BTH, and in which order.
 *
 * A parsed struct is in host order and holds only values that could have been sent. A
 * parse function never reads past @end, returns 0 or -EMSGSIZE (fewer bytes than the
 * header has), and leaves its result untouched on failure; the caller advances by the
 * header's length. An emit function writes exactly the header's length at @p, for which
 * the caller has made room, and returns the byte after it. A value that does not fit its
 * field on the wire is a bug of the caller (assert).
 *
 * Threads: any; nothing here has state.
 * Source: IBTA Vol 1 chapter 9, Annexes A14 (XRC), A17 (RoCEv2) and A19 (FLUSH).
 */
#ifndef RN_WIRE_H
#define RN_WIRE_H

#include <endian.h>
#include <string.h>

#include "rocin/types.h"

/* Lengths of headers in bytes. */
enum {
	RN_BTH_LEN = 12,
	RN_RETH_LEN = 16,
	RN_ATOMIC_ETH_LEN = 28,
	RN_AETH_LEN = 4,
	RN_ATOMIC_ACK_ETH_LEN = 8,
	RN_IMM_LEN = 4,
	RN_IETH_LEN = 4,
	RN_DETH_LEN = 8,
	RN_XRCETH_LEN = 4,
	RN_FETH_LEN = 4,
	/* number of zero bytes between the BTH and the ICRC of a CNP */
	RN_CNP_RESERVED_LEN = 16,
	/* IP header before the data of a UD receive (place of the GRH). */
	RN_GRH_LEN = 40,
	RN_HDR_LEN_MAX = RN_BTH_LEN + RN_XRCETH_LEN + RN_ATOMIC_ETH_LEN,
};

/* ---- Arithmetic on packet sequence numbers ---- */

#define RN_PSN_MASK 0xffffffu

static inline struct rn_psn rn_psn(uint32_t v)
{
	return (struct rn_psn){ v & RN_PSN_MASK };
}

static inline struct rn_psn rn_psn_add(struct rn_psn a, uint32_t n)
{
	return rn_psn(a.v + n);
}

/* Returns the distance from @b to @a, in [-2^23, 2^23): negative if @a is older.
 * Meaningful only if both lie within one half of the number space, which is so because a
 * requester has at most 2^23 PSNs outstanding.
 */
static inline int32_t rn_psn_diff(struct rn_psn a, struct rn_psn b)
{
	uint32_t d = (a.v - b.v) & RN_PSN_MASK;

	return d < 0x800000u ? (int32_t)d : (int32_t)d - 0x1000000;
}

static inline bool rn_psn_before(struct rn_psn a, struct rn_psn b)
{
	return rn_psn_diff(a, b) < 0;
}

/* ---- Headers ---- */

#define RN_QPN_MASK 0xffffffu
#define RN_QPN_GSI 1u
#define RN_QPN_MULTICAST 0xffffffu

/* Base Transport Header. */
struct rn_bth {
	uint8_t opcode;	 /* opcode: an enum rn_opcode, or another value */
	bool solicited;	 /* SE: raise a solicited completion event at the responder */
	bool migreq;	 /* MigReq: 1 means "Migrated": no alternate path is loaded */
	bool ack_req;	 /* AckReq: an acknowledgement is requested */
	bool fecn;	 /* not covered by the ICRC */
	bool becn;	 /* not covered by the ICRC; 1 in a CNP */
	uint8_t pad_cnt; /* number of pad bytes after the payload, 0..3 */
	uint16_t pkey;
	uint32_t dest_qpn; /* 24 bits */
	struct rn_psn psn;
};

/* RDMA Extended Transport Header. */
struct rn_reth {
	uint64_t va;
	uint32_t rkey;
	/* length of the whole message in bytes; more than 2^31 is illegal */
	uint32_t dma_len;
};

/* Atomic Extended Transport Header. */
struct rn_atomic_eth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add; /* value to swap in, or to add */
	uint64_t compare;  /* FetchAdd: 0, ignored on receipt */
};

/* Acknowledge Extended Transport Header. */
struct rn_aeth {
	uint8_t syndrome; /* type and value, see rn_aeth_type() */
	uint32_t msn;	  /* 24 bits: messages completed at the responder */
};

/* Datagram Extended Transport Header. */
struct rn_deth {
	uint32_t qkey;
	uint32_t src_qpn; /* 24 bits */
};

enum {
	/* Placement: the data must be visible to every agent of the system. */
	RN_FLUSH_GLOBAL = 1 << 0,
	RN_FLUSH_PERSISTENT = 1 << 1, /* placement: the data must survive power loss */

	RN_FLUSH_RANGE = 0, /* selectivity: the range of bytes given by the RETH */
	RN_FLUSH_MR = 1,    /* selectivity: the whole memory region */
};

/* Flush Extended Transport Header. */
struct rn_feth {
	uint8_t placement;   /* RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT; 4 bits */
	uint8_t selectivity; /* RN_FLUSH_RANGE, RN_FLUSH_MR, or reserved; 2 bits */
};

static inline uint16_t rn_get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t rn_get_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t rn_get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | rn_get_be24(p + 1);
}

static inline uint64_t rn_get_be64(const uint8_t *p)
{
	return (uint64_t)rn_get_be32(p) << 32 | rn_get_be32(p + 4);
}

static inline uint8_t *rn_put_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

/* Writes the low 24 bits of @v, the most significant byte first. */
static inline uint8_t *rn_put_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
	return p + 3;
}

/* Writes a word by one store. The ICRC code loads the word right afterwards, and would
 * have to wait if the word came from several stores (see rn_crc32()).
 */
static inline uint8_t *rn_put_be32(uint8_t *p, uint32_t v)
{
	uint32_t be = htobe32(v);

	memcpy(p, &be, sizeof(be));
	return p + 4;
}

static inline uint8_t *rn_put_be64(uint8_t *p, uint64_t v)
{
	uint64_t be = htobe64(v);

	memcpy(p, &be, sizeof(be));
	return p + 8;
}

/* Reads the ICRC, the only little-endian field of the protocol. */
static inline uint32_t rn_get_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint8_t *rn_put_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
	return p + 4;
}

/* Returns PadCnt: the number of pad bytes that fill @payload_len up to a multiple of 4.
 */
static inline uint8_t rn_pad_cnt(uint32_t payload_len)
{
	return (uint8_t)(-payload_len & 3);
}

/**
 * rn_bth_parse() - Read a Base Transport Header
 * @bth:	Out: filled in on success, untouched on failure
 * @p:		First byte of the header
 * @end:	One past the last byte received
 *
 * Reserved bits are ignored. Any opcode is accepted; see rn_opcode_info[] for whether it
 * is defined.
 *
 * Return: 0, -EMSGSIZE if fewer than RN_BTH_LEN bytes remain, -EPROTO if TVer is not 0
 *	   (the only version defined; the packet is to be dropped).
 */
int rn_bth_parse(struct rn_bth *bth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_bth_emit(uint8_t *p, const struct rn_bth *bth);

int rn_reth_parse(struct rn_reth *reth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_reth_emit(uint8_t *p, const struct rn_reth *reth);

int rn_atomic_eth_parse(struct rn_atomic_eth *eth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_atomic_eth_emit(uint8_t *p, const struct rn_atomic_eth *eth);

int rn_aeth_parse(struct rn_aeth *aeth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_aeth_emit(uint8_t *p, const struct rn_aeth *aeth);

/* Parse and write the AtomicAckETH: the value that was in memory before the
 * atomic operation.
 */
int rn_atomic_ack_eth_parse(uint64_t *orig, const uint8_t *p, const uint8_t *end);
uint8_t *rn_atomic_ack_eth_emit(uint8_t *p, uint64_t orig);

/* Parse and write the ImmDt: immediate data, as a number in host order. Verbs keep it in
 * network order (__be32 imm_data), so the provider converts with htonl() and ntohl().
 */
int rn_imm_parse(uint32_t *imm, const uint8_t *p, const uint8_t *end);
uint8_t *rn_imm_emit(uint8_t *p, uint32_t imm);

/* Parse and write the IETH: the R_Key to invalidate. */
int rn_ieth_parse(uint32_t *rkey, const uint8_t *p, const uint8_t *end);
uint8_t *rn_ieth_emit(uint8_t *p, uint32_t rkey);

int rn_deth_parse(struct rn_deth *deth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_deth_emit(uint8_t *p, const struct rn_deth *deth);

/* Parse and write the XRCETH: the number of the SRQ, 24 bits. */
int rn_xrceth_parse(uint32_t *srqn, const uint8_t *p, const uint8_t *end);
uint8_t *rn_xrceth_emit(uint8_t *p, uint32_t srqn);

int rn_feth_parse(struct rn_feth *feth, const uint8_t *p, const uint8_t *end);
uint8_t *rn_feth_emit(uint8_t *p, const struct rn_feth *feth);

/* Type of an AETH: bits 6:5 of its syndrome. If bit 7 is set, which is not defined, the
 * type is reserved, too; AETHs of reserved type are dropped.
 */
enum rn_aeth_type {
	RN_AETH_ACK = 0, /* value: credit code */
	RN_AETH_RNR = 1, /* value: RNR timer code */
	RN_AETH_RESERVED = 2,
	RN_AETH_NAK = 3, /* value: enum rn_nak_code */
};

/* Values of a NAK's syndrome; 5..31 are reserved. */
enum rn_nak_code {
	RN_NAK_PSN_SEQ = 0,
	RN_NAK_INVALID_REQ = 1,
	RN_NAK_REMOTE_ACCESS = 2,
	RN_NAK_REMOTE_OP = 3,
	RN_NAK_INVALID_RD_REQ = 4, /* reliable datagram only */
};

/* Returns the name of a NAK code, for people; NULL: the code is reserved. */
const char *rn_nak_name(uint8_t code);

enum {
	RN_AETH_VALUE_MASK = 0x1f,
	/* credit code that stands for "no end-to-end flow control" */
	RN_AETH_NO_CREDIT = 0x1f,
};

static inline enum rn_aeth_type rn_aeth_type(uint8_t syndrome)
{
	return syndrome & 0x80 ? RN_AETH_RESERVED : (enum rn_aeth_type)(syndrome >> 5);
}

static inline uint8_t rn_aeth_value(uint8_t syndrome)
{
	return syndrome & RN_AETH_VALUE_MASK;
}

static inline uint8_t rn_aeth_syndrome(enum rn_aeth_type type, uint8_t value)
{
	assert(value <= RN_AETH_VALUE_MASK);
	return (uint8_t)((unsigned)type << 5 | value);
}

/* Return value of rn_aeth_credits() for RN_AETH_NO_CREDIT. */
#define RN_CREDITS_UNLIMITED UINT32_MAX

/* Returns the number of receive WQEs for which credit code @code (0..31) stands,
 * or RN_CREDITS_UNLIMITED.
 */
uint32_t rn_aeth_credits(uint8_t code);

/* Returns the largest credit code (0..30) that stands for no more than @credits
 * receive WQEs.
 */
uint8_t rn_aeth_credit_code(uint32_t credits);

/* Returns how long the requester waits after an RNR NAK with timer code @code (0..31): 10
 * us to 655.36 ms; code 0 is the longest. IBTA Vol 1 table 45.
 */
rn_ns rn_rnr_timer_ns(uint8_t code);

/* Returns the local ACK timeout: 4.096 us * 2^code for code 1..31, RN_NEVER for
 * code 0 (no timer). The timer may expire after up to four times this value (IBTA
 * Vol 1, 9.7.6.1.3).
 */
rn_ns rn_ack_timeout_ns(uint8_t code);

#endif /* RN_WIRE_H */
