/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_witness.h - steps of a run with their times, until they are put in order. */
#ifndef RN_LIVE_WITNESS_H
#define RN_LIVE_WITNESS_H

#include "live.h"

struct rn_live_timed {
	uint64_t at;	/* ns of the clock */
	uint32_t order; /* among steps of the same time */
	struct rn_live_step step;
};

struct rn_live_list {
	struct rn_live_timed *at;
	size_t count, room;
};

/* A step to fill in, of no TLP and no location; NULL: no memory. */
struct rn_litmus_step *rn_live_add_step(struct rn_live_list *list, uint64_t at,
					const char *rule);

/* live_moves.c: what TLPs of the last run did, if this process saw all of them. */
void rn_live_add_moves(struct rn_live *l, struct rn_live_list *list);

#endif /* RN_LIVE_WITNESS_H */
