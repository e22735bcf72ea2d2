/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_pair.h - two ends of a wire inside one process: what one transmits the other
 * receives, in order, without loss.
 *
 * Threads: both ends belong to one thread (or one lock).
 */
#ifndef RN_NET_PAIR_H
#define RN_NET_PAIR_H

#include "rocin/net.h"

enum {
	RN_PAIR_DEPTH = 32 /* super-packets under way in each direction */
};

struct rn_pair;

/* Return: the wire, or NULL with errno ENOMEM. */
struct rn_pair *rn_pair_new(void);

/* NULL is ignored. */
void rn_pair_free(struct rn_pair *p);

/* End 0 or 1. transmit answers -EAGAIN while RN_PAIR_DEPTH super-packets wait. */
struct rn_net *rn_pair_net(struct rn_pair *p, unsigned end);

#endif /* RN_NET_PAIR_H */
