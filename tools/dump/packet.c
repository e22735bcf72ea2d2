/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.c - parses a captured RoCEv2 packet. */
#include "packet.h"

#include <libdeflate.h>
#include <string.h>

#include "rocin/icrc.h"

enum {
	/* Length of the LRH of an InfiniBand packet. The ICRC of RoCEv2 covers 8 bytes of
	 * ones in its place.
	 */
	LRH_LEN = 8,
	IPV4_LEN = 20,
	IPV4_LEN_MAX = 60,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	IPV4_DF = 0x4000,
	IPV4_PART = 0x3fff, /* mask of "more fragments" and the fragment offset */
	IPV4_OFFSET = 0x1fff,
	IPV6_FRAGMENT_OFFSET = 0xfff8
};

/* Values of the next-header field of an IP header. */
enum {
	NEXT_HOP_BY_HOP = 0,
	NEXT_UDP = 17,
	NEXT_ROCE_V1 = 27, /* RoCE v1: the "IPv6" header is a GRH, followed by a BTH */
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_AUTHENTICATION = 51,
	NEXT_DESTINATION = 60
};

/* Returns the length in bytes of the IPv4 header at @ip; 0 if it is not IPv4, or invalid.
 */
static size_t ipv4_len(const uint8_t *ip, size_t len)
{
	size_t said = len ? (ip[0] & 15) * (size_t)4 : 0;

	return len >= IPV4_LEN && ip[0] >> 4 == 4 && said >= IPV4_LEN ? said : 0;
}

static bool is_ipv6(const uint8_t *ip, size_t len)
{
	return len >= IPV6_LEN && ip[0] >> 4 == 6;
}

/* Parses the IP header into @p. Returns the UDP header behind it, or NULL. */
static const uint8_t *parse_ip(struct rn_packet *p, const uint8_t *ip, size_t len)
{
	size_t v4 = ipv4_len(ip, len);

	if (v4 && len >= v4 + UDP_LEN && ip[9] == NEXT_UDP &&
	    !(rn_get_be16(ip + 6) & IPV4_OFFSET)) {
		p->flow.src = p->flow.dst =
			(struct rn_gid){ { [10] = 0xff, [11] = 0xff } };
		memcpy(p->flow.src.raw + 12, ip + 12, 4);
		memcpy(p->flow.dst.raw + 12, ip + 16, 4);
		p->flow.tclass = ip[1];
		p->flow.hop_limit = ip[8];
		p->is_ipv4 = true;
		p->has_options = v4 > IPV4_LEN;
		p->has_df = (rn_get_be16(ip + 6) & IPV4_DF) != 0;
		p->is_a_part = (rn_get_be16(ip + 6) & IPV4_PART) != 0;
		return ip + v4;
	}
	if (is_ipv6(ip, len) && len >= IPV6_LEN + UDP_LEN && ip[6] == NEXT_UDP) {
		memcpy(p->flow.src.raw, ip + 8, 16);
		memcpy(p->flow.dst.raw, ip + 24, 16);
		p->flow.tclass = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
		p->flow.hop_limit = ip[7];
		p->has_df = true;
		return ip + IPV6_LEN;
	}
	return NULL;
}

/* Computes the ICRC over the header fields as captured, with ones in place of the fields
 * that routers may change. @ip_len: bytes of the IP header that the ICRC covers.
 */
static uint32_t icrc_of(const struct rn_packet *p, const uint8_t *ip, size_t ip_len)
{
	uint8_t head[LRH_LEN + IPV4_LEN_MAX + UDP_LEN + RN_BTH_LEN];
	uint8_t *net = head + LRH_LEN, *udp = net + ip_len;
	uint32_t crc;

	memset(head, 0xff, LRH_LEN);
	memcpy(net, ip, ip_len);
	memcpy(udp, p->at - UDP_LEN, UDP_LEN + RN_BTH_LEN);
	if (p->is_ipv4) {
		net[1] = net[8] = 0xff; /* ToS, TTL */
		memset(net + 10, 0xff, 2);
	} else {
		net[0] |= 0x0f; /* low half of the traffic class; and the flow label */
		memset(net + 1, 0xff, 3);
		net[7] = 0xff; /* hop limit */
	}
	memset(udp + 6, 0xff, 2);
	udp[UDP_LEN + 4] = 0xff; /* FECN, BECN, reserved */
	crc = libdeflate_crc32(0, head, (size_t)(udp - head) + UDP_LEN + RN_BTH_LEN);
	return libdeflate_crc32(crc, p->at + RN_BTH_LEN,
				p->said - RN_BTH_LEN - RN_ICRC_LEN);
}

static enum rn_packet_icrc check_icrc(const struct rn_packet *p, const uint8_t *ip)
{
	size_t ip_len = (size_t)(p->at - ip) - UDP_LEN;
	uint32_t icrc;

	if (p->have < p->said)
		return RN_PACKET_ICRC_CUT;
	if (p->said < RN_BTH_LEN + RN_ICRC_LEN)
		return RN_PACKET_ICRC_NONE;
	icrc = rn_get_le32(p->at + p->said - RN_ICRC_LEN);
	if (icrc_of(p, ip, ip_len) == icrc)
		return RN_PACKET_ICRC_RIGHT;
	if (!p->has_options)
		return RN_PACKET_ICRC_WRONG;
	/* Annex A17 does not allow IPv4 options, so it does not say whether the ICRC
	 * covers them.
	 */
	return icrc_of(p, ip, IPV4_LEN) == icrc ? RN_PACKET_ICRC_RIGHT
						: RN_PACKET_ICRC_OPEN;
}

/* Parses the headers behind the BTH, in the order in which they are sent. Their total
 * length was checked, so none of these calls fails.
 */
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

static bool is_empty(const uint8_t *udp)
{
	return rn_get_be16(udp + 4) == UDP_LEN;
}

bool rn_packet_parse(struct rn_packet *p, const uint8_t *ip, size_t len)
{
	const uint8_t *udp;
	size_t have;
	uint32_t said;

	*p = (struct rn_packet){ .op = &rn_opcode_info[0xff] };
	udp = parse_ip(p, ip, len);
	if (!udp || rn_get_be16(udp + 2) != RN_ROCE_PORT || is_empty(udp))
		return false;
	p->flow.sport = rn_get_be16(udp);
	p->at = udp + UDP_LEN;
	have = len - (size_t)(p->at - ip);
	said = rn_get_be16(udp + 4);
	p->said = said >= UDP_LEN ? said - UDP_LEN : 0;
	p->have = have < p->said ? (uint32_t)have : p->said;
	p->icrc = check_icrc(p, ip);
	p->form = parse_transport(p);
	return true;
}

/* Returns the reason why an IPv6 packet was not parsed. Looks for a UDP header behind the
 * extension headers.
 */
static enum rn_packet_skip skipped_ipv6(const uint8_t *ip, size_t len)
{
	uint8_t next = ip[6];
	size_t at = IPV6_LEN;

	if (next == NEXT_ROCE_V1)
		return RN_PACKET_SKIP_ROCE_V1;
	while (at + 8 <= len) {
		uint8_t header = next;

		if (next == NEXT_UDP)
			return rn_get_be16(ip + at + 2) == RN_ROCE_PORT
				       ? RN_PACKET_SKIP_EXTENSION
				       : RN_PACKET_SKIP_OTHER;
		if (next != NEXT_HOP_BY_HOP && next != NEXT_ROUTING &&
		    next != NEXT_FRAGMENT && next != NEXT_AUTHENTICATION &&
		    next != NEXT_DESTINATION)
			break;
		next = ip[at];
		if (header == NEXT_FRAGMENT &&
		    rn_get_be16(ip + at + 2) & IPV6_FRAGMENT_OFFSET)
			return next == NEXT_UDP ? RN_PACKET_SKIP_FRAGMENT
						: RN_PACKET_SKIP_OTHER;
		if (header == NEXT_FRAGMENT)
			at += 8;
		else if (header == NEXT_AUTHENTICATION)
			at += (ip[at + 1] + (size_t)2) * 4;
		else
			at += (ip[at + 1] + (size_t)1) * 8;
	}
	return RN_PACKET_SKIP_OTHER;
}

enum rn_packet_skip rn_packet_skipped(const uint8_t *ip, size_t len)
{
	struct rn_packet p = { 0 };
	const uint8_t *udp = parse_ip(&p, ip, len);

	if (udp && rn_get_be16(udp + 2) == RN_ROCE_PORT && is_empty(udp))
		return RN_PACKET_SKIP_EMPTY;
	if (ipv4_len(ip, len) && ip[9] == NEXT_UDP && rn_get_be16(ip + 6) & IPV4_OFFSET)
		return RN_PACKET_SKIP_FRAGMENT;
	return is_ipv6(ip, len) ? skipped_ipv6(ip, len) : RN_PACKET_SKIP_OTHER;
}

const uint8_t *rn_packet_payload(const struct rn_packet *p, uint32_t len)
{
	if (p->form != RN_PACKET_WHOLE || p->payload_len < len ||
	    (size_t)(p->at + p->have - p->payload) < len)
		return NULL;
	return p->payload;
}
