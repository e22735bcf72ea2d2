/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer.h - what rocind tells other hosts about this one when they ask
 * (rocin/peer_info.h), and how often.
 */
#ifndef RND_PEER_H
#define RND_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "rocin/types.h"

struct rn_flow;
struct rn_peer_info;
struct rnd_server;

/* Limits the number of answers per second; all zero at the beginning. */
struct rnd_peer_budget {
	/* An answer may be sent after this time, which each answer advances. */
	rn_ns next;
};

/* Returns true if an answer may be sent now, and counts it then. */
bool rnd_peer_may_answer(struct rnd_peer_budget *b, rn_ns now);

/* Describes the devices at the address to which a packet with the flow @flow has come. */
void rnd_peer_describe(const struct rnd_server *server, const struct rn_flow *flow,
		       struct rn_peer_info *info);

#endif /* RND_PEER_H */
