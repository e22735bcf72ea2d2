/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route.h - queries the routing table of the kernel. */
#ifndef RND_ROUTE_H
#define RND_ROUTE_H

#include "tools/rocind/ucma/ucma.h"

/* A netlink socket, opened at first use. */
struct rnd_router {
	int sock; /* netlink socket; -1: not open */
	uint32_t seq;
};

void rnd_router_close(struct rnd_router *r);

/* Implements rnd_ucma_ops.route. Errors such as -EHOSTUNREACH, -ENETUNREACH and -EINVAL
 * come from the kernel.
 */
int rnd_route(struct rnd_router *r, const struct rn_gid *dst, uint32_t scope,
	      const struct rn_gid *src, struct rnd_ucma_route *out);

/* Returns true if this is the address of an interface in this network namespace. */
bool rnd_route_is_local(struct rnd_router *r, const struct rn_gid *gid);

#endif /* RND_ROUTE_H */
