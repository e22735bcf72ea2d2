/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rx_split.c - control messages, addresses, and the cutting of super-packets. */
#include "rx_split.h"

#include <netinet/udp.h>
#include <string.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Value of a control message that the kernel sends as one byte or as an int. */
static uint32_t cmsg_value(const struct cmsghdr *c)
{
	int v = 0;

	if (c->cmsg_len < CMSG_LEN(sizeof(v)))
		return *CMSG_DATA(c);
	memcpy(&v, CMSG_DATA(c), sizeof(v));
	return (uint32_t)v;
}

static bool is_cmsg(const struct cmsghdr *c, int level, int type)
{
	return c->cmsg_level == level && c->cmsg_type == type;
}

static uint32_t cmsg_ifindex(const struct cmsghdr *c)
{
	struct in6_pktinfo info;

	if (c->cmsg_len < CMSG_LEN(sizeof(info)))
		return 0;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	return info.ipi6_ifindex;
}

static void take_cmsg(const struct cmsghdr *c, struct rn_rx_meta *meta)
{
	if (is_cmsg(c, IPPROTO_UDP, UDP_GRO)) {
		meta->seg_len = cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IP, IP_TOS) ||
		   is_cmsg(c, IPPROTO_IPV6, IPV6_TCLASS)) {
		meta->tclass = (uint8_t)cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IP, IP_TTL) ||
		   is_cmsg(c, IPPROTO_IPV6, IPV6_HOPLIMIT)) {
		meta->hop_limit = (uint8_t)cmsg_value(c);
	} else if (is_cmsg(c, IPPROTO_IPV6, IPV6_PKTINFO)) {
		meta->ifindex = cmsg_ifindex(c);
	} else if (is_cmsg(c, SOL_SOCKET, SO_RXQ_OVFL)) {
		meta->overflow = cmsg_value(c);
		meta->has_overflow = true;
	}
}

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta)
{
	*meta = (struct rn_rx_meta){ 0 };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		take_cmsg(c, meta);
}

void rn_rx_source(const struct sockaddr *from, struct rn_flow *flow)
{
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *in =
			(const struct sockaddr_in *)(const void *)from;

		flow->src = (struct rn_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
		memcpy(flow->src.raw + 12, &in->sin_addr, 4);
		flow->sport = ntohs(in->sin_port);
	} else {
		const struct sockaddr_in6 *in6 =
			(const struct sockaddr_in6 *)(const void *)from;

		memcpy(flow->src.raw, &in6->sin6_addr, 16);
		flow->sport = ntohs(in6->sin6_port);
	}
}

void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len)
{
	*s = (struct rn_rx_split){ .data = data, .len = len, .seg_len = seg_len };
	if (seg_len == 0 || seg_len > len)
		s->seg_len = len > 0 ? len : 1;
}

unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx)
{
	unsigned n = 0;

	while (s->next < s->len && n < RN_RX_BATCH) {
		uint32_t left = s->len - s->next;

		rx[n++] = (struct rn_rx){
			.flow = flow,
			.data = s->data + s->next,
			.len = left < s->seg_len ? left : s->seg_len,
			.gro_idx = s->idx++,
		};
		s->next += s->seg_len;
	}
	return n;
}
