/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_early.h - requests that come a moment before their listener.
 *
 * Both ends of perftest -R close a first connection and go on to a second one, the client
 * without asking whether the server listens again. Behind a kernel, to whom a command is
 * a system call, the server is first. Here each command is a message to this process, so
 * a request for a service that nobody listens for waits for a listener for as long as a
 * busy machine may need, and is refused then.
 */
#ifndef RND_CM_EARLY_H
#define RND_CM_EARLY_H

#include "rocin/cm.h"
#include "rocin/gsi.h"

enum {
	RND_CM_EARLY_MAX = 32 /* at a time; more are refused at once */
};

#define RND_CM_EARLY_FOR RN_MSEC(100)

struct rnd_cm_early {
	struct rnd_cm_early_req {
		rn_ns until;
		struct rn_flow flow;
		uint32_t src_qpn;
		uint8_t mad[RN_MAD_LEN];
	} req[RND_CM_EARLY_MAX]; /* the oldest first */
	unsigned count;
};

/* Keep a copy. Return: false if there is no room. */
bool rnd_cm_early_hold(struct rnd_cm_early *e, rn_ns now, const struct rn_cm_rx *rx);

/* Take out request @at (< count); those behind it move up. */
void rnd_cm_early_take(struct rnd_cm_early *e, unsigned at, struct rnd_cm_early_req *out);

/* When the first of them has waited for long enough; RN_NEVER: there are none. */
rn_ns rnd_cm_early_due(const struct rnd_cm_early *e);

/* A held request as it came; valid as long as @req is. */
struct rn_cm_rx rnd_cm_early_rx(const struct rnd_cm_early_req *req);

#endif /* RND_CM_EARLY_H */
