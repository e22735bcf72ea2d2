/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gid.h - GIDs, the addresses of RoCEv2. */
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

/* True if the GID is an IPv4 address mapped into IPv6 (::ffff:0:0/96). */
static inline bool rn_gid_is_ipv4(const struct rn_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* True for fe80::/10, link-local addresses, which are valid on one interface only. */
static inline bool rn_gid_is_link_local(const struct rn_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* True for IPv6 groups (ff00::/8) and mapped IPv4 groups (224.0.0.0/4). */
static inline bool rn_gid_is_multicast(const struct rn_gid *gid)
{
	return gid->raw[0] == 0xff ||
	       ((gid->raw[12] & 0xf0) == 0xe0 && rn_gid_is_ipv4(gid));
}

#endif /* RN_GID_H */
