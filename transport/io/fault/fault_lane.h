/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_lane.h - packets of one direction that wait: for their time, for others to go
 * first, or for somebody to take them. Threads: none of these functions locks.
 */
#ifndef RN_FAULT_LANE_H
#define RN_FAULT_LANE_H

#include <sys/queue.h>

#include "rocin/flow.h"

struct rn_fault_item {
	TAILQ_ENTRY(rn_fault_item) link;
	rn_ns due;
	uint32_t behind; /* packets that go first; 0: @due alone counts */
	struct rn_flow flow;
	uint32_t sgid_index;
	uint32_t len;
	uint32_t seg_len, count; /* a super-packet that its back end has begun, or one */
	uint16_t gro_idx;
	bool has_fate;
	uint64_t fate;	      /* of the packet, see fault_fate.h */
	uint32_t answers_for; /* an answer of this local QP, whose MSN is still open; 0 */
	uint8_t data[];
};

TAILQ_HEAD(rn_fault_list, rn_fault_item);

struct rn_fault_lane {
	struct rn_fault_list ready, held;
	size_t held_bytes;
	bool has_reordered; /* one is behind others */
};

/* A packet of @len bytes, copied, or NULL. free() ends it. */
struct rn_fault_item *rn_fault_item_new(const struct rn_flow *flow, const uint8_t *data,
					uint32_t len);
struct rn_fault_item *rn_fault_item_copy(const struct rn_fault_item *it);

void rn_fault_drop_all(struct rn_fault_list *list);
void rn_fault_drop_first(struct rn_fault_list *list);

/* Until @it->due, or as many as @it->behind says have gone ahead. What is due first goes
 * early when 16 MiB wait.
 */
void rn_fault_hold(struct rn_fault_lane *l, struct rn_fault_item *it);

/* What is due at @now becomes ready. */
void rn_fault_release(struct rn_fault_lane *l, rn_ns now);

/* A packet has gone ahead of the one that is behind others, if there is one. */
void rn_fault_go_ahead(struct rn_fault_lane *l);

#endif /* RN_FAULT_LANE_H */
