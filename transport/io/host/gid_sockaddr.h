/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gid_sockaddr.h - converts GIDs to and from socket addresses, and to text. */
#ifndef RN_GID_SOCKADDR_H
#define RN_GID_SOCKADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "rocin/gid.h"

union rn_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Fill in @a from @gid and @port (in host order). @scope: the interface index of a
 * link-local address; ignored for IPv4. Return: length of the address in bytes.
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

/* Makes a socket address as rn_gid_sockaddr() does. The scope is @ifindex if the address
 * is link-local, and 0 otherwise.
 */
static inline socklen_t rn_gid_sockaddr_on(union rn_sockaddr *a, const struct rn_gid *gid,
					   uint16_t port, uint32_t ifindex)
{
	return rn_gid_sockaddr(a, gid, port, rn_gid_is_link_local(gid) ? ifindex : 0);
}

/* Fill in the source address and source port of a packet in @flow. @from: the sender, as
 * recvmsg() has returned it.
 */
static inline void rn_flow_set_source(struct rn_flow *flow, const struct sockaddr *from)
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

enum {
	RN_GID_TEXT_MAX = INET6_ADDRSTRLEN
};

/* Writes "127.0.0.1" for a mapped IPv4 address, IPv6 notation for others. Returns @text.
 */
static inline const char *rn_gid_text(const struct rn_gid *gid,
				      char text[RN_GID_TEXT_MAX])
{
	bool v4 = rn_gid_is_ipv4(gid);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, text,
			 RN_GID_TEXT_MAX);
}

#endif /* RN_GID_SOCKADDR_H */
