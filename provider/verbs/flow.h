/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.h - flow rules and their counters: verbs objects. */
#ifndef RNP_FLOW_H
#define RNP_FLOW_H

#include "provider.h"
#include "provider/raw/flow_steer.h"

enum {
	RNP_COUNTER_POINTS = 32, /* attached to one counters object, and its indices */
};

/* One value to be counted, and where it is read. */
struct rnp_counter_point {
	enum ibv_counter_description desc;
	uint32_t index;
};

struct rnp_counters {
	struct ibv_counters base;
	/* Guarded by the engine lock. */
	struct rnp_tally tally;
	struct rnp_counter_point point[RNP_COUNTER_POINTS];
	unsigned points;
	unsigned flows; /* that count here */
};

struct rnp_flow {
	struct ibv_flow base;
	struct rnp_qp *qp;
	struct rnp_counters *counters; /* or NULL */
	struct rnp_rule rule;
	LIST_ENTRY(rnp_flow) link; /* of the context; engine lock */
};

static inline struct rnp_counters *to_rnp_counters(struct ibv_counters *counters)
{
	return (struct rnp_counters *)counters;
}

#endif /* RNP_FLOW_H */
