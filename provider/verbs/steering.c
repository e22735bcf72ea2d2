/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steering.c - verbs that select the Ethernet frames that a raw packet QP receives: flow
 * rules, counters of the frames that match them, and work queues to which RSS distributes
 * these frames.
 */
#include <stdlib.h>

#include "provider.h"
#include "provider/raw/flow.h"
#include "provider/raw/raw_socket.h"
#include "rocin/queue_pair.h"

/* ------------------------------------------------------------------------ flow rules */
/* Checks a flow rule and converts it. Returns 0, or a positive errno if such a rule
 * cannot exist.
 */
static int check_flow(struct ibv_qp *qp, const struct ibv_flow_attr *attr,
		      struct rnp_flow *flow)
{
	struct rnp_context *ctx = to_rnp_context(qp->context);
	struct ibv_counters *counters = NULL;
	int rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	/* Only raw packet QPs have rules: packets for UD, RC and UC are RoCE, and carry
	 * the number of their QP.
	 */
	if (qp->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	rc = -rnp_flow_spec_parse(attr, &flow->rule, &counters);
	if (rc)
		return rc;
	if (counters && counters->context != qp->context)
		return EINVAL;
	flow->counters = counters ? to_rnp_counters(counters) : NULL;
	return 0;
}

/* Adds a rule to the device. The engine lock is held. Returns 0 or a positive errno. */
static int attach_flow(struct rnp_flow *flow)
{
	struct rnp_context *ctx = flow->qp->ctx;
	int rc;

	if (rnp_engine_dead(ctx->engine))
		return EIO;
	rc = -rnp_raw_add_rule(rnp_engine_raw(ctx->engine), &flow->rule);
	if (rc)
		return rc;
	flow->qp->flows++;
	if (flow->counters)
		flow->counters->flows++;
	LIST_INSERT_HEAD(&ctx->flows, flow, link);
	return 0;
}

struct ibv_flow *rnp_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_flow *flow = calloc(1, sizeof(*flow));
	int cancel, rc;

	if (!flow)
		return NULL;
	rc = check_flow(base, attr, flow);
	if (rc)
		goto err_free;
	flow->base.context = base->context;
	flow->base.handle = base->handle;
	flow->qp = qp;
	flow->rule.qp = qp->core;
	flow->rule.rss = qp->rss;
	flow->rule.tally = flow->counters ? &flow->counters->tally : NULL;
	cancel = rnp_lock_engine(qp->ctx->engine);
	rc = attach_flow(flow);
	rnp_unlock_engine(qp->ctx->engine, cancel);
	if (rc)
		goto err_free;
	return &flow->base;

err_free:
	free(flow);
	errno = rc;
	return NULL;
}

void rnp_flow_detach(struct rnp_flow *flow)
{
	rnp_raw_remove_rule(rnp_engine_raw(flow->qp->ctx->engine), &flow->rule);
	flow->qp->flows--;
	if (flow->counters)
		flow->counters->flows--;
	LIST_REMOVE(flow, link);
}

int rnp_destroy_flow(struct ibv_flow *base)
{
	struct rnp_flow *flow = (struct rnp_flow *)base;
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel;

	if (!rnp_is_fork_child(ctx)) {
		cancel = rnp_lock_engine(ctx->engine);
		rnp_flow_detach(flow);
		rnp_unlock_engine(ctx->engine, cancel);
		rnp_engine_close_raw(ctx->engine);
	}
	free(flow);
	return 0;
}

/* -------------------------------------------------------------------------- counters */
struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr)
{
	struct rnp_counters *counters;

	if (rnp_is_fork_child(to_rnp_context(context))) {
		errno = EIO;
		return NULL;
	}
	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	counters->base.context = context;
	return &counters->base;
}

int rnp_destroy_counters(struct ibv_counters *base)
{
	struct rnp_counters *counters = to_rnp_counters(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	bool busy = false;
	int cancel;

	if (!rnp_is_fork_child(ctx)) {
		cancel = rnp_lock_engine(ctx->engine);
		busy = counters->flows > 0;
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	free(counters);
	return 0;
}

/* Adds a counter point. The engine lock is held. */
static int add_counter_point(struct rnp_counters *counters,
			     struct rnp_counter_point point)
{
	if (counters->flows)
		return EBUSY;
	if (counters->points == RNP_COUNTER_POINTS)
		return ENOMEM;
	counters->point[counters->points++] = point;
	return 0;
}

/* Attaches a counter point; possible only before a rule uses the counters, as with
 * hardware. A rule names its counters in an action, so @flow must be NULL.
 */
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_counter_point point = { .desc = attr->counter_desc,
					   .index = attr->index };
	int cancel, rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (flow || attr->comp_mask ||
	    (attr->counter_desc != IBV_COUNTER_PACKETS &&
	     attr->counter_desc != IBV_COUNTER_BYTES))
		return EOPNOTSUPP;
	if (attr->index >= RNP_COUNTER_POINTS)
		return EINVAL;
	cancel = rnp_lock_engine(ctx->engine);
	rc = add_counter_point(to_rnp_counters(base), point);
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Reads counters; the value at an index without a counter point is 0. */
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags)
{
	struct rnp_counters *counters = to_rnp_counters(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel, rc = 0;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	cancel = rnp_lock_engine(ctx->engine);
	for (unsigned i = 0; i < counters->points; i++)
		if (counters->point[i].index >= count)
			rc = EINVAL;
	for (uint32_t i = 0; i < count && !rc; i++)
		values[i] = 0;
	for (unsigned i = 0; i < counters->points && !rc; i++) {
		const struct rnp_counter_point *p = &counters->point[i];

		values[p->index] += p->desc == IBV_COUNTER_PACKETS
					    ? counters->tally.frames
					    : counters->tally.bytes;
	}
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* --------------------------------------------------------------- receive work queues */
/* Checks the attributes of a work queue. Returns 0, or a positive errno if such a queue
 * cannot exist. Its length is checked when its hidden QP is created.
 */
static int check_wq(const struct rnp_context *ctx, const struct ibv_wq_init_attr *attr)
{
	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->wq_type != IBV_WQT_RQ ||
	    attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS ||
	    (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS && attr->create_flags))
		return EOPNOTSUPP;
	if (!attr->pd || attr->pd->context != &ctx->base || attr->max_wr == 0)
		return EINVAL;
	return 0;
}

static int post_recv(struct ibv_wq *base, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	return rnp_post_recv(&to_rnp_wq(base)->queue->base.qp, wr, bad_wr);
}

struct ibv_wq *rnp_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int rc = check_wq(ctx, attr);
	struct rnp_wq *wq;

	if (rc) {
		errno = rc;
		return NULL;
	}
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return NULL;
	wq->queue = rnp_qp_create_queue(wq, attr);
	if (!wq->queue) {
		free(wq);
		return NULL;
	}
	wq->base = (struct ibv_wq){
		.context = context,
		.pd = attr->pd,
		.cq = attr->cq,
		.wq_num = wq->queue->base.qp.qp_num,
		.handle = wq->queue->base.qp.handle,
		.state = IBV_WQS_RESET,
		.wq_type = IBV_WQT_RQ,
		.post_recv = post_recv,
	};
	return &wq->base;
}

/* ------------------------------------------------------------- states of work queues */
static enum ibv_wq_state state_of(const struct rnp_wq *wq)
{
	struct rnp_engine *e = wq->queue->ctx->engine;
	int cancel = rnp_lock_engine(e);
	enum rn_qp_state state = rn_qp_state(wq->queue->core);

	rnp_unlock_engine(e, cancel);
	if (state == RN_QPS_RESET || state == RN_QPS_ERR)
		return state == RN_QPS_ERR ? IBV_WQS_ERR : IBV_WQS_RESET;
	return IBV_WQS_RDY;
}

static int move_queue(struct rnp_wq *wq, enum ibv_qp_state state, int more)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return rnp_modify_qp(&wq->queue->base.qp, &attr, IBV_QP_STATE | more);
}

/* Moves a work queue from the state @now, which may be ERR after an error, to @next.
 * Returns 0 or a positive errno.
 */
static int move_wq(struct rnp_wq *wq, enum ibv_wq_state now, enum ibv_wq_state next)
{
	int rc;

	if (next == IBV_WQS_RESET)
		return move_queue(wq, IBV_QPS_RESET, 0);
	if (now == next)
		return 0;
	if (now == IBV_WQS_RDY) /* for a move from RDY to ERR */
		return move_queue(wq, IBV_QPS_ERR, 0);
	if (next == IBV_WQS_ERR || now == IBV_WQS_ERR)
		return EINVAL;
	rc = move_queue(wq, IBV_QPS_INIT, IBV_QP_PORT);
	return rc ? rc : move_queue(wq, IBV_QPS_RTR, 0);
}

static bool is_state(enum ibv_wq_state state)
{
	return (unsigned)state <= IBV_WQS_ERR;
}

static int check_wq_attr(const struct ibv_wq_attr *attr)
{
	const uint32_t known =
		IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS;

	if (!attr->attr_mask || attr->attr_mask & ~known)
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && !is_state(attr->wq_state))
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE && !is_state(attr->curr_wq_state))
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS && attr->flags_mask)
		return EOPNOTSUPP;
	return 0;
}

int rnp_modify_wq(struct ibv_wq *base, struct ibv_wq_attr *attr)
{
	struct rnp_wq *wq = to_rnp_wq(base);
	enum ibv_wq_state now;
	int rc;

	if (rnp_is_fork_child(wq->queue->ctx))
		return EIO;
	rc = check_wq_attr(attr);
	if (rc)
		return rc;
	now = state_of(wq);
	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE && attr->curr_wq_state != now)
		return EINVAL;
	if (!(attr->attr_mask & IBV_WQ_ATTR_STATE))
		return 0;
	rc = move_wq(wq, now, attr->wq_state);
	if (!rc)
		__atomic_store_n(&base->state, attr->wq_state, __ATOMIC_RELAXED);
	return rc;
}

int rnp_destroy_wq(struct ibv_wq *base)
{
	struct rnp_wq *wq = to_rnp_wq(base);
	struct rnp_context *ctx = wq->queue->ctx;
	bool is_copy = rnp_is_fork_child(ctx), busy = false;
	int cancel;

	if (!is_copy) {
		cancel = rnp_lock_engine(ctx->engine);
		busy = wq->tables > 0;
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	rnp_destroy_qp(&wq->queue->base.qp);
	if (!is_copy) {
		pthread_cond_destroy(&base->cond);
		pthread_mutex_destroy(&base->mutex);
	}
	free(wq);
	return 0;
}

/* ---------------------------------------------------------------- indirection tables */
/* Checks the attributes of a table. Returns 0, or a positive errno if such a table
 * cannot exist.
 */
static int check_table(const struct rnp_context *ctx,
		       const struct ibv_rwq_ind_table_init_attr *attr)
{
	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->comp_mask)
		return EOPNOTSUPP;
	if (attr->log_ind_tbl_size > RNP_RWQ_TABLE_LOG_MAX || !attr->ind_tbl)
		return EINVAL;
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++)
		if (!attr->ind_tbl[i] || attr->ind_tbl[i]->context != &ctx->base)
			return EINVAL;
	return 0;
}

static void free_table(struct rnp_rwq_table *t)
{
	free((void *)t->core);
	free((void *)t->wq);
	free(t);
}

static struct rnp_rwq_table *new_table(struct rnp_context *ctx,
				       const struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rnp_rwq_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->base.context = &ctx->base;
	t->size = 1u << attr->log_ind_tbl_size;
	t->wq = (struct rnp_wq **)calloc(t->size, sizeof(struct rnp_wq *));
	t->core = (void **)calloc(t->size, sizeof(*t->core));
	if (!t->wq || !t->core) {
		free_table(t);
		return NULL;
	}
	for (uint32_t i = 0; i < t->size; i++) {
		t->wq[i] = to_rnp_wq(attr->ind_tbl[i]);
		t->core[i] = t->wq[i]->queue->core;
	}
	return t;
}

/* Adds a table to the device. The engine lock is held. Returns 0 or a positive errno. */
static int attach_table(struct rnp_context *ctx, struct rnp_rwq_table *t)
{
	int rc = rnp_engine_dead(ctx->engine) ? EIO
					      : -rnp_hca_add(ctx->hca, RNP_HCA_RWQ_TABLE);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < t->size; i++)
		t->wq[i]->tables++;
	t->base.ind_tbl_num = t->base.ind_tbl_handle = ++ctx->last_rwq_table;
	LIST_INSERT_HEAD(&ctx->rwq_tables, t, link);
	return 0;
}

struct ibv_rwq_ind_table *
rnp_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_rwq_table *t;
	int rc = check_table(ctx, attr);
	int cancel;

	if (rc) {
		errno = rc;
		return NULL;
	}
	t = new_table(ctx, attr);
	if (!t)
		return NULL;
	cancel = rnp_lock_engine(ctx->engine);
	rc = attach_table(ctx, t);
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc) {
		free_table(t);
		errno = rc;
		return NULL;
	}
	return &t->base;
}

void rnp_rwq_table_detach(struct rnp_context *ctx, struct rnp_rwq_table *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		t->wq[i]->tables--;
	LIST_REMOVE(t, link);
	rnp_hca_remove(ctx->hca, RNP_HCA_RWQ_TABLE);
}

int rnp_destroy_rwq_ind_table(struct ibv_rwq_ind_table *base)
{
	struct rnp_rwq_table *t = (struct rnp_rwq_table *)base;
	struct rnp_context *ctx = to_rnp_context(base->context);
	bool busy = false;
	int cancel;

	if (!rnp_is_fork_child(ctx)) {
		cancel = rnp_lock_engine(ctx->engine);
		busy = t->qps > 0;
		if (!busy)
			rnp_rwq_table_detach(ctx, t);
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	free_table(t);
	return 0;
}
