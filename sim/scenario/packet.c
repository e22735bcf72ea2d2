/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.c - packets of a scenario: from the fields of a line to bytes, and back. */
#include <errno.h>
#include <string.h>

#include "fields.h"
#include "packet.h"
#include "rocin/icrc.h"
#include "rocin/psn.h"
#include "rocin/wire.h"

uint64_t rn_scene_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			enum rn_scn_field f)
{
	uint8_t region = l->region[f];

	if (!rn_scn_has(l, f) || region == RN_SCN_ABSOLUTE)
		return l->value[f];
	switch ((int)rn_scn_fields[f].form) {
	case RN_SCN_REGION:
		return n->key[region] ^ l->value[f];
	case RN_SCN_ADDRESS:
		return n->va[region] + l->value[f];
	case RN_SCN_NUMBERED:
		return n->srqn[region];
	default:
		return l->value[f];
	}
}

uint8_t rn_scene_content(const struct rn_scn_line *l, uint32_t i)
{
	uint8_t number[sizeof(uint64_t)];

	switch (l->value[RN_F_IS]) {
	case RN_SCN_IS_FILL:
		return rn_scene_fill(l->region[RN_F_AT], l->value[RN_F_AT] + i);
	case RN_SCN_IS_PAYLOAD:
		return rn_scene_payload((uint32_t)rn_scn_get(l, RN_F_PSN, 0), i);
	case RN_SCN_IS_NUMBER:
		memcpy(number, &l->value[RN_F_ORIG], sizeof(number));
		return number[i % sizeof(number)];
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------- encoding */
static uint8_t syndrome_of(const struct rn_scn_line *l)
{
	if (rn_scn_has(l, RN_F_SYNDROME))
		return (uint8_t)l->value[RN_F_SYNDROME];
	if (rn_scn_has(l, RN_F_NAK))
		return rn_aeth_syndrome(RN_AETH_NAK, (uint8_t)l->value[RN_F_NAK]);
	if (rn_scn_has(l, RN_F_RNR))
		return rn_aeth_syndrome(RN_AETH_RNR, l->value[RN_F_RNR] & 0x1f);
	return rn_aeth_syndrome(RN_AETH_ACK,
				rn_scn_get(l, RN_F_CREDITS, RN_AETH_NO_CREDIT) & 0x1f);
}

static uint64_t address(const struct rn_scene_names *n, const struct rn_scn_line *l)
{
	return rn_scn_has(l, RN_F_VA) ? rn_scene_value(n, l, RN_F_VA) : n->va[0];
}

static uint32_t key(const struct rn_scene_names *n, const struct rn_scn_line *l)
{
	return rn_scn_has(l, RN_F_RKEY) ? (uint32_t)rn_scene_value(n, l, RN_F_RKEY)
					: n->key[0];
}

static uint8_t *put_bth(uint8_t *p, const struct rn_scene_names *n,
			const struct rn_scn_line *l, uint32_t len)
{
	const struct rn_opcode_info *op = &rn_opcode_info[l->opcode];
	bool acks = op->flags & RN_OP_RESPONSE;
	struct rn_bth bth = {
		.opcode = (uint8_t)rn_scn_get(l, RN_F_OPCODE_NUMBER, l->opcode),
		.solicited = rn_scn_has(l, RN_F_SE),
		.migreq = rn_scn_get(l, RN_F_M, 1) != 0,
		.ack_req = rn_scn_has(l, RN_F_ACK) && !acks,
		.fecn = rn_scn_has(l, RN_F_FECN),
		.becn = rn_scn_has(l, RN_F_BECN),
		.pad_cnt = (uint8_t)rn_scn_get(l, RN_F_PAD, rn_pad_cnt(len)) & 3,
		.pkey = (uint16_t)rn_scn_get(l, RN_F_PKEY, RN_PKEY_DEFAULT),
		.dest_qpn = (uint32_t)rn_scn_get(l, RN_F_DEST, n->qpn[l->subject]) &
			    RN_QPN_MASK,
		.psn = { (uint32_t)rn_scn_get(l, RN_F_PSN, 0) & RN_PSN_MASK },
	};
	uint8_t *to = rn_bth_emit(p, &bth);

	p[1] = (uint8_t)(p[1] | (rn_scn_get(l, RN_F_TVER, 0) & 0xf));
	p[8] = (uint8_t)(p[8] | (rn_scn_get(l, RN_F_RESV7, 0) & 0x7f));
	return to;
}

static uint8_t *put_extensions(uint8_t *p, const struct rn_scene_names *n,
			       const struct rn_scn_line *l, uint32_t len)
{
	uint32_t flags = rn_opcode_info[l->opcode].flags;

	if (flags & RN_OP_DETH)
		p = rn_deth_emit(p, &(struct rn_deth){
					    .qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0),
					    .src_qpn = (uint32_t)rn_scn_get(l, RN_F_SRC,
									    n->peer_qpn) &
						       RN_QPN_MASK });
	if (flags & RN_OP_XRCETH)
		p = rn_xrceth_emit(p, (uint32_t)rn_scene_value(n, l, RN_F_SRQ) &
					      RN_QPN_MASK);
	if (flags & RN_OP_FETH)
		p = rn_feth_emit(
			p, &(struct rn_feth){ .placement = (uint8_t)rn_scn_get(
						      l, RN_F_PLACEMENT, RN_FLUSH_GLOBAL),
					      .selectivity = (uint8_t)rn_scn_get(
						      l, RN_F_SELECT, RN_FLUSH_RANGE) });
	if (flags & RN_OP_RETH)
		p = rn_reth_emit(p, &(struct rn_reth){ .va = address(n, l),
						       .rkey = key(n, l),
						       .dma_len = (uint32_t)rn_scn_get(
							       l, RN_F_DMALEN, len) });
	if (flags & RN_OP_ATOMIC_ETH)
		p = rn_atomic_eth_emit(
			p, &(struct rn_atomic_eth){
				   .va = address(n, l),
				   .rkey = key(n, l),
				   .swap_add = rn_scn_get(l, RN_F_SWAP,
							  rn_scn_get(l, RN_F_ADD, 0)),
				   .compare = rn_scn_get(l, RN_F_COMPARE, 0) });
	if (flags & RN_OP_AETH)
		p = rn_aeth_emit(p, &(struct rn_aeth){
					    .syndrome = syndrome_of(l),
					    .msn = (uint32_t)rn_scn_get(l, RN_F_MSN, 0) &
						   0xffffff });
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		p = rn_atomic_ack_eth_emit(p, rn_scn_get(l, RN_F_ORIG, 0));
	if (flags & RN_OP_IMM)
		p = rn_imm_emit(p, (uint32_t)rn_scn_get(l, RN_F_IMM, 0));
	if (flags & RN_OP_IETH)
		p = rn_ieth_emit(p, (uint32_t)rn_scene_value(n, l, RN_F_RKEY_NUMBER));
	if (flags & RN_OP_NOTIFY) {
		memset(p, 0, RN_CNP_RESERVED_LEN);
		p += RN_CNP_RESERVED_LEN;
	}
	return p;
}

static struct rn_flow flow_of(const struct rn_scene_names *n, const struct rn_scn_line *l)
{
	return (struct rn_flow){
		.src = rn_scn_get(l, RN_F_FROM, 0) ? n->other : n->peer,
		.dst = rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_GROUP
			       ? n->group
			       : n->device,
		.ifindex = n->ifindex,
		.sport = (uint16_t)rn_scn_get(l, RN_F_SPORT, 0xc000),
		.tclass = (uint8_t)rn_scn_get(l, RN_F_TOS, 0),
		.hop_limit = (uint8_t)rn_scn_get(l, RN_F_TTL, 64),
	};
}

void rn_scene_seal(const struct rn_scene_names *n, const struct rn_scn_line *l,
		   struct rn_scene_packet *out, uint8_t *p)
{
	uint8_t *cut = out->bytes + rn_scn_get(l, RN_F_CUT, (uint64_t)(p - out->bytes));

	if (cut < p)
		p = cut;
	out->len = (uint32_t)(p - out->bytes);
	out->flow = flow_of(n, l);
	if (out->len >= RN_BTH_LEN)
		rn_icrc_seal(&out->flow, (uint16_t)rn_scn_get(l, RN_F_ID, 0), out->bytes,
			     out->len);
	else
		rn_put_le32(p, 0); /* no ICRC is right of what has no BTH */
	if (rn_scn_has(l, RN_F_BAD_ICRC))
		p[3] ^= 1;
	out->len += RN_ICRC_LEN;
	if (rn_scn_has(l, RN_F_FLIP) && l->value[RN_F_FLIP] / 8 < out->len)
		out->bytes[l->value[RN_F_FLIP] / 8] ^=
			(uint8_t)(0x80 >> l->value[RN_F_FLIP] % 8);
}

void rn_scene_encode(const struct rn_scene_names *n, const struct rn_scn_line *l,
		     struct rn_scene_packet *out)
{
	uint32_t psn = (uint32_t)rn_scn_get(l, RN_F_PSN, 0);
	uint32_t len = (uint32_t)rn_scn_get(l, RN_F_LEN, 0);
	uint8_t *p = put_bth(out->bytes, n, l, len);

	if (len > RN_MTU_MAX + 32)
		len = RN_MTU_MAX + 32; /* more than any device takes */
	p = put_extensions(p, n, l, len);
	for (uint32_t i = 0; i < len; i++)
		*p++ = rn_scene_payload(psn, i);
	for (uint8_t pad = rn_pad_cnt(len); pad; pad--)
		*p++ = 0;
	rn_scene_seal(n, l, out, p);
}

/* ------------------------------------------------------------------- decoding */
static void put(struct rn_scn_line *l, enum rn_scn_field f, uint64_t value)
{
	l->given |= RN_F_BIT(f);
	l->value[f] = value;
	l->region[f] = RN_SCN_ABSOLUTE;
}

static void put_flag(struct rn_scn_line *l, enum rn_scn_field f, bool set)
{
	if (set)
		put(l, f, 1);
}

static const uint8_t *read_aeth(struct rn_scn_line *l, const uint8_t *at,
				const uint8_t *end)
{
	struct rn_aeth aeth = { 0 };
	enum rn_aeth_type type;

	rn_aeth_parse(&aeth, at, end);
	type = rn_aeth_type(aeth.syndrome);
	put(l, RN_F_SYNDROME, aeth.syndrome);
	put(l, RN_F_MSN, aeth.msn);
	if (type == RN_AETH_ACK)
		put(l, RN_F_CREDITS, rn_aeth_value(aeth.syndrome));
	else if (type == RN_AETH_RNR)
		put(l, RN_F_RNR, rn_aeth_value(aeth.syndrome));
	else if (type == RN_AETH_NAK)
		put(l, RN_F_NAK, rn_aeth_value(aeth.syndrome));
	put_flag(l, RN_F_ACK, type == RN_AETH_ACK);
	return at + RN_AETH_LEN;
}

static const uint8_t *read_requests(struct rn_scn_line *l, uint32_t flags,
				    const uint8_t *at, const uint8_t *end)
{
	struct rn_atomic_eth atomic;
	struct rn_reth reth;
	struct rn_deth deth;
	struct rn_feth feth;
	uint32_t srqn;

	if (flags & RN_OP_DETH && !rn_deth_parse(&deth, at, end)) {
		put(l, RN_F_QKEY, deth.qkey);
		put(l, RN_F_SRC, deth.src_qpn);
		at += RN_DETH_LEN;
	}
	if (flags & RN_OP_XRCETH && !rn_xrceth_parse(&srqn, at, end)) {
		put(l, RN_F_SRQ, srqn);
		at += RN_XRCETH_LEN;
	}
	if (flags & RN_OP_FETH && !rn_feth_parse(&feth, at, end)) {
		put(l, RN_F_PLACEMENT, feth.placement);
		put(l, RN_F_SELECT, feth.selectivity);
		at += RN_FETH_LEN;
	}
	if (flags & RN_OP_RETH && !rn_reth_parse(&reth, at, end)) {
		put(l, RN_F_VA, reth.va);
		put(l, RN_F_RKEY, reth.rkey);
		put(l, RN_F_DMALEN, reth.dma_len);
		at += RN_RETH_LEN;
	}
	if (flags & RN_OP_ATOMIC_ETH && !rn_atomic_eth_parse(&atomic, at, end)) {
		put(l, RN_F_VA, atomic.va);
		put(l, RN_F_RKEY, atomic.rkey);
		put(l, RN_F_SWAP, atomic.swap_add);
		put(l, RN_F_ADD, atomic.swap_add);
		put(l, RN_F_COMPARE, atomic.compare);
		at += RN_ATOMIC_ETH_LEN;
	}
	return at;
}

static const uint8_t *read_extensions(struct rn_scn_line *l, uint32_t flags,
				      const uint8_t *at, const uint8_t *end)
{
	uint64_t orig;
	uint32_t word;

	at = read_requests(l, flags, at, end);
	if (flags & RN_OP_AETH)
		at = read_aeth(l, at, end);
	if (flags & RN_OP_ATOMIC_ACK_ETH && !rn_atomic_ack_eth_parse(&orig, at, end)) {
		put(l, RN_F_ORIG, orig);
		at += RN_ATOMIC_ACK_ETH_LEN;
	}
	if (flags & RN_OP_IMM && !rn_imm_parse(&word, at, end)) {
		put(l, RN_F_IMM, word);
		at += RN_IMM_LEN;
	}
	if (flags & RN_OP_IETH && !rn_ieth_parse(&word, at, end)) {
		put(l, RN_F_RKEY_NUMBER, word);
		at += RN_IETH_LEN;
	}
	if (flags & RN_OP_NOTIFY)
		at += RN_CNP_RESERVED_LEN;
	return at;
}

int rn_scene_decode(const struct rn_scene_packet *p, struct rn_scn_line *l,
		    const uint8_t **payload)
{
	const uint8_t *end = p->bytes + p->len - RN_ICRC_LEN;
	const struct rn_opcode_info *op;
	struct rn_bth bth;

	*l = (struct rn_scn_line){ .verb = RN_SCN_PACKET };
	if (p->len < RN_BTH_LEN + RN_ICRC_LEN)
		return -EMSGSIZE;
	if (rn_bth_parse(&bth, p->bytes, end))
		return -EPROTO;
	op = &rn_opcode_info[bth.opcode];
	l->opcode = bth.opcode;
	if (!op->name)
		return -EPROTO;
	if (p->len < op->hdr_len + bth.pad_cnt + (uint32_t)RN_ICRC_LEN)
		return -EMSGSIZE;
	put(l, RN_F_PSN, bth.psn.v);
	put(l, RN_F_PAD, bth.pad_cnt);
	put(l, RN_F_PKEY, bth.pkey);
	put(l, RN_F_DEST, bth.dest_qpn);
	put(l, RN_F_M, bth.migreq);
	put(l, RN_F_TTL, p->flow.hop_limit);
	put(l, RN_F_TOS, p->flow.tclass);
	put(l, RN_F_SPORT, p->flow.sport);
	put_flag(l, RN_F_SE, bth.solicited);
	/* Of what has an AETH the word says which kind that is. */
	put_flag(l, RN_F_ACK, bth.ack_req && !(op->flags & RN_OP_AETH));
	put_flag(l, RN_F_FECN, bth.fecn);
	put_flag(l, RN_F_BECN, bth.becn);
	*payload = read_extensions(l, op->flags, p->bytes + RN_BTH_LEN, end);
	put(l, RN_F_LEN, (uint64_t)(end - *payload) - bth.pad_cnt);
	return rn_icrc_check(NULL, &p->flow, p->bytes, p->len, 0, false) == RN_ICRC_BAD
		       ? -EBADMSG
		       : 0;
}
