/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* route.h - ask the kernel's routing table. */
#ifndef RND_ROUTE_H
#define RND_ROUTE_H

#include "tools/rocind/ucma/ucma.h"

/* The way to the kernel: a socket that is opened when it is needed first. */
struct rnd_router {
	int sock; /* -1: not open */
	uint32_t seq;
};

void rnd_router_close(struct rnd_router *r);

/* As rnd_ucma_ops.route. -EHOSTUNREACH, -ENETUNREACH, -EINVAL ... as the kernel says. */
int rnd_route(struct rnd_router *r, const struct rn_gid *dst, uint32_t scope,
	      const struct rn_gid *src, struct rnd_ucma_route *out);

/* True for an address of an interface of this namespace. */
bool rnd_route_is_local(struct rnd_router *r, const struct rn_gid *gid);

#endif /* RND_ROUTE_H */
