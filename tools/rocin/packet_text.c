/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.c - see packet_text.h */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gid_text.h"
#include "packet_text.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	PROTO_UDP = 17
};

/* A line that grows; what does not fit is cut off. */
struct line {
	char *text;
	size_t len, used;
};

static void add(struct line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *fmt, ...)
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

/* What the IP and UDP headers say. */
struct outer {
	struct rn_flow flow;
	bool is_ipv4; /* the header, whatever the addresses look like */
	uint16_t ip_id;
	const uint8_t *bth;
	size_t len; /* BTH to ICRC, as the UDP header says and the capture holds */
	bool cut;   /* the capture holds less */
};

static bool parse_ip(const uint8_t *ip, size_t len, struct outer *o, const uint8_t **udp)
{
	if (len >= IPV4_LEN + UDP_LEN && ip[0] == 0x45 && ip[9] == PROTO_UDP) {
		o->flow.src = o->flow.dst =
			(struct rn_gid){ { [10] = 0xff, [11] = 0xff } };
		memcpy(o->flow.src.raw + 12, ip + 12, 4);
		memcpy(o->flow.dst.raw + 12, ip + 16, 4);
		o->flow.tclass = ip[1];
		o->flow.hop_limit = ip[8];
		o->is_ipv4 = true;
		o->ip_id = rn_get_be16(ip + 4);
		*udp = ip + IPV4_LEN;
		return true;
	}
	if (len >= IPV6_LEN + UDP_LEN && ip[0] >> 4 == 6 && ip[6] == PROTO_UDP) {
		memcpy(o->flow.src.raw, ip + 8, 16);
		memcpy(o->flow.dst.raw, ip + 24, 16);
		o->flow.hop_limit = ip[7];
		*udp = ip + IPV6_LEN;
		return true;
	}
	return false;
}

static bool parse_outer(const uint8_t *ip, size_t len, struct outer *o)
{
	const uint8_t *udp;
	size_t have, said;

	*o = (struct outer){ 0 };
	if (!parse_ip(ip, len, o, &udp) || rn_get_be16(udp + 2) != RN_ROCE_PORT)
		return false;
	o->flow.sport = rn_get_be16(udp);
	o->bth = udp + UDP_LEN;
	have = len - (size_t)(o->bth - ip);
	said = rn_get_be16(udp + 4) >= UDP_LEN ? rn_get_be16(udp + 4) - (size_t)UDP_LEN
					       : 0;
	o->cut = said > have;
	o->len = o->cut ? have : said;
	return true;
}

static void add_syndrome(struct line *l, uint8_t syndrome)
{
	static const char *const nak[] = { "PSN sequence error", "invalid request",
					   "remote access error",
					   "remote operational error",
					   "invalid RD request" };
	uint8_t value = rn_aeth_value(syndrome);

	switch (rn_aeth_type(syndrome)) {
	case RN_AETH_ACK:
		add(l, " ACK");
		if (value != RN_AETH_NO_CREDIT)
			add(l, " credits %" PRIu32, rn_aeth_credits(value));
		break;
	case RN_AETH_RNR:
		add(l, " RNR NAK %.2f ms", (double)rn_rnr_timer_ns(value) / 1e6);
		break;
	case RN_AETH_NAK:
		add(l, " NAK %s", value < RN_ARRAY_SIZE(nak) ? nak[value] : "reserved");
		break;
	case RN_AETH_RESERVED:
		add(l, " reserved syndrome 0x%02x", syndrome);
		break;
	}
}

/* The headers behind the BTH, in wire order. hdr_len was checked against the packet. */
static void add_headers(struct line *l, const struct rn_opcode_info *op, const uint8_t *p,
			const uint8_t *end)
{
	struct rn_reth reth;
	struct rn_atomic_eth atomic;
	struct rn_aeth aeth;
	struct rn_deth deth;
	uint64_t orig;
	uint32_t v;

	if (op->flags & RN_OP_DETH && !rn_deth_parse(&deth, p, end)) {
		add(l, " qkey 0x%" PRIx32 " src-qp 0x%" PRIx32, deth.qkey, deth.src_qpn);
		p += RN_DETH_LEN;
	}
	if (op->flags & RN_OP_XRCETH && !rn_xrceth_parse(&v, p, end)) {
		add(l, " srq 0x%" PRIx32, v);
		p += RN_XRCETH_LEN;
	}
	if (op->flags & RN_OP_FETH)
		p += RN_FETH_LEN;
	if (op->flags & RN_OP_RETH && !rn_reth_parse(&reth, p, end)) {
		add(l, " va 0x%" PRIx64 " rkey 0x%" PRIx32 " dmalen %" PRIu32, reth.va,
		    reth.rkey, reth.dma_len);
		p += RN_RETH_LEN;
	}
	if (op->flags & RN_OP_ATOMIC_ETH && !rn_atomic_eth_parse(&atomic, p, end)) {
		add(l,
		    " va 0x%" PRIx64 " rkey 0x%" PRIx32 " swap/add %" PRIu64
		    " compare %" PRIu64,
		    atomic.va, atomic.rkey, atomic.swap_add, atomic.compare);
		p += RN_ATOMIC_ETH_LEN;
	}
	if (op->flags & RN_OP_AETH && !rn_aeth_parse(&aeth, p, end)) {
		add_syndrome(l, aeth.syndrome);
		add(l, " msn %" PRIu32, aeth.msn);
		p += RN_AETH_LEN;
	}
	if (op->flags & RN_OP_ATOMIC_ACK_ETH && !rn_atomic_ack_eth_parse(&orig, p, end)) {
		add(l, " original %" PRIu64, orig);
		p += RN_ATOMIC_ACK_ETH_LEN;
	}
	if (op->flags & RN_OP_IMM && !rn_imm_parse(&v, p, end))
		add(l, " imm 0x%08" PRIx32, v);
	if (op->flags & RN_OP_IETH && !rn_ieth_parse(&v, p, end))
		add(l, " invalidate 0x%" PRIx32, v);
}

/* From the BTH on. */
static void add_transport(struct line *l, const struct outer *o)
{
	const uint8_t *end = o->bth + o->len;
	const struct rn_opcode_info *op;
	struct rn_bth bth;
	size_t tail;

	if (rn_bth_parse(&bth, o->bth, end)) {
		add(l, "malformed BTH, %zu bytes", o->len);
		return;
	}
	op = &rn_opcode_info[bth.opcode];
	tail = (size_t)bth.pad_cnt + RN_ICRC_LEN;
	if (op->flags)
		add(l, "%-22s", op->name);
	else
		add(l, "opcode 0x%02x          ", bth.opcode);
	add(l, " qp 0x%06" PRIx32 " psn %" PRIu32, bth.dest_qpn, bth.psn.v);
	if (!op->flags || o->len < op->hdr_len + tail) {
		add(l, " %zu bytes%s", o->len,
		    op->flags ? ", shorter than its headers" : "");
		return;
	}
	add_headers(l, op, o->bth + RN_BTH_LEN, end);
	if (op->flags & RN_OP_PAYLOAD)
		add(l, " len %zu", o->len - op->hdr_len - tail);
	add(l, "%s%s", bth.ack_req ? " ackreq" : "", bth.solicited ? " se" : "");
}

/* An ICRC is defined for what fits an IPv4 datagram, and told by its addresses: those of
 * IPv4 may not stand in an IPv6 header (RFC 4291, 2.5.5).
 */
static bool has_icrc(const struct outer *o)
{
	return o->len - RN_ICRC_LEN <= RN_ICRC_DATA_MAX &&
	       rn_gid_is_ipv4(&o->flow.src) == o->is_ipv4 &&
	       rn_gid_is_ipv4(&o->flow.dst) == o->is_ipv4;
}

static const char *icrc_remark(const struct outer *o)
{
	if (o->cut)
		return " [cut off by the capture]";
	if (o->len < RN_BTH_LEN + RN_ICRC_LEN)
		return " [no ICRC]";
	if (!has_icrc(o) || rn_icrc(&o->flow, o->ip_id, o->bth, o->len - RN_ICRC_LEN) !=
				    rn_get_le32(o->bth + o->len - RN_ICRC_LEN))
		return " [wrong ICRC]";
	return "";
}

bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len)
{
	struct line l = { .text = text, .len = text_len };
	char src[RN_GID_TEXT_MAX], dst[RN_GID_TEXT_MAX];
	struct outer o;

	if (!parse_outer(ip, len, &o))
		return false;
	text[0] = '\0';
	add(&l, "%s > %s  ", rn_gid_text(&o.flow.src, src),
	    rn_gid_text(&o.flow.dst, dst));
	add_transport(&l, &o);
	add(&l, "%s", icrc_remark(&o));
	return true;
}
