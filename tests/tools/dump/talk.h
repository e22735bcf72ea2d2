/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* talk.h - conversations of two devices, made of packets, for a watch to listen to.
 *
 * A (10.0.0.1, queue pair 0x11) asks, B (10.0.0.2, queue pair 0x22) answers, unless the
 * step says otherwise. A and B of a step may be other hosts of 10.0.0.0. PSNs count from
 * 100 on, a step lasts 10 us.
 */
#ifndef RN_TEST_TALK_H
#define RN_TEST_TALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "tools/dump/watch.h"

enum {
	TALK_QP_A = 0x11,
	TALK_QP_B = 0x22,
	TALK_STEPS = 16,
	TALK_PACKET_MAX = 20 + 8 + 64 + 5000 + 8,
	TALK_FINE = RN_RULE_COUNT,	/* no rule is broken */
	TALK_SETUP = RN_RULE_COUNT + 1, /* whatever */
};

#define TALK_ACK 0x1f
#define TALK_RNR 0x2c /* 0.64 ms */
#define TALK_NAK_SEQ 0x60
#define TALK_NAK_ACCESS 0x62

/* A packet by its fields; those that the opcode does not carry are ignored. */
struct step {
	uint8_t op;
	uint32_t psn;
	uint32_t len; /* of the payload */
	uint32_t dma_len, rkey;
	uint64_t va;
	uint32_t swap_add;
	uint8_t syndrome;
	uint32_t msn;
	rn_ns wait;	/* 0: 10 us */
	bool is_from_b; /* a request of B to A; responses come from B anyway */
	bool is_from_a; /* a response of A to B */
	uint32_t qpn;	/* 0: the peer's */
	/* Last byte of their addresses; 0: 1 and 2. */
	uint8_t host_a, host_b;
	bool solicited, becn;
	bool is_qp_0, has_bad_icrc, has_no_df, is_a_part, has_options, has_no_key,
		has_version;
	uint8_t pad; /* 0: what the length needs; else this + 1 */
	uint32_t qkey, src_qpn;
	uint32_t cut;  /* bytes less than there should be */
	uint8_t stray; /* in the reserved bytes of a CNP */
	const uint8_t *payload;
	unsigned broken; /* enum rn_watch_rule, or TALK_* */
};

struct talk {
	struct rn_watch *w;
	rn_ns now;
	struct rn_watch_verdict verdict;
	uint8_t bytes[TALK_PACKET_MAX];
};

static inline uint8_t *talk_headers(const struct step *s, uint8_t *p)
{
	uint32_t flags = rn_opcode_info[s->op].flags;

	if (flags & RN_OP_DETH)
		p = rn_deth_emit(p, &(struct rn_deth){ s->qkey, s->src_qpn });
	if (flags & RN_OP_XRCETH)
		p = rn_xrceth_emit(p, 1);
	if (flags & RN_OP_FETH)
		p = rn_feth_emit(p, &(struct rn_feth){ .placement = RN_FLUSH_GLOBAL });
	if (flags & RN_OP_RETH)
		p = rn_reth_emit(p, &(struct rn_reth){ s->va, s->rkey, s->dma_len });
	if (flags & RN_OP_ATOMIC_ETH)
		p = rn_atomic_eth_emit(
			p, &(struct rn_atomic_eth){ s->va, s->rkey, s->swap_add, 0 });
	if (flags & RN_OP_AETH)
		p = rn_aeth_emit(p, &(struct rn_aeth){ s->syndrome, s->msn });
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		p = rn_atomic_ack_eth_emit(p, 7);
	if (flags & RN_OP_IMM)
		p = rn_imm_emit(p, 1);
	if (flags & RN_OP_IETH)
		p = rn_ieth_emit(p, 1);
	if (flags & RN_OP_NOTIFY) {
		memset(p, s->stray, RN_CNP_RESERVED_LEN);
		p += RN_CNP_RESERVED_LEN;
	}
	return p;
}

static inline bool talk_is_from_b(const struct step *s)
{
	if (rn_opcode_info[s->op].flags & RN_OP_RESPONSE)
		return !s->is_from_a;
	return s->is_from_b;
}

/* CRC-32 bit by bit: nobody's code but this test's. */
static inline uint32_t talk_crc(uint32_t crc, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Put the ICRC of what stands at @ip behind the @len bytes from the BTH at @at on, IPv4
 * options and all.
 */
static inline void talk_seal(const uint8_t *ip, uint8_t *at, uint32_t len)
{
	static const uint8_t lrh[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint8_t head[8 + 60 + 8 + RN_BTH_LEN];
	size_t to_bth = (size_t)(at - ip);
	uint32_t crc = talk_crc(UINT32_MAX, lrh, sizeof(lrh));

	memcpy(head, ip, to_bth + RN_BTH_LEN);
	if (ip[0] >> 4 == 4) {
		head[1] = head[8] = head[10] = head[11] = 0xff;
	} else {
		head[0] |= 15;
		head[1] = head[2] = head[3] = head[7] = 0xff;
	}
	head[to_bth - 2] = head[to_bth - 1] = head[to_bth + 4] = 0xff;
	crc = talk_crc(crc, head, to_bth + RN_BTH_LEN);
	crc = ~talk_crc(crc, at + RN_BTH_LEN, len - RN_BTH_LEN);
	rn_put_le32(at + len, crc);
}

/* Returns the bytes of the IP packet. */
static inline size_t talk_make(const struct step *s, uint8_t *ip)
{
	bool from_b = talk_is_from_b(s);
	uint8_t a = s->host_a ? s->host_a : 1, b = s->host_b ? s->host_b : 2;
	uint32_t qpn = s->qpn ? s->qpn : from_b ? TALK_QP_A : TALK_QP_B;
	struct rn_bth bth = {
		.opcode = s->op,
		.solicited = s->solicited,
		.becn = s->becn,
		.pad_cnt = s->pad ? (uint8_t)(s->pad - 1) : rn_pad_cnt(s->len),
		.pkey = s->has_no_key ? 0x8000 : 0xffff,
		.dest_qpn = s->is_qp_0 ? 0 : qpn,
		.psn = rn_psn(s->psn),
	};
	struct rn_flow flow = {
		.src = { { [10] = 0xff, 0xff, 10, 0, 0, from_b ? b : a } },
		.dst = { { [10] = 0xff, 0xff, 10, 0, 0, from_b ? a : b } },
		.sport = 0xc001,
	};
	uint32_t ip_len = s->has_options ? 24 : 20, len;
	uint8_t *udp = ip + ip_len, *at = udp + 8,
		*p = talk_headers(s, rn_bth_emit(at, &bth));

	if (s->has_version)
		at[1] |= 1;
	for (uint32_t i = 0; i < s->len; i++)
		*p++ = s->payload ? s->payload[i] : (uint8_t)i;
	memset(p, 0, bth.pad_cnt);
	len = (uint32_t)(p - at) + bth.pad_cnt - s->cut;
	memset(ip, 0, ip_len + 8);
	ip[0] = (uint8_t)(0x40 | ip_len / 4);
	rn_put_be16(ip + 2, (uint16_t)(ip_len + 8 + len + RN_ICRC_LEN));
	rn_put_be16(ip + 6, s->is_a_part ? 0x2000 : s->has_no_df ? 0 : 0x4000);
	ip[9] = 17;
	memcpy(ip + 12, flow.src.raw + 12, 4);
	memcpy(ip + 16, flow.dst.raw + 12, 4);
	if (s->has_options)
		memset(ip + 20, 1, 4); /* no operation, four times */
	rn_put_be16(udp, flow.sport);
	rn_put_be16(udp + 2, RN_ROCE_PORT);
	rn_put_be16(udp + 4, (uint16_t)(8 + len + RN_ICRC_LEN));
	if (len >= RN_BTH_LEN)
		talk_seal(ip, at, len);
	at[len] ^= s->has_bad_icrc;
	return ip_len + 8 + len + RN_ICRC_LEN;
}

/* Returns the verdict. */
static inline const struct rn_watch_verdict *talk_step(struct talk *t,
						       const struct step *s)
{
	size_t len = talk_make(s, t->bytes);
	struct rn_packet p;

	t->now += s->wait ? s->wait : RN_USEC(10);
	assert_true(rn_packet_parse(&p, t->bytes, len));
	rn_watch_packet(t->w, t->now, &p, &t->verdict);
	return &t->verdict;
}

static inline struct talk talk_new(bool is_strict)
{
	struct talk t = { .w = rn_watch_open(is_strict) };

	assert_non_null(t.w);
	return t;
}

static inline void talk_end(struct talk *t)
{
	rn_watch_close(t->w);
}

#endif /* RN_TEST_TALK_H */
