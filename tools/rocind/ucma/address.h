/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* address.h - socket addresses as rdma_cm programs write them. */
#ifndef RND_ADDRESS_H
#define RND_ADDRESS_H

#include "rocin/gid.h"

struct rnd_address {
	uint16_t family;   /* AF_INET, AF_INET6, or 0: none yet */
	uint16_t port;	   /* host order */
	struct rn_gid gid; /* IPv4 mapped; of a wildcard all zero */
	uint32_t scope;	   /* interface of a link-local address */
	uint32_t flowinfo; /* as in the socket address */
};

enum {
	RND_SOCKADDR_MAX = 28 /* bytes of a struct sockaddr_in6 */
};

/* Bytes that a socket address of this family has; 0: the family is none of ours. */
size_t rnd_address_size(uint16_t family);

/**
 * rnd_address_read() - Take in a socket address
 * @sa:		Of @len bytes, any alignment
 *
 * Return: 0, -EAFNOSUPPORT, -EINVAL (too short).
 */
int rnd_address_read(struct rnd_address *a, const void *sa, size_t len);

/* Write it as a socket address; all zero if it has no family.
 * Return: rnd_address_size().
 */
size_t rnd_address_write(const struct rnd_address *a, uint8_t sa[RND_SOCKADDR_MAX]);

bool rnd_address_is_any(const struct rnd_address *a);
/* 127.0.0.1 or ::1 */
bool rnd_address_is_localhost(const struct rnd_address *a);
/* Family, address and scope; ports do not count. */
bool rnd_address_same(const struct rnd_address *a, const struct rnd_address *b);

#endif /* RND_ADDRESS_H */
