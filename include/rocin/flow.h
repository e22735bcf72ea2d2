/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.h - what the device knows of the IP and UDP headers of a packet. */
#ifndef RN_FLOW_H
#define RN_FLOW_H

#include "rocin/gid.h"

/* @src is the sender and @dst the receiver of the packet, in either direction. Both
 * addresses are of one family; rn_gid_is_ipv4(&src) tells which. The UDP
 * destination port is RN_ROCE_PORT.
 */
struct rn_flow {
	struct rn_gid src;
	struct rn_gid dst;
	uint32_t ifindex; /* index of the interface: scope of link-local addresses */
	/* UDP source port, host order: spreads flows, never identifies a peer. */
	uint16_t sport;
	uint8_t tclass;	   /* IPv4 ToS or IPv6 traffic class: DSCP and ECN */
	uint8_t hop_limit; /* IPv4 TTL or IPv6 hop limit */
};

/* Explicit congestion notification: the low two bits of rn_flow.tclass (RFC 3168). */
enum {
	RN_ECN_NOT_ECT = 0,
	RN_ECN_ECT1 = 1,
	RN_ECN_ECT0 = 2,
	RN_ECN_CE = 3, /* a switch was congested and has marked the packet */
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
