/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_packet.c - see roce_packet.h */
#include <string.h>

#include "roce_packet.h"
#include "rocin/icrc.h"

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	PROTO_UDP = 17,
	IPV4_DF = 0x4000,
	IPV4_PART = 0x3fff /* more fragments, or an offset */
};

/* Return: the UDP header, or NULL. */
static const uint8_t *parse_ip(struct rn_packet *p, const uint8_t *ip, size_t len)
{
	if (len >= IPV4_LEN + UDP_LEN && ip[0] == 0x45 && ip[9] == PROTO_UDP) {
		p->flow.src = p->flow.dst =
			(struct rn_gid){ { [10] = 0xff, [11] = 0xff } };
		memcpy(p->flow.src.raw + 12, ip + 12, 4);
		memcpy(p->flow.dst.raw + 12, ip + 16, 4);
		p->flow.tclass = ip[1];
		p->flow.hop_limit = ip[8];
		p->is_ipv4 = true;
		p->has_df = (rn_get_be16(ip + 6) & IPV4_DF) != 0;
		p->is_a_part = (rn_get_be16(ip + 6) & IPV4_PART) != 0;
		p->ip_id = rn_get_be16(ip + 4);
		return ip + IPV4_LEN;
	}
	if (len >= IPV6_LEN + UDP_LEN && ip[0] >> 4 == 6 && ip[6] == PROTO_UDP) {
		memcpy(p->flow.src.raw, ip + 8, 16);
		memcpy(p->flow.dst.raw, ip + 24, 16);
		p->flow.tclass = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
		p->flow.hop_limit = ip[7];
		p->has_df = true;
		return ip + IPV6_LEN;
	}
	return NULL;
}

/* An ICRC is defined for what fits an IPv4 datagram, and told by its addresses: those of
 * IPv4 may not stand in an IPv6 header (RFC 4291, 2.5.5).
 */
static bool has_icrc(const struct rn_packet *p)
{
	return p->said - RN_ICRC_LEN <= RN_ICRC_DATA_MAX &&
	       rn_gid_is_ipv4(&p->flow.src) == p->is_ipv4 &&
	       rn_gid_is_ipv4(&p->flow.dst) == p->is_ipv4;
}

static enum rn_packet_icrc check_icrc(const struct rn_packet *p)
{
	if (p->have < p->said)
		return RN_PACKET_ICRC_CUT;
	if (p->said < RN_BTH_LEN + RN_ICRC_LEN)
		return RN_PACKET_ICRC_NONE;
	if (!has_icrc(p) || rn_icrc(&p->flow, p->ip_id, p->at, p->said - RN_ICRC_LEN) !=
				    rn_get_le32(p->at + p->said - RN_ICRC_LEN))
		return RN_PACKET_ICRC_WRONG;
	return RN_PACKET_ICRC_RIGHT;
}

/* The headers behind the BTH, in wire order. Their room was checked: nothing fails. */
static void parse_headers(struct rn_packet *p)
{
	const uint8_t *at = p->at + RN_BTH_LEN, *end = p->at + p->have;
	uint32_t flags = p->op->flags;

	if (flags & RN_OP_DETH && !rn_deth_parse(&p->deth, at, end))
		at += RN_DETH_LEN;
	if (flags & RN_OP_XRCETH && !rn_xrceth_parse(&p->srqn, at, end))
		at += RN_XRCETH_LEN;
	if (flags & RN_OP_FETH && !rn_feth_parse(&p->feth, at, end))
		at += RN_FETH_LEN;
	if (flags & RN_OP_RETH && !rn_reth_parse(&p->reth, at, end))
		at += RN_RETH_LEN;
	if (flags & RN_OP_ATOMIC_ETH && !rn_atomic_eth_parse(&p->atomic, at, end))
		at += RN_ATOMIC_ETH_LEN;
	if (flags & RN_OP_AETH && !rn_aeth_parse(&p->aeth, at, end))
		at += RN_AETH_LEN;
	if (flags & RN_OP_ATOMIC_ACK_ETH &&
	    !rn_atomic_ack_eth_parse(&p->original, at, end))
		at += RN_ATOMIC_ACK_ETH_LEN;
	if (flags & RN_OP_IMM && !rn_imm_parse(&p->imm, at, end))
		at += RN_IMM_LEN;
	if (flags & RN_OP_IETH)
		(void)rn_ieth_parse(&p->invalidate, at, end);
	p->payload = p->at + p->op->hdr_len;
}

static enum rn_packet_form parse_transport(struct rn_packet *p)
{
	const uint8_t *end = p->at + p->have;
	uint32_t tail;

	if (p->said < RN_BTH_LEN)
		return RN_PACKET_NO_BTH;
	if (p->have < RN_BTH_LEN)
		return RN_PACKET_CUT;
	if (rn_bth_parse(&p->bth, p->at, end))
		return RN_PACKET_VERSION;
	p->op = &rn_opcode_info[p->bth.opcode];
	if (!p->op->flags)
		return RN_PACKET_NO_OPCODE;
	tail = p->bth.pad_cnt + (uint32_t)RN_ICRC_LEN;
	if (p->said < p->op->hdr_len + tail)
		return RN_PACKET_SHORT;
	if (p->have < p->op->hdr_len)
		return RN_PACKET_CUT;
	p->payload_len = p->said - p->op->hdr_len - tail;
	parse_headers(p);
	return RN_PACKET_WHOLE;
}

bool rn_packet_parse(struct rn_packet *p, const uint8_t *ip, size_t len)
{
	const uint8_t *udp;
	size_t have;
	uint32_t said;

	*p = (struct rn_packet){ .op = &rn_opcode_info[0xff] };
	udp = parse_ip(p, ip, len);
	if (!udp || rn_get_be16(udp + 2) != RN_ROCE_PORT)
		return false;
	p->flow.sport = rn_get_be16(udp);
	p->at = udp + UDP_LEN;
	have = len - (size_t)(p->at - ip);
	said = rn_get_be16(udp + 4);
	p->said = said >= UDP_LEN ? said - UDP_LEN : 0;
	p->have = have < p->said ? (uint32_t)have : p->said;
	p->icrc = check_icrc(p);
	p->form = parse_transport(p);
	return true;
}

const uint8_t *rn_packet_payload(const struct rn_packet *p, uint32_t len)
{
	if (p->form != RN_PACKET_WHOLE || p->payload_len < len ||
	    (size_t)(p->at + p->have - p->payload) < len)
		return NULL;
	return p->payload;
}
