/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gid_sockaddr.h - makes a socket address from a GID and a port. */
#ifndef RN_GID_SOCKADDR_H
#define RN_GID_SOCKADDR_H

#include <netinet/in.h>
#include <string.h>

#include "rocin/gid.h"

union rn_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Fill in @a from @gid and @port. @scope: interface index for a link-local address;
 * ignored for IPv4. Return: length of the address in bytes.
 */
static inline socklen_t rn_gid_sockaddr(union rn_sockaddr *a, const struct rn_gid *gid,
					uint16_t port, uint32_t scope)
{
	memset(a, 0, sizeof(*a));
	if (rn_gid_is_ipv4(gid)) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, gid->raw + 12, sizeof(a->in.sin_addr));
		return sizeof(a->in);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	a->in6.sin6_scope_id = scope;
	memcpy(&a->in6.sin6_addr, gid->raw, sizeof(gid->raw));
	return sizeof(a->in6);
}

/* As rn_gid_sockaddr(), but for an address that is not link-local the scope is 0 instead
 * of @ifindex.
 */
static inline socklen_t rn_gid_sockaddr_on(union rn_sockaddr *a, const struct rn_gid *gid,
					   uint16_t port, uint32_t ifindex)
{
	return rn_gid_sockaddr(a, gid, port, rn_gid_is_link_local(gid) ? ifindex : 0);
}

#endif /* RN_GID_SOCKADDR_H */
