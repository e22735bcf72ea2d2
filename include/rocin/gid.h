/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gid.h - the addresses of RoCEv2: GIDs, and the fields of a packet's IP and UDP headers
 * that the device knows.
 */
#ifndef RN_GID_H
#define RN_GID_H

#include "rocin/types.h"

enum {
	RN_GID_MAX = 16,     /* largest number of entries of a GID table */
	RN_ROCE_PORT = 4791, /* IBTA Annex A17: UDP destination port of RoCEv2 */
};

/* A GID in network order: an IPv6 address, or ::ffff:a.b.c.d for an IPv4 address. */
struct rn_gid {
	uint8_t raw[16];
};

/* Returns true if the GID is an IPv4 address mapped into IPv6 (::ffff:0:0/96). */
static inline bool rn_gid_is_ipv4(const struct rn_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* Returns true for a link-local address (fe80::/10), which is valid on one
 * interface only.
 */
static inline bool rn_gid_is_link_local(const struct rn_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Returns true for an IPv6 group (ff00::/8) or a mapped IPv4 group (224.0.0.0/4). */
static inline bool rn_gid_is_multicast(const struct rn_gid *gid)
{
	return gid->raw[0] == 0xff ||
	       ((gid->raw[12] & 0xf0) == 0xe0 && rn_gid_is_ipv4(gid));
}

/* The fields of a packet's IP and UDP headers.
 *
 * Both addresses are of one family; rn_gid_is_ipv4(&src) tells which. @src is the sender
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

#endif /* RN_GID_H */
