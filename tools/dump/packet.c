/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.c - parses a captured packet of RoCE or InfiniBand, and describes it as text;
 * see packet.h.
 */
#include "packet.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rocin/icrc.h"
#include "rocin/mad.h"
#include "transport/io/host/gid_sockaddr.h"

enum {
	/* Length in bytes of the LRH, the first header of an InfiniBand packet. RoCE
	 * packets have none; their ICRC covers 8 bytes of ones in its place.
	 */
	LRH_LEN = 8,
	/* Values of the field LNH of an LRH, which says what follows it. */
	LNH_BTH = 2,
	LNH_GRH = 3,
	GRH_LEN = 40, /* laid out as an IPv6 header */
	IPV4_LEN = 20,
	IPV4_LEN_MAX = 60,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	IPV4_DF = 0x4000,
	/* mask of the bits in an IPv4 header that show a fragment: "more fragments" and
	 * the offset
	 */
	IPV4_PART = 0x3fff,
	IPV4_OFFSET = 0x1fff,
	IPV6_FRAGMENT_OFFSET = 0xfff8
};

/* Values of the next-header field of an IP header. */
enum {
	NEXT_HOP_BY_HOP = 0,
	NEXT_UDP = 17,
	/* a BTH: the header before it is a GRH, which has the layout of an IPv6 header */
	NEXT_BTH = 27,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_AUTHENTICATION = 51,
	NEXT_DESTINATION = 60
};

/* Returns the length in bytes of the IPv4 header at @ip. Returns 0 if the header is not
 * valid, or not of IPv4.
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

/* Parses the IP header and stores its fields in @p. Returns the UDP header behind it, or
 * NULL if there is none.
 */
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

/* Sets those fields of an IP header or GRH to ones that routers may change, as the ICRC
 * demands.
 */
static void mask_network(const struct rn_packet *p, uint8_t *net)
{
	if (p->is_ipv4) {
		net[1] = net[8] = 0xff; /* routers may change type of service and TTL */
		memset(net + 10, 0xff, 2);
	} else {
		/* IPv6 and GRH: routers may change the traffic class and the flow label
		 */
		net[0] |= 0x0f;
		memset(net + 1, 0xff, 3);
		net[7] = 0xff; /* routers may change the hop limit */
	}
}

/* Computes the ICRC of a RoCEv2 packet from the header fields as they were captured.
 * Fields that routers may change enter it as ones. @ip_len: number of bytes of the IP
 * header that enter the ICRC.
 */
static uint32_t icrc_of(const struct rn_packet *p, const uint8_t *ip, size_t ip_len)
{
	uint8_t head[LRH_LEN + IPV4_LEN_MAX + UDP_LEN + RN_BTH_LEN];
	uint8_t *net = head + LRH_LEN, *udp = net + ip_len;
	uint32_t crc;

	memset(head, 0xff, LRH_LEN);
	memcpy(net, ip, ip_len);
	memcpy(udp, p->at - UDP_LEN, UDP_LEN + RN_BTH_LEN);
	mask_network(p, net);
	memset(udp + 6, 0xff, 2);
	/* FECN and BECN, which the network may change, and reserved bits enter the ICRC
	 * as ones.
	 */
	udp[UDP_LEN + 4] = 0xff;
	crc = libdeflate_crc32(0, head, (size_t)(udp - head) + UDP_LEN + RN_BTH_LEN);
	return libdeflate_crc32(crc, p->at + RN_BTH_LEN,
				p->said - RN_BTH_LEN - RN_ICRC_LEN);
}

/* Returns true if the ICRC of an InfiniBand or RoCE v1 packet is right. The ICRC covers
 * the LRH except its virtual lane, which switches may change, or 8 bytes of ones if there
 * is no LRH (@lrh is NULL); then the GRH, if there is one (@grh is not NULL); and the
 * rest as in RoCEv2.
 */
static bool is_icrc_right(const struct rn_packet *p, const uint8_t *lrh,
			  const uint8_t *grh)
{
	uint8_t head[LRH_LEN + GRH_LEN + RN_BTH_LEN];
	uint8_t *at = head + LRH_LEN;
	uint32_t crc;

	memset(head, 0xff, LRH_LEN);
	if (lrh)
		memcpy(head, lrh, LRH_LEN);
	head[0] |= 0xf0;
	if (grh) {
		memcpy(at, grh, GRH_LEN);
		mask_network(p, at);
		at += GRH_LEN;
	}
	memcpy(at, p->at, RN_BTH_LEN);
	at[4] = 0xff; /* BTH: FECN, BECN and reserved bits */
	crc = libdeflate_crc32(0, head, (size_t)(at - head) + RN_BTH_LEN);
	crc = libdeflate_crc32(crc, p->at + RN_BTH_LEN,
			       p->said - RN_BTH_LEN - RN_ICRC_LEN);
	return rn_get_le32(p->at + p->said - RN_ICRC_LEN) == crc;
}

/* Returns RN_PACKET_ICRC_RIGHT if all bytes that the ICRC covers were captured. The
 * caller must then compare the ICRC.
 */
static enum rn_packet_icrc find_icrc(const struct rn_packet *p)
{
	if (p->have < p->said)
		return RN_PACKET_ICRC_CUT;
	return p->said < RN_BTH_LEN + RN_ICRC_LEN ? RN_PACKET_ICRC_NONE
						  : RN_PACKET_ICRC_RIGHT;
}

static enum rn_packet_icrc check_icrc(const struct rn_packet *p, const uint8_t *ip)
{
	size_t ip_len = (size_t)(p->at - ip) - UDP_LEN;
	enum rn_packet_icrc found = find_icrc(p);
	uint32_t icrc;

	if (found != RN_PACKET_ICRC_RIGHT)
		return found;
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

/* Parses the headers behind the BTH, in the order in which they are sent. The caller has
 * checked their total length, so none of these calls fails.
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

/* Stores where the packet begins, and how much of it was captured. @said: number of bytes
 * from the BTH on, according to the headers. @have: number of bytes that were captured
 * from there on.
 */
static void set_extent(struct rn_packet *p, const uint8_t *bth, size_t said, size_t have)
{
	p->at = bth;
	p->said = (uint32_t)said;
	p->have = (uint32_t)(have < said ? have : said);
}

static bool is_grh(const uint8_t *grh, size_t len)
{
	return is_ipv6(grh, len) && grh[6] == NEXT_BTH;
}

/* Stores the addresses of a GRH. The traffic class of a GRH has no ECN bits, so it is not
 * stored.
 */
static void parse_grh(struct rn_packet *p, const uint8_t *grh)
{
	memcpy(p->flow.src.raw, grh + 8, 16);
	memcpy(p->flow.dst.raw, grh + 24, 16);
	p->flow.hop_limit = grh[7];
}

/* Parses the rest of an InfiniBand or RoCE v1 packet, for which set_extent() has been
 * called.
 */
static void parse_rest(struct rn_packet *p, const uint8_t *lrh, const uint8_t *grh)
{
	/* such a packet has no IPv4 header, so it cannot be a fragment */
	p->has_df = true;
	p->icrc = find_icrc(p);
	if (p->icrc == RN_PACKET_ICRC_RIGHT && !is_icrc_right(p, lrh, grh))
		p->icrc = RN_PACKET_ICRC_WRONG;
	p->form = parse_transport(p);
}

/* Parses a packet of RoCE v1. The length in its GRH is that from the BTH to the ICRC. */
static bool parse_v1(struct rn_packet *p, const uint8_t *grh, size_t len)
{
	p->format = RN_PACKET_ROCE_V1;
	parse_grh(p, grh);
	set_extent(p, grh + GRH_LEN, rn_get_be16(grh + 4), len - GRH_LEN);
	parse_rest(p, NULL, grh);
	return true;
}

/* Returns an address that stands for a LID. No IPv6 address begins like this: the range
 * 100::/8 and everything below it is reserved, except for some addresses that begin with
 * many zeros.
 */
static struct rn_gid gid_of_lid(uint16_t lid)
{
	struct rn_gid gid = { { 0, 'l', 'i', 'd' } };

	rn_put_be16(gid.raw + 14, lid);
	return gid;
}

bool rn_packet_parse_ib(struct rn_packet *p, const uint8_t *lrh, size_t len)
{
	const uint8_t *grh = NULL;
	size_t said, head = LRH_LEN;

	*p = (struct rn_packet){ .op = &rn_opcode_info[0xff], .format = RN_PACKET_IB };
	if (len < LRH_LEN || (lrh[1] & 3) < LNH_BTH || (lrh[0] & 15) != 0)
		return false;
	p->vl = lrh[0] >> 4;
	p->sl = lrh[1] >> 4;
	p->dlid = rn_get_be16(lrh + 2);
	p->slid = rn_get_be16(lrh + 6);
	p->flow.src = gid_of_lid(p->slid);
	p->flow.dst = gid_of_lid(p->dlid);
	if ((lrh[1] & 3) == LNH_GRH) {
		grh = lrh + LRH_LEN;
		head += GRH_LEN;
		if (!is_grh(grh, len - LRH_LEN))
			return false;
		parse_grh(p, grh);
	}
	/* The field is the length from the LRH to the ICRC, in words of 4 bytes. */
	said = (size_t)(rn_get_be16(lrh + 4) & 0x7ff) * 4;
	set_extent(p, lrh + head, said > head ? said - head : 0, len - head);
	parse_rest(p, lrh, grh);
	return true;
}

bool rn_packet_parse(struct rn_packet *p, const uint8_t *ip, size_t len)
{
	const uint8_t *udp;
	uint32_t said;

	*p = (struct rn_packet){ .op = &rn_opcode_info[0xff] };
	if (is_grh(ip, len))
		return parse_v1(p, ip, len);
	udp = parse_ip(p, ip, len);
	if (!udp || rn_get_be16(udp + 2) != RN_ROCE_PORT || is_empty(udp))
		return false;
	p->flow.sport = rn_get_be16(udp);
	said = rn_get_be16(udp + 4);
	set_extent(p, udp + UDP_LEN, said >= UDP_LEN ? said - UDP_LEN : 0,
		   len - (size_t)(udp + UDP_LEN - ip));
	p->icrc = check_icrc(p, ip);
	p->form = parse_transport(p);
	return true;
}

/* Returns the reason why rn_packet_parse() has not parsed an IPv6 packet. Looks for a UDP
 * header behind extension headers; rn_packet_parse() does not accept these.
 */
static enum rn_packet_skip skipped_ipv6(const uint8_t *ip, size_t len)
{
	uint8_t next = ip[6];
	size_t at = IPV6_LEN;

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

/* ----------------------------------------------------------------- text of a packet */

/* A text buffer to which add_words() appends; text that does not fit is cut off. */
struct line {
	char *text;
	size_t len, used;
};

static void add_words(struct line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add_words(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->used, l->len - l->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->used +=
			(size_t)n < l->len - l->used ? (size_t)n : l->len - l->used - 1;
}

static void add_syndrome(struct line *l, uint8_t syndrome)
{
	uint8_t value = rn_aeth_value(syndrome);
	const char *nak = rn_nak_name(value);

	switch (rn_aeth_type(syndrome)) {
	case RN_AETH_ACK:
		add_words(l, " ACK");
		if (value != RN_AETH_NO_CREDIT)
			add_words(l, " credits %" PRIu32, rn_aeth_credits(value));
		break;
	case RN_AETH_RNR:
		add_words(l, " RNR NAK %.2f ms", (double)rn_rnr_timer_ns(value) / 1e6);
		break;
	case RN_AETH_NAK:
		add_words(l, " NAK %s", nak ? nak : "reserved");
		break;
	case RN_AETH_RESERVED:
		add_words(l, " reserved syndrome 0x%02x", syndrome);
		break;
	}
}

/* Adds the headers behind the BTH, in the order in which they are sent. */
static void add_headers(struct line *l, const struct rn_packet *p)
{
	uint32_t flags = p->op->flags;

	if (flags & RN_OP_DETH)
		add_words(l, " qkey 0x%" PRIx32 " src-qp 0x%" PRIx32, p->deth.qkey,
			  p->deth.src_qpn);
	if (flags & RN_OP_XRCETH)
		add_words(l, " srq 0x%" PRIx32, p->srqn);
	if (flags & RN_OP_FETH)
		add_words(l, "%s%s%s",
			  p->feth.placement & RN_FLUSH_GLOBAL ? " global" : "",
			  p->feth.placement & RN_FLUSH_PERSISTENT ? " persistent" : "",
			  p->feth.selectivity == RN_FLUSH_MR ? " region" : "");
	if (flags & RN_OP_RETH)
		add_words(l, " va 0x%" PRIx64 " rkey 0x%" PRIx32 " dmalen %" PRIu32,
			  p->reth.va, p->reth.rkey, p->reth.dma_len);
	if (flags & RN_OP_ATOMIC_ETH)
		add_words(l,
			  " va 0x%" PRIx64 " rkey 0x%" PRIx32 " swap/add %" PRIu64
			  " compare %" PRIu64,
			  p->atomic.va, p->atomic.rkey, p->atomic.swap_add,
			  p->atomic.compare);
	if (flags & RN_OP_AETH) {
		add_syndrome(l, p->aeth.syndrome);
		add_words(l, " msn %" PRIu32, p->aeth.msn);
	}
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		add_words(l, " original %" PRIu64, p->original);
	if (flags & RN_OP_IMM)
		add_words(l, " imm 0x%08" PRIx32, p->imm);
	if (flags & RN_OP_IETH)
		add_words(l, " invalidate 0x%" PRIx32, p->invalidate);
}

/* ---- Messages of the connection manager ---- */

static void add_req(struct line *l, const struct rn_cm_req *req)
{
	static const char *const transport[] = { "RC", "UC", "RD", "XRC" };

	add_words(l, " id 0x%" PRIx32 " service 0x%" PRIx64 " %s", req->local_id,
		  req->service_id, transport[req->transport & 3]);
	add_words(l,
		  " starting qp 0x%06" PRIx32 " psn %" PRIu32
		  " mtu %u reads %u/%u retry %u/%u",
		  req->qpn, req->start_psn,
		  req->mtu >= 1 && req->mtu <= 5 ? 128u << req->mtu : 0, req->init_depth,
		  req->resp_res, req->retry_count, req->rnr_retry_count);
}

static const char *rej_text(uint16_t reason)
{
	switch (reason) {
	case RN_CM_REJ_NO_QP:
		return ", no queue pair";
	case RN_CM_REJ_NO_RESOURCES:
		return ", no resources";
	case RN_CM_REJ_TIMEOUT:
		return ", timeout";
	case RN_CM_REJ_UNSUPPORTED:
		return ", unsupported request";
	case RN_CM_REJ_INVALID_COMM_ID:
		return ", invalid communication ID";
	case RN_CM_REJ_INVALID_SERVICE_ID:
		return ", nobody listens";
	case RN_CM_REJ_STALE_CONN:
		return ", stale connection";
	case RN_CM_REJ_CONSUMER:
		return ", by the program";
	default:
		return "";
	}
}

static void add_message(struct line *l, const struct rn_cm_msg *m)
{
	switch (m->attr) {
	case RN_CM_REQ:
		add_req(l, &m->req);
		break;
	case RN_CM_REP:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32, m->rep.local_id,
			  m->rep.remote_id);
		add_words(l,
			  " starting qp 0x%06" PRIx32 " psn %" PRIu32
			  " reads %u/%u rnr-retry %u",
			  m->rep.qpn, m->rep.start_psn, m->rep.init_depth,
			  m->rep.resp_res, m->rep.rnr_retry_count);
		break;
	case RN_CM_REJ:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " reason %u%s",
			  m->rej.local_id, m->rej.remote_id, m->rej.reason,
			  rej_text(m->rej.reason));
		break;
	case RN_CM_DREQ:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " remote-qp 0x%06" PRIx32,
			  m->dreq.local_id, m->dreq.remote_id, m->dreq.remote_qpn);
		break;
	case RN_CM_SIDR_REQ:
		add_words(l, " id 0x%" PRIx32 " service 0x%" PRIx64,
			  m->sidr_req.request_id, m->sidr_req.service_id);
		break;
	case RN_CM_SIDR_REP:
		add_words(l,
			  " id 0x%" PRIx32 " status %u remote-qp 0x%06" PRIx32
			  " remote-qkey 0x%" PRIx32,
			  m->sidr_rep.request_id, m->sidr_rep.status, m->sidr_rep.qpn,
			  m->sidr_rep.qkey);
		break;
	case RN_CM_APR:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " status %u",
			  m->apr.local_id, m->apr.remote_id, m->apr.status);
		break;
	case RN_CM_MRA:
	case RN_CM_RTU:
	case RN_CM_DREP:
	case RN_CM_LAP:
		/* These messages begin with the communication IDs of the sender and of
		 * the receiver.
		 */
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32, m->rtu.local_id,
			  m->rtu.remote_id);
		break;
	}
}

static void add_mad(struct line *l, const struct rn_packet *p)
{
	const uint8_t *mad = rn_packet_payload(p, RN_MAD_LEN);
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	if (!(p->op->flags & RN_OP_DETH) || p->bth.dest_qpn != RN_QPN_GSI || !mad)
		return;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.mgmt_class != RN_MAD_CLASS_CM ||
	    rn_cm_msg_parse(&msg, hdr.attr_id, mad + RN_MAD_HDR_LEN)) {
		add_words(l, " MAD class 0x%02x attribute 0x%04x", hdr.mgmt_class,
			  hdr.attr_id);
		return;
	}
	add_words(l, " CM %s", rn_cm_msg_name(hdr.attr_id));
	add_message(l, &msg);
}

/* Appends the text of the packet from its BTH on. Describes a damaged packet as far as
 * its headers are valid.
 */
static void add_transport(struct line *l, const struct rn_packet *p)
{
	const struct rn_bth *bth = &p->bth;

	if (p->form == RN_PACKET_NO_BTH || p->form == RN_PACKET_VERSION ||
	    p->have < RN_BTH_LEN) {
		add_words(l, "malformed BTH, %" PRIu32 " bytes", p->have);
		return;
	}
	if (p->op->flags)
		add_words(l, "%-22s", p->op->name);
	else
		add_words(l, "opcode 0x%02x          ", bth->opcode);
	add_words(l, " qp 0x%06" PRIx32 " psn %" PRIu32, bth->dest_qpn, bth->psn.v);
	if (p->form != RN_PACKET_WHOLE) {
		add_words(l, " %" PRIu32 " bytes%s", p->have,
			  p->form == RN_PACKET_SHORT ? ", shorter than its headers" : "");
		return;
	}
	add_headers(l, p);
	if (p->op->flags & RN_OP_PAYLOAD)
		add_words(l, " len %" PRIu32, p->payload_len);
	add_words(l, "%s%s", bth->ack_req ? " ackreq" : "", bth->solicited ? " se" : "");
	add_mad(l, p);
}

static const char *const icrc_diagnostics[] = {
	[RN_PACKET_ICRC_RIGHT] = "",
	[RN_PACKET_ICRC_WRONG] = " [wrong ICRC]",
	[RN_PACKET_ICRC_NONE] = " [no ICRC]",
	[RN_PACKET_ICRC_CUT] = " [cut off by the capture]",
	[RN_PACKET_ICRC_OPEN] = " [ICRC not judged: IPv4 options]",
};

const char *rn_packet_format_name(const struct rn_packet *p)
{
	static const char *const name[RN_PACKET_FORMATS] = {
		[RN_PACKET_ROCE_V2] = "RoCE v2",
		[RN_PACKET_ROCE_V1] = "RoCE v1",
		[RN_PACKET_IB] = "InfiniBand",
	};

	return name[p->format];
}

const char *rn_packet_address(const struct rn_gid *gid, char text[RN_PACKET_ADDRESS_MAX])
{
	uint16_t lid = rn_get_be16(gid->raw + 14);
	const struct rn_gid of_lid = gid_of_lid(lid);

	static_assert((int)RN_PACKET_ADDRESS_MAX == (int)RN_GID_TEXT_MAX, "as said");
	if (memcmp(gid, &of_lid, sizeof(of_lid)) != 0)
		return rn_gid_text(gid, text);
	(void)snprintf(text, RN_PACKET_ADDRESS_MAX, "lid %u", lid);
	return text;
}

void rn_packet_words(const struct rn_packet *p, char *text, size_t text_len)
{
	struct line l = { .text = text, .len = text_len };

	text[0] = '\0';
	add_transport(&l, p);
	if (p->format == RN_PACKET_ROCE_V1)
		add_words(&l, " [RoCE v1]");
	if (p->format == RN_PACKET_IB)
		add_words(&l, " [InfiniBand, vl %u sl %u]", p->vl, p->sl);
	add_words(&l, "%s", icrc_diagnostics[p->icrc]);
}

bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len)
{
	struct line l = { .text = text, .len = text_len };
	char src[RN_GID_TEXT_MAX], dst[RN_GID_TEXT_MAX];
	struct rn_packet p;

	if (!rn_packet_parse(&p, ip, len))
		return false;
	text[0] = '\0';
	add_words(&l, "%s > %s  ", rn_gid_text(&p.flow.src, src),
		  rn_gid_text(&p.flow.dst, dst));
	rn_packet_words(&p, text + l.used, text_len - l.used);
	return true;
}
