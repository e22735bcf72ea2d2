/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* address.c - see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

size_t rnd_address_size(uint16_t family)
{
	if (family == AF_INET)
		return sizeof(struct sockaddr_in);
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

static void read_v4(struct rnd_address *a, const struct sockaddr_in *sin)
{
	a->port = ntohs(sin->sin_port);
	if (sin->sin_addr.s_addr == 0)
		return;
	a->gid.raw[10] = a->gid.raw[11] = 0xff;
	memcpy(&a->gid.raw[12], &sin->sin_addr, sizeof(sin->sin_addr));
}

static void read_v6(struct rnd_address *a, const struct sockaddr_in6 *sin6)
{
	a->port = ntohs(sin6->sin6_port);
	memcpy(a->gid.raw, &sin6->sin6_addr, sizeof(a->gid.raw));
	a->flowinfo = sin6->sin6_flowinfo;
	if (rn_gid_is_link_local(&a->gid))
		a->scope = sin6->sin6_scope_id;
}

int rnd_address_read(struct rnd_address *a, const void *sa, size_t len)
{
	struct rnd_address read = { 0 };
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (len < sizeof(read.family))
		return -EINVAL;
	memcpy(&read.family, sa, sizeof(read.family));
	if (!rnd_address_size(read.family))
		return -EAFNOSUPPORT;
	if (len < rnd_address_size(read.family))
		return -EINVAL;
	if (read.family == AF_INET) {
		memcpy(&v4, sa, sizeof(v4));
		read_v4(&read, &v4);
	} else {
		memcpy(&v6, sa, sizeof(v6));
		read_v6(&read, &v6);
	}
	*a = read;
	return 0;
}

size_t rnd_address_write(const struct rnd_address *a, uint8_t sa[RND_SOCKADDR_MAX])
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	memset(sa, 0, RND_SOCKADDR_MAX);
	if (a->family == AF_INET) {
		v4.sin_port = htons(a->port);
		memcpy(&v4.sin_addr, &a->gid.raw[12], sizeof(v4.sin_addr));
		memcpy(sa, &v4, sizeof(v4));
	} else if (a->family == AF_INET6) {
		v6.sin6_port = htons(a->port);
		v6.sin6_flowinfo = a->flowinfo;
		v6.sin6_scope_id = a->scope;
		memcpy(&v6.sin6_addr, a->gid.raw, sizeof(v6.sin6_addr));
		memcpy(sa, &v6, sizeof(v6));
	}
	return rnd_address_size(a->family);
}

bool rnd_address_is_any(const struct rnd_address *a)
{
	static const struct rn_gid any;

	return memcmp(&a->gid, &any, sizeof(any)) == 0;
}

bool rnd_address_is_localhost(const struct rnd_address *a)
{
	static const struct rn_gid v4 = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	static const struct rn_gid v6 = { .raw = { [15] = 1 } };

	return memcmp(&a->gid, a->family == AF_INET ? &v4 : &v6, sizeof(a->gid)) == 0;
}

bool rnd_address_same(const struct rnd_address *a, const struct rnd_address *b)
{
	return a->family == b->family && a->scope == b->scope &&
	       memcmp(&a->gid, &b->gid, sizeof(a->gid)) == 0;
}
