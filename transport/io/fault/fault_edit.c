/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_edit.c - damages, rewrites and answers packets. */
#include "fault_edit.h"

#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"

/* Attribute of the CM message in a packet to or from QP1; 0: it is none. */
static uint16_t look_at_mad(const uint8_t *pkt, uint32_t len)
{
	const uint8_t *mad = pkt + RN_BTH_LEN + RN_DETH_LEN;
	struct rn_mad_hdr hdr;

	if (len != RN_GSI_PACKET_LEN || pkt[0] != RN_UD_SEND_ONLY ||
	    rn_get_be24(pkt + 5) != RN_QPN_GSI)
		return 0;
	rn_mad_hdr_parse(&hdr, mad);
	return hdr.mgmt_class == RN_MAD_CLASS_CM ? hdr.attr_id : 0;
}

bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p)
{
	if (len < RN_BTH_LEN + RN_ICRC_LEN)
		return false;
	p->opcode = pkt[0];
	p->psn = rn_get_be24(pkt + 9);
	p->mad = look_at_mad(pkt, len);
	return true;
}

/* Offset of a header in a packet with @opcode, in the order of opcode.h. */
static uint32_t find_header(uint8_t opcode, uint32_t header)
{
	static const struct {
		uint32_t flag;
		uint32_t len;
	} order[] = {
		{ RN_OP_DETH, RN_DETH_LEN },
		{ RN_OP_XRCETH, RN_XRCETH_LEN },
		{ RN_OP_FETH, RN_FETH_LEN },
		{ RN_OP_RETH, RN_RETH_LEN },
		{ RN_OP_ATOMIC_ETH, RN_ATOMIC_ETH_LEN },
		{ RN_OP_AETH, RN_AETH_LEN },
		{ RN_OP_ATOMIC_ACK_ETH, RN_ATOMIC_ACK_ETH_LEN },
		{ RN_OP_IMM, RN_IMM_LEN },
		{ RN_OP_IETH, RN_IETH_LEN },
	};
	uint32_t at = RN_BTH_LEN, flags = rn_opcode_info[opcode].flags;

	if (header == 0)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(order) && order[i].flag != header; i++)
		if (flags & order[i].flag)
			at += order[i].len;
	return at;
}

static void rewrite_field(const struct rn_fault_change *c, uint8_t opcode, uint8_t *pkt,
			  uint32_t len)
{
	const struct rn_fault_field *f = c->field;
	uint32_t at = find_header(opcode, f->header) + f->offset;
	uint64_t mask = f->bits == 64 ? ~0ull : ((1ull << f->bits) - 1) << f->shift;
	uint64_t value = 0;

	if (at + f->len + RN_ICRC_LEN > len)
		return;
	for (unsigned i = 0; i < f->len; i++)
		value = value << 8 | pkt[at + i];
	value = (value & ~mask) | (c->value << f->shift & mask);
	for (unsigned i = f->len; i-- > 0; value >>= 8)
		pkt[at + i] = (uint8_t)value;
}

static void corrupt_byte(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
			 uint32_t len)
{
	uint64_t bit = rn_fault_draw(rule, fate) % ((uint64_t)len * 8);
	int64_t at = rule->has_at ? rule->at : (int64_t)(bit / 8);

	if (at < 0)
		at += len;
	if (at >= 0 && at < (int64_t)len)
		pkt[at] = (uint8_t)(pkt[at] ^ (rule->flip ? rule->flip : 1u << bit % 8));
}

void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc)
{
	uint8_t opcode = pkt[0];

	if (rule->act == RN_FAULT_CORRUPT)
		corrupt_byte(rule, fate, pkt, len);
	for (unsigned i = 0; i < rule->changes; i++)
		rewrite_field(&rule->change[i], opcode, pkt, len);
	if (!rule->good_icrc)
		*icrc = RN_FAULT_ICRC_WRONG;
	else if (*icrc == RN_FAULT_ICRC_KEPT)
		*icrc = RN_FAULT_ICRC_STALE;
}

void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth)
{
	const struct rn_bth bth = {
		.opcode = (uint8_t)(rn_opcode_class(request[0]) | (unsigned)RN_RC_ACK),
		.migreq = true,
		.pkey = rn_get_be16(request + 2),
		.dest_qpn = dest_qpn,
		.psn = { rn_get_be24(request + 9) },
	};
	uint8_t *end = rn_aeth_emit(rn_bth_emit(nak, &bth), aeth);

	rn_icrc_seal(flow, 0, nak, (size_t)(end - nak));
}

void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn)
{
	rn_put_be24(nak + RN_BTH_LEN + 1, msn);
	rn_icrc_seal(flow, 0, nak, RN_FAULT_NAK_LEN - RN_ICRC_LEN);
}
