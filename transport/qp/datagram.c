/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* datagram.c - receives UD datagrams, which are never acknowledged.
 *
 * Source: IBTA Vol 1, 9.6.1.4.1 and 9.8.3, Annex A17 (the IP header in place of the GRH).
 */
#include <string.h>

#include "responder.h"
#include "transport/object/memory.h"

enum {
	IPV4_HDR_LEN = 20,
	IPV6_HDR_LEN = 40,
	UDP_HDR_LEN = 8,
	IP_PROTO_UDP = 17,
	IPV4_DF = 0x4000,
};

static uint16_t ip_checksum(const uint8_t *hdr, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += rn_get_be16(hdr + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Writes the IPv4 header that the received packet had, as far as its fields are known.
 * The identification is not known. It is set to 0, which most senders use.
 */
static void write_ipv4(uint8_t *hdr, const struct rn_flow *flow, uint32_t udp_len)
{
	uint8_t *p = hdr;
	uint8_t *checksum;

	*p++ = 0x45; /* version 4, header length 5 words */
	*p++ = flow->tclass;
	p = rn_put_be16(p, (uint16_t)(IPV4_HDR_LEN + udp_len));
	p = rn_put_be16(p, 0); /* the identification is 0 */
	p = rn_put_be16(p, IPV4_DF);
	*p++ = flow->hop_limit;
	*p++ = IP_PROTO_UDP;
	checksum = p;
	p = rn_put_be16(p, 0);
	memcpy(p, flow->src.raw + 12, 4);
	memcpy(p + 4, flow->dst.raw + 12, 4);
	rn_put_be16(checksum, ip_checksum(hdr, IPV4_HDR_LEN));
}

static void write_ipv6(uint8_t *hdr, const struct rn_flow *flow, uint32_t udp_len)
{
	uint8_t *p = hdr;

	/* the flow label is 0 */
	p = rn_put_be32(p, 6u << 28 | (uint32_t)flow->tclass << 20);
	p = rn_put_be16(p, (uint16_t)udp_len);
	*p++ = IP_PROTO_UDP;
	*p++ = flow->hop_limit;
	memcpy(p, flow->src.raw, sizeof(flow->src.raw));
	memcpy(p + 16, flow->dst.raw, sizeof(flow->dst.raw));
}

/* Writes the 40 bytes in front of the data of a UD receive (the place of the GRH). They
 * hold the IP header; an IPv4 header occupies the last 20 of them.
 */
static void write_grh(uint8_t *grh, const struct rn_packet *p)
{
	uint32_t udp_len = UDP_HDR_LEN + p->wire_len;

	static_assert((int)IPV6_HDR_LEN == (int)RN_GRH_LEN, "IPv6 fills the GRH");
	if (!rn_flow_is_ipv4(p->flow)) {
		write_ipv6(grh, p->flow, udp_len);
		return;
	}
	memset(grh, 0, RN_GRH_LEN - IPV4_HDR_LEN);
	write_ipv4(grh + RN_GRH_LEN - IPV4_HDR_LEN, p->flow, udp_len);
}

static uint32_t find_sgid(const struct rn_dev *dev, const struct rn_gid *gid)
{
	for (uint32_t i = 0; i < dev->cfg.gid_count; i++)
		if (!memcmp(dev->cfg.gid[i].raw, gid->raw, sizeof(gid->raw)))
			return i;
	return 0; /* the GID was removed while the packet was in the socket's buffer */
}

static bool place_datagram(struct rn_qp *qp, struct rn_recv_wqe *wqe,
			   const struct rn_packet *p)
{
	uint8_t grh[RN_GRH_LEN];

	write_grh(grh, p);
	if (rn_scatter(qp, rn_recv_sge(wqe), wqe->num_sge, 0, grh, RN_GRH_LEN) !=
	    RN_WC_SUCCESS)
		return false;
	return !p->payload_len ||
	       rn_scatter(qp, rn_recv_sge(wqe), wqe->num_sge, RN_GRH_LEN, p->payload,
			  p->payload_len) == RN_WC_SUCCESS;
}

void rn_ud_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	struct rn_recv_wqe *wqe = rn_qp_next_recv(qp, qp->srq);
	struct rn_completion c = {
		.status = RN_WC_SUCCESS,
		.opcode = RN_WC_RECV,
		.flags = RN_WC_GRH,
		.solicited = p->bth.solicited,
		.byte_len = RN_GRH_LEN + p->payload_len,
		.sgid_index = find_sgid(qp->dev, &p->flow->dst),
		.sl = rn_flow_is_ipv4(p->flow) ? RN_L3_IPV4 : RN_L3_IPV6,
	};
	struct rn_deth deth;
	int err = rn_deth_parse(&deth, p->ext, p->payload);

	assert(!err); /* receive.c has compared op->hdr_len with the packet */
	if (deth.qkey != qp->attr.qkey) {
		rn_count(qp->dev, RN_STAT_RX_BAD_QKEY);
		return;
	}
	if (p->payload_len > qp->dev->cfg.mtu_max) {
		rn_count(qp->dev, RN_STAT_RX_DROPPED);
		return;
	}
	if (!wqe || c.byte_len > wqe->length) {
		if (wqe && qp->srq)
			rn_qp_recv_too_short(qp, now);
		rn_count(qp->dev, RN_STAT_RX_NO_RECV);
		return;
	}
	wqe = rn_qp_take_recv(qp, qp->srq);
	if (!place_datagram(qp, wqe, p)) {
		rn_qp_fail_recv(qp, now, RN_WC_LOC_PROT_ERR);
		rn_qp_error(qp, now);
		return;
	}
	c.src_qpn = deth.src_qpn;
	if (p->op->flags & RN_OP_IMM) {
		c.flags |= RN_WC_WITH_IMM;
		err = rn_imm_parse(&c.imm, p->ext + RN_DETH_LEN, p->payload);
		assert(!err);
	}
	rn_count(qp->dev, RN_STAT_RX_SENDS);
	qp->rsp.msn = rn_rsp_next_msn(qp);
	rn_qp_complete_recv(qp, now, &c);
}
