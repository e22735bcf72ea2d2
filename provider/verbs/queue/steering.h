/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steering.h - flow rules with their counters, and receive work queues with their tables.
 */
#ifndef RNP_STEERING_H
#define RNP_STEERING_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/queue.h>

#include "provider/raw/flow.h"
#include "provider/verbs/object/handle.h"

struct rnp_context;
struct rnp_qp;

/* --------------------------------------------------------------- receive work queues */
/* A work queue is implemented by a hidden raw packet QP that only receives and has the
 * same number. A QP with an indirection table has no queues of its own and no state:
 * frames that match its flow rules go to a work queue of the table (flow.h).
 */

struct rnp_wq {
	struct ibv_wq base;
	struct rnp_handle handle;
	struct rnp_qp *queue;
	/* Number of entries in indirection tables that refer to this queue. Guarded by
	 * the engine lock.
	 */
	unsigned tables;
};

struct rnp_rwq_table {
	struct ibv_rwq_ind_table base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_rwq_table) link; /* guarded by the engine lock */
	unsigned qps; /* number of QPs that use the table; guarded by the engine lock */
	/* The members below do not change. */
	uint32_t size;
	struct rnp_wq **wq;
	void **core; /* the core's QP of each WQ in @wq */
};

/* ------------------------------------------------------------------ flow rules */
enum {
	/* maximum number of counter points of one counters object, and of its indices */
	RNP_COUNTER_POINTS = 32,
};

/* A counter point: the kind of value that is counted, and the index at which
 * ibv_read_counters() returns it.
 */
struct rnp_counter_point {
	enum ibv_counter_description desc;
	uint32_t index;
};

struct rnp_counters {
	struct ibv_counters base;
	struct rnp_handle handle;
	/* The next members are guarded by the engine lock. */
	struct rnp_tally tally;
	struct rnp_counter_point point[RNP_COUNTER_POINTS];
	unsigned points;
	unsigned flows; /* number of flow rules that use these counters */
};

struct rnp_flow {
	struct ibv_flow base;
	struct rnp_handle handle;
	struct rnp_qp *qp;
	struct rnp_counters *counters; /* counters that the rule uses, or NULL */
	struct rnp_rule rule;
	/* entry in rnp_context.flows; guarded by the engine lock */
	LIST_ENTRY(rnp_flow) link;
};

static inline struct rnp_wq *to_rnp_wq(struct ibv_wq *wq)
{
	return (struct rnp_wq *)wq;
}
static inline struct rnp_counters *to_rnp_counters(struct ibv_counters *counters)
{
	return (struct rnp_counters *)counters;
}

/* ---------------------------------------- functions for flow rules, counters and WQs */
struct ibv_flow *rnp_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr);
int rnp_destroy_flow(struct ibv_flow *base);
/* Removes a flow rule from the device. The caller must do this before it removes the QP
 * of the rule.
 */
void rnp_flow_detach(struct rnp_flow *flow);
struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr);
int rnp_destroy_counters(struct ibv_counters *base);
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow);
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags);

struct ibv_wq *rnp_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int rnp_modify_wq(struct ibv_wq *base, struct ibv_wq_attr *attr);
int rnp_destroy_wq(struct ibv_wq *base);
struct ibv_rwq_ind_table *
rnp_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr);
int rnp_destroy_rwq_ind_table(struct ibv_rwq_ind_table *base);
/* Removes a table from the device. The caller has removed the QPs that use the table
 * before, and removes the work queues of the table only afterwards.
 */
void rnp_rwq_table_detach(struct rnp_context *ctx, struct rnp_rwq_table *table);

#endif /* RNP_STEERING_H */
