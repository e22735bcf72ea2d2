/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.h - the fields of a packet's IP and UDP headers that the device knows. */
#ifndef RN_FLOW_H
#define RN_FLOW_H

#include "rocin/gid.h"

/* Both addresses are of one family; rn_gid_is_ipv4(&src) tells which. @src is the sender
 * of the packet and @dst its receiver, for sent and for received packets. The UDP
 * destination port is RN_ROCE_PORT.
 */
struct rn_flow {
	struct rn_gid src;
	struct rn_gid dst;
	uint32_t ifindex; /* interface index: the scope of link-local addresses */
	/* UDP source port, host order. It spreads flows over paths, and does not identify
	 * a peer.
	 */
	uint16_t sport;
	uint8_t tclass;	   /* IPv4 ToS or IPv6 traffic class: DSCP and ECN */
	uint8_t hop_limit; /* IPv4 TTL or IPv6 hop limit */
};

/* Explicit congestion notification: the low two bits of rn_flow.tclass (RFC 3168). */
enum {
	RN_ECN_NOT_ECT = 0,
	RN_ECN_ECT1 = 1,
	RN_ECN_ECT0 = 2,
	RN_ECN_CE = 3, /* set by a switch that was congested */
	RN_ECN_MASK = 3,
};

static inline bool rn_flow_is_marked(const struct rn_flow *f)
{
	return (f->tclass & RN_ECN_MASK) == RN_ECN_CE;
}

static inline bool rn_flow_is_ipv4(const struct rn_flow *f)
{
	return rn_gid_is_ipv4(&f->src);
}

#endif /* RN_FLOW_H */
