/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.c - encodes packets of a scenario, CM messages among them, from the fields of a
 * line, and decodes packets into fields.
 */
#include "packet.h"

#include <errno.h>
#include <string.h>

#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"

uint64_t rn_scene_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			enum rn_scn_field f)
{
	uint8_t region = l->region[f];

	if (!rn_scn_has(l, f) || region == RN_SCN_ABSOLUTE)
		return l->value[f];
	switch ((int)rn_scn_fields[f].form) {
	case RN_SCN_REGION:
		return n->rkey[region] ^ l->value[f];
	case RN_SCN_ADDRESS:
		return n->va[region] + l->value[f];
	case RN_SCN_NUMBERED:
		return n->srqn[region];
	default:
		return l->value[f];
	}
}

uint8_t rn_scene_content(const struct rn_scene_names *n, const struct rn_scn_line *l,
			 uint32_t i)
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
	case RN_SCN_IS_PEER:
		return n->peer.raw[i % sizeof(n->peer.raw)];
	case RN_SCN_IS_DEVICE:
		return n->device.raw[i % sizeof(n->device.raw)];
	default:
		return 0;
	}
}

/* -------------------------------------------------------- encoding of packets */
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
					: n->rkey[0];
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

/* Completes the packet of line @l, whose last byte is before @p: sets the addresses and
 * the ICRC, and damages the packet if the line says so.
 */
static void seal(const struct rn_scene_names *n, const struct rn_scn_line *l,
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
		/* without a BTH, no value of the ICRC is correct */
		rn_put_le32(p, 0);
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
		/* a packet that is longer than any device accepts */
		len = RN_MTU_MAX + 32;
	p = put_extensions(p, n, l, len);
	for (uint32_t i = 0; i < len; i++)
		*p++ = rn_scene_payload(psn, i);
	for (uint8_t pad = rn_pad_cnt(len); pad; pad--)
		*p++ = 0;
	seal(n, l, out, p);
}

/* -------------------------------------------------------- decoding of packets */
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
	/* In a packet with an AETH, the field `ack' says that the AETH is an ACK. In
	 * other packets, it is the AckReq bit.
	 */
	put_flag(l, RN_F_ACK, bth.ack_req && !(op->flags & RN_OP_AETH));
	put_flag(l, RN_F_FECN, bth.fecn);
	put_flag(l, RN_F_BECN, bth.becn);
	*payload = read_extensions(l, op->flags, p->bytes + RN_BTH_LEN, end);
	put(l, RN_F_LEN, (uint64_t)(end - *payload) - bth.pad_cnt);
	return rn_icrc_check(NULL, &p->flow, p->bytes, p->len, 0, false) == RN_ICRC_BAD
		       ? -EBADMSG
		       : 0;
}

/* Returns the set of fields in which the packet must agree with the line: those that the
 * line gives, the length, and the syndrome if the packet has an AETH (without a
 * syndrome, the line expects an ACK).
 */
static rn_scn_set wanted_fields(const struct rn_scn_line *l)
{
	rn_scn_set fields = l->given & ~(RN_F_BIT(RN_F_OPTIONAL) | RN_F_BIT(RN_F_DATA) |
					 RN_F_BIT(RN_F_TO) | RN_F_BIT(RN_F_OR_MSN));
	rn_scn_set said =
		RN_F_BIT(RN_F_NAK) | RN_F_BIT(RN_F_RNR) | RN_F_BIT(RN_F_SYNDROME);

	fields |= RN_F_BIT(RN_F_LEN);
	if (rn_opcode_info[l->opcode].flags & RN_OP_AETH && !(fields & said))
		fields |= RN_F_BIT(RN_F_ACK);
	return fields;
}

static uint64_t wanted_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			     enum rn_scn_field f)
{
	if (!rn_scn_has(l, f))
		/* `ack' and `len' are compared even if the line does not give them. Then
		 * `ack' must be 1, and `len' must be 0.
		 */
		return f == RN_F_ACK;
	return rn_scene_value(n, l, f);
}

struct rn_scn_line rn_scene_wanted(const struct rn_scene_names *n,
				   const struct rn_scn_line *l)
{
	struct rn_scn_line want = *l;

	want.given = wanted_fields(l);
	for (unsigned i = 0; i < RN_F_COUNT; i++)
		want.value[i] = wanted_value(n, l, (enum rn_scn_field)i);
	return want;
}

/* ---------------------------------------------------------- layouts of CM messages */
/* Values in messages of the peer. The layouts below follow IBTA Vol 1, 13.4.2 (MAD
 * header), 12.6 and 12.7 (messages).
 */
enum {
	PEER_QPN = 0x91,
	PORT = 7174,
	PRIVATE_LETTERS = 8,
	BY_PEER = 0,
	BY_DEVICE = 1,
};

/* GUID of the peer in run 0; it is 0x100 higher in each further run. */
#define PEER_GUID UINT64_C(0x0200000000000099)
#define PEER_TID UINT64_C(0x7e57000000000000)

/* Where a field is in a MAD: number of its first bit, counted from the beginning of the
 * MAD, and its width in bits.
 */
struct place {
	uint8_t field; /* enum rn_scn_field */
	uint16_t bit, width;
};

/* The place of a field, given by its byte and bit within the message behind the MAD
 * header, as in the tables of IBTA Vol 1, chapter 12.
 */
#define AT(byte, bit, width, field)                                          \
	{                                                                    \
		RN_F_##field, (RN_MAD_HDR_LEN + (byte)) * 8 + (bit), (width) \
	}

/* clang-format off */
static const struct place header[] = {
	{ RN_F_BASE,        0 * 8,  8 },
	{ RN_F_CLASS,       1 * 8,  8 },
	{ RN_F_VERSION,     2 * 8,  8 },
	{ RN_F_METHOD,      3 * 8,  8 },
	{ RN_F_TID,         8 * 8, 64 },
	{ RN_F_ATTR_NUMBER, 16 * 8, 16 },
	{ 0 },
};
static const struct place tid_place = { RN_F_TID, 8 * 8, 64 };
static const struct place attr_place = { RN_F_ATTR_NUMBER, 16 * 8, 16 };

static const struct place req[] = {
	AT(0, 0, 32, LOCAL),      AT(8, 0, 64, SERVICE),      AT(16, 0, 64, GUID),
	AT(28, 0, 32, QKEY),      AT(32, 0, 24, QPN),         AT(35, 0, 8, RESP),
	AT(39, 0, 8, DEPTH),      AT(43, 0, 5, REMOTE_TIMEOUT), AT(43, 5, 2, TRANSPORT),
	AT(44, 0, 24, PSN),       AT(47, 0, 5, LOCAL_TIMEOUT), AT(47, 5, 3, RETRY),
	AT(48, 0, 16, PKEY),      AT(50, 0, 4, MTU),          AT(50, 5, 3, RNR_RETRY),
	AT(51, 0, 4, CM_RETRIES), AT(51, 5, 3, EXT),          AT(95, 0, 5, ACK_TIMEOUT),
	{ 0 },
};

static const struct place mra[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 2, ABOUT), AT(9, 0, 5, WAIT),
	{ 0 },
};

static const struct place rej[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 2, ABOUT), AT(9, 0, 7, ARI),
	AT(10, 0, 16, REASON),
	{ 0 },
};

static const struct place rej_guid = AT(12, 0, 64, GUID);
static const struct place rep[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE),    AT(8, 0, 32, QKEY),
	AT(12, 0, 24, QPN),  AT(16, 0, 24, EECN),     AT(20, 0, 24, PSN),
	AT(24, 0, 8, RESP),  AT(25, 0, 8, DEPTH),     AT(26, 0, 5, ACK_DELAY),
	AT(27, 0, 3, RNR_RETRY), AT(28, 0, 64, GUID),
	{ 0 },
};

static const struct place ids[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE),
	{ 0 },
};

static const struct place dreq[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 24, REMOTE_QPN),
	{ 0 },
};

static const struct place sidr_req[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 16, PKEY), AT(8, 0, 64, SERVICE),
	{ 0 },
};

static const struct place sidr_rep[] = {
	AT(0, 0, 32, REMOTE), AT(4, 0, 8, CM_STATUS), AT(5, 0, 8, ARI), AT(8, 0, 24, QPN),
	AT(12, 0, 64, SERVICE), AT(20, 0, 32, QKEY),
	{ 0 },
};

static const struct place lap[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(12, 0, 24, REMOTE_QPN),
	AT(15, 0, 5, REMOTE_TIMEOUT), AT(63, 0, 5, ACK_TIMEOUT),
	{ 0 },
};

static const struct place apr[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 8, ARI), AT(9, 0, 8, CM_STATUS),
	{ 0 },
};

/* A kind of CM message. Offsets and lengths are in bytes, from the beginning of the
 * message behind the MAD header; 0: the message has no such part. @question: the kind of
 * message to which this kind is an answer; 0: none.
 */
static const struct layout {
	const struct place *places;
	uint16_t local_gid, gid, private_at, private_len;
	uint16_t question;
} layouts[RN_SCENE_MAD_KINDS] = {
	[0 /* REQ */] =                { req,      56, 72, 140,  92, 0 },
	[RN_CM_MRA - RN_CM_REQ] =      { mra,       0,  0,  10, 222, RN_CM_REQ },
	[RN_CM_REJ - RN_CM_REQ] =      { rej,       0,  0,  84, 148, RN_CM_REQ },
	[RN_CM_REP - RN_CM_REQ] =      { rep,       0,  0,  36, 196, RN_CM_REQ },
	[RN_CM_RTU - RN_CM_REQ] =      { ids,       0,  0,   8, 224, RN_CM_REQ },
	[RN_CM_DREQ - RN_CM_REQ] =     { dreq,      0,  0,  12, 220, 0 },
	[RN_CM_DREP - RN_CM_REQ] =     { ids,       0,  0,   8, 224, RN_CM_DREQ },
	[RN_CM_SIDR_REQ - RN_CM_REQ] = { sidr_req,  0,  0,  16, 216, 0 },
	[RN_CM_SIDR_REP - RN_CM_REQ] = { sidr_rep,  0,  0,  96, 136, RN_CM_SIDR_REQ },
	[RN_CM_LAP - RN_CM_REQ] =      { lap,      24, 40,  64, 168, 0 },
	[RN_CM_APR - RN_CM_REQ] =      { apr,       0,  0,  84, 148, RN_CM_LAP },
};
/* clang-format on */

static const struct layout *layout_of(unsigned attr)
{
	return &layouts[attr - RN_CM_REQ];
}

static const struct place *find_place(const struct place *at, enum rn_scn_field f)
{
	for (; at->width; at++)
		if (at->field == f)
			return at;
	return NULL;
}

static uint64_t get_bits(const uint8_t *mad, const struct place *at)
{
	uint64_t value = 0;

	for (unsigned i = at->bit; i < (unsigned)at->bit + at->width; i++)
		value = value << 1 | (mad[i / 8] >> (7 - i % 8) & 1);
	return value;
}

/* Writes a field of a MAD. If the value has too many bits for the field, its highest
 * bits are lost.
 */
static void put_bits(uint8_t *mad, const struct place *at, uint64_t value)
{
	for (unsigned i = at->bit + at->width; i-- > at->bit; value >>= 1) {
		uint8_t mask = (uint8_t)(0x80 >> i % 8);

		mad[i / 8] = (uint8_t)((mad[i / 8] & ~mask) | (value & 1 ? mask : 0));
	}
}

/* ---------------------------------------------------------- state of a connection */
static uint32_t peer_qpn(unsigned conn)
{
	return PEER_QPN + conn;
}

uint64_t rn_scene_service(const struct rn_scn_object *conn)
{
	bool udp = rn_scn_has(&conn->line, RN_F_UDP);
	uint16_t port = (uint16_t)rn_scn_get(&conn->line, RN_F_PORT, PORT);

	return rn_scn_get(&conn->line, RN_F_SERVICE,
			  rn_cm_service_id(udp ? RN_CM_PS_UDP : RN_CM_PS_TCP, port));
}

void rn_scene_letters(uint64_t value, uint8_t out[8])
{
	rn_put_be64(out, value);
}

uint64_t rn_scene_letters_of(const uint8_t *data, uint32_t len)
{
	for (uint32_t i = PRIVATE_LETTERS; i < len; i++)
		if (data[i])
			return UINT64_MAX;
	return rn_get_be64(data);
}

static const struct rn_gid *gid_of(const struct rn_scene_names *n, uint64_t which)
{
	static const struct rn_gid none;

	switch (which) {
	case RN_SCN_GID_DEVICE:
		return &n->device;
	case RN_SCN_GID_PEER:
		return &n->peer;
	case RN_SCN_GID_OTHER:
		return &n->other;
	default:
		return &none;
	}
}

static uint64_t which_gid(const struct rn_scene_names *n, const uint8_t *raw)
{
	for (uint64_t i = 0; i < RN_SCN_GID_UNKNOWN; i++)
		if (!memcmp(gid_of(n, i)->raw, raw, sizeof(n->device.raw)))
			return i;
	return RN_SCN_GID_UNKNOWN;
}

/* Called for the message of line @l, which @by sends. If the message is an answer,
 * returns its transaction ID, which is that of the message that it answers. Returns 0 if
 * the message begins a transaction, or if the ID is not known.
 */
static uint64_t transaction(const struct rn_scene_conn *conn, const struct rn_scn_line *l,
			    unsigned by)
{
	unsigned question = layout_of(l->opcode)->question;
	uint64_t asked;

	if (l->opcode == RN_CM_MRA &&
	    rn_scn_get(l, RN_F_ABOUT, RN_CM_ABOUT_REQ) == RN_CM_ABOUT_OTHER)
		question = RN_CM_LAP;
	if (!question)
		return 0;
	asked = get_bits(conn->last[!by][question - RN_CM_REQ], &tid_place);
	return asked ? asked : get_bits(conn->last[by][question - RN_CM_REQ], &tid_place);
}

/* -------------------------------------------------------- encoding of CM messages */
/* Returns the value that field @f of the message of line @l gets if the line does not
 * give it: the value that a correct peer would send.
 */
static uint64_t usual(const struct rn_scn_object *o, const struct rn_scene_conn *conn,
		      const struct rn_scn_line *l, enum rn_scn_field f)
{
	static const struct {
		enum rn_scn_field field;
		uint64_t value;
	} same[] = {
		{ RN_F_BASE, RN_MAD_BASE_VERSION },
		{ RN_F_CLASS, RN_MAD_CLASS_CM },
		{ RN_F_VERSION, RN_MAD_CM_VERSION },
		{ RN_F_METHOD, RN_MAD_SEND },
		{ RN_F_RESP, 4 },
		{ RN_F_DEPTH, 2 },
		{ RN_F_REMOTE_TIMEOUT, 20 },
		{ RN_F_LOCAL_TIMEOUT, 20 },
		{ RN_F_ACK_TIMEOUT, 19 },
		{ RN_F_ACK_DELAY, 15 },
		{ RN_F_PSN, 0x191 },
		{ RN_F_RETRY, 7 },
		{ RN_F_RNR_RETRY, 6 },
		{ RN_F_PKEY, 0xffff },
		{ RN_F_MTU, 3 },
		{ RN_F_CM_RETRIES, 15 },
		{ RN_F_WAIT, 20 },
		{ RN_F_REASON, RN_CM_REJ_CONSUMER },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(same); i++)
		if (same[i].field == f)
			return same[i].value;
	switch ((int)f) {
	case RN_F_ATTR_NUMBER:
		return l->opcode;
	case RN_F_LOCAL:
		return rn_scene_peer_id(conn->run, l->subject);
	case RN_F_GUID:
		return PEER_GUID + ((uint64_t)conn->run << 8);
	case RN_F_REMOTE:
		return conn->device_id;
	case RN_F_SERVICE:
		return rn_scene_service(o);
	case RN_F_QPN:
		return peer_qpn(l->subject);
	case RN_F_REMOTE_QPN:
		return conn->device_qpn;
	case RN_F_ARI: /* a REJ of reason 4 has the GUID of its sender there */
		return rn_scn_get(l, RN_F_REASON, 0) == RN_CM_REJ_TIMEOUT ? 8 : 0;
	default:
		return 0;
	}
}

static void put_places(uint8_t *mad, const struct place *at,
		       const struct rn_scn_object *o, const struct rn_scene_conn *conn,
		       const struct rn_scn_line *l)
{
	for (; at->width; at++) {
		enum rn_scn_field f = (enum rn_scn_field)at->field;

		put_bits(mad, at, rn_scn_get(l, f, usual(o, conn, l, f)));
	}
}

/* Writes the path record of a message, for the path between the two addresses that the
 * line gives.
 */
static void put_path(uint8_t *mad, const struct rn_scene_names *n, const struct layout *m,
		     const struct rn_scn_line *l)
{
	uint8_t *at = mad + RN_MAD_HDR_LEN + m->local_gid;
	uint64_t local = rn_scn_get(l, RN_F_LOCAL_GID, RN_SCN_GID_PEER);
	uint64_t remote = rn_scn_get(l, RN_F_GID, RN_SCN_GID_DEVICE);

	memset(at - 4, 0xff, 4); /* the local and the remote LID */
	memcpy(at, gid_of(n, local)->raw, 16);
	memcpy(at + 16, gid_of(n, remote)->raw, 16);
	at[l->opcode == RN_CM_REQ ? 37 : 36] = 64; /* hop limit */
}

static bool has_ip_header(const uint8_t *mad, unsigned attr)
{
	const struct place *service = find_place(layout_of(attr)->places, RN_F_SERVICE);

	return (attr == RN_CM_REQ || attr == RN_CM_SIDR_REQ) && service &&
	       rn_cm_service_is_ip(get_bits(mad, service));
}

/* Returns the private data that the sender's program has given: what follows an IP CM
 * header, if there is one. *@len: out, its length.
 */
static const uint8_t *private_data(const uint8_t *mad, unsigned attr, uint32_t *len)
{
	const struct layout *m = layout_of(attr);
	uint32_t skip = has_ip_header(mad, attr) ? RN_CM_IP_HDR_LEN : 0;

	*len = m->private_len - skip;
	return mad + RN_MAD_HDR_LEN + m->private_at + skip;
}

static void put_private(uint8_t *mad, const struct rn_scene_names *n,
			const struct rn_scn_line *l)
{
	const struct rn_cm_ip_hdr ip = {
		.src_port = 50000,
		.src = n->peer,
		.dst = n->device,
	};
	uint8_t *at = mad + RN_MAD_HDR_LEN + layout_of(l->opcode)->private_at;

	if (has_ip_header(mad, l->opcode)) {
		uint8_t *after = rn_cm_ip_hdr_emit(at, &ip);

		at[0] = (uint8_t)rn_scn_get(l, RN_F_IP_VERSION, at[0]);
		at = after;
	}
	rn_scene_letters(rn_scn_get(l, RN_F_PRIVATE, 0), at);
}

static void fill_mad(const struct rn_scene_names *n, const struct rn_scn_object *o,
		     struct rn_scene_conn *conn, const struct rn_scn_line *l,
		     uint8_t *mad)
{
	const struct layout *m = layout_of(l->opcode);
	uint64_t tid = transaction(conn, l, BY_PEER);

	memset(mad, 0, RN_MAD_LEN);
	put_places(mad, header, o, conn, l);
	put_places(mad, m->places, o, conn, l);
	if (l->opcode == RN_CM_REJ && usual(o, conn, l, RN_F_ARI))
		put_bits(mad, &rej_guid, usual(o, conn, l, RN_F_GUID));
	conn->said++;
	if (!tid)
		tid = PEER_TID | (uint64_t)l->subject << 32 | conn->said;
	put_bits(mad, &tid_place, rn_scn_get(l, RN_F_TID, tid));
	if (m->gid)
		put_path(mad, n, m, l);
	put_private(mad, n, l);
}

void rn_scene_mad_encode(const struct rn_scene_names *n, const struct rn_scn_object *o,
			 struct rn_scene_conn *conn, const struct rn_scn_line *l,
			 struct rn_scene_packet *out)
{
	uint8_t *last = conn->last[BY_PEER][l->opcode - RN_CM_REQ];
	const struct rn_bth bth = {
		.opcode = (uint8_t)rn_scn_get(l, RN_F_OPCODE_NUMBER, RN_UD_SEND_ONLY),
		.migreq = true,
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = (uint32_t)rn_scn_get(l, RN_F_DEST, 1) & RN_QPN_MASK,
		.psn = { conn->said & RN_PSN_MASK },
	};
	const struct rn_deth deth = {
		.qkey = (uint32_t)rn_scn_get(l, RN_F_GSI_QKEY, RN_GSI_QKEY),
		.src_qpn = (uint32_t)rn_scn_get(l, RN_F_SRC, 1) & RN_QPN_MASK,
	};
	uint8_t *p = rn_deth_emit(rn_bth_emit(out->bytes, &bth), &deth);

	if (!rn_scn_has(l, RN_F_AGAIN))
		fill_mad(n, o, conn, l, last);
	memcpy(p, last, RN_MAD_LEN);
	seal(n, l, out, p + RN_MAD_LEN);
}

/* -------------------------------------------------------- decoding of CM messages */
static void read_places(struct rn_scn_line *l, const uint8_t *mad, const struct place *at)
{
	for (; at->width; at++)
		put(l, (enum rn_scn_field)at->field, get_bits(mad, at));
}

bool rn_scene_is_mad(const struct rn_scene_packet *p)
{
	struct rn_bth bth;

	return p->len >= RN_BTH_LEN + RN_ICRC_LEN &&
	       !rn_bth_parse(&bth, p->bytes, p->bytes + p->len) && bth.dest_qpn == 1;
}

/* Returns the MAD of a packet. Returns NULL if the packet is not one that queue pair 1
 * sends.
 */
static const uint8_t *unpack(const struct rn_scene_packet *p)
{
	const uint8_t *deth_at = p->bytes + RN_BTH_LEN, *mad = deth_at + RN_DETH_LEN;
	struct rn_deth deth;
	struct rn_bth bth;

	if (p->len != RN_GSI_PACKET_LEN || rn_bth_parse(&bth, p->bytes, deth_at) ||
	    bth.opcode != RN_UD_SEND_ONLY || bth.pkey != RN_PKEY_DEFAULT || bth.pad_cnt ||
	    rn_deth_parse(&deth, deth_at, mad) || deth.qkey != RN_GSI_QKEY ||
	    deth.src_qpn != 1 ||
	    rn_icrc_check(NULL, &p->flow, p->bytes, p->len, 0, false) == RN_ICRC_BAD)
		return NULL;
	return mad;
}

const uint8_t *rn_scene_mad_decode(const struct rn_scene_names *n,
				   const struct rn_scene_packet *p, struct rn_scn_line *l)
{
	const uint8_t *mad = unpack(p), *data;
	const struct layout *m;
	uint64_t attr;
	uint32_t len;

	if (!mad)
		return NULL;
	attr = get_bits(mad, &attr_place);
	if (attr < RN_CM_REQ || attr > RN_CM_APR)
		return NULL;
	m = layout_of((unsigned)attr);
	*l = (struct rn_scn_line){ .verb = RN_SCN_MAD_OUT, .opcode = (uint8_t)attr };
	read_places(l, mad, header);
	read_places(l, mad, m->places);
	if (m->gid && n) {
		put(l, RN_F_GID, which_gid(n, mad + RN_MAD_HDR_LEN + m->gid));
		put(l, RN_F_LOCAL_GID, which_gid(n, mad + RN_MAD_HDR_LEN + m->local_gid));
	}
	data = private_data(mad, (unsigned)attr, &len);
	put(l, RN_F_PRIVATE, rn_scene_letters_of(data, len));
	return mad;
}

/* ----------------------------------------------------------- expected CM messages */
/* Sets the expected value of a field unless the line gives one. */
static void want(struct rn_scn_line *l, enum rn_scn_field f, uint64_t value)
{
	if (!rn_scn_has(l, f))
		put(l, f, value);
}

struct rn_scn_line rn_scene_mad_wanted(const struct rn_scene_conn *conn,
				       const struct rn_scn_line *l)
{
	const struct layout *m = layout_of(l->opcode);
	struct rn_scn_line w = *l;
	uint64_t tid = transaction(conn, l, BY_DEVICE);

	w.given &= ~(RN_F_BIT(RN_F_AGAIN) | RN_F_BIT(RN_F_OPTIONAL) | RN_F_BIT(RN_F_TO));
	if (rn_scn_has(l, RN_F_AGAIN))
		/* all bytes of an exact repetition must equal the earlier ones */
		return w;
	want(&w, RN_F_BASE, RN_MAD_BASE_VERSION);
	want(&w, RN_F_CLASS, RN_MAD_CLASS_CM);
	want(&w, RN_F_VERSION, RN_MAD_CM_VERSION);
	want(&w, RN_F_METHOD, RN_MAD_SEND);
	want(&w, RN_F_PRIVATE, 0);
	if (find_place(m->places, RN_F_REMOTE))
		want(&w, RN_F_REMOTE, rn_scene_peer_id(conn->run, l->subject));
	/* The sender's ID in a REJ is not compared, because the sender may reject a
	 * request before it has an ID.
	 */
	if (conn->device_id && l->opcode != RN_CM_REJ &&
	    find_place(m->places, RN_F_LOCAL))
		want(&w, RN_F_LOCAL, conn->device_id);
	if (tid)
		want(&w, RN_F_TID, tid);
	return w;
}

void rn_scene_mad_note(struct rn_scene_conn *conn, const struct rn_scn_line *came,
		       const uint8_t *mad)
{
	memcpy(conn->last[BY_DEVICE][came->opcode - RN_CM_REQ], mad, RN_MAD_LEN);
	if (came->opcode != RN_CM_REJ && rn_scn_get(came, RN_F_LOCAL, 0))
		conn->device_id = (uint32_t)came->value[RN_F_LOCAL];
	if (came->opcode == RN_CM_REQ || came->opcode == RN_CM_REP)
		conn->device_qpn = (uint32_t)came->value[RN_F_QPN];
}
