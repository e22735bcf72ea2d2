/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steering.c - verbs that select the Ethernet frames that a raw packet QP receives: flow
 * rules, counters of the frames that match them, and work queues to which RSS distributes
 * these frames.
 */
#include "steering.h"

#include <stdlib.h>

#include "post.h"
#include "provider/raw/flow.h"
#include "provider/raw/raw_socket.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/provider.h"
#include "qp.h"
#include "rocin/queue_pair.h"

/* ------------------------------------------------------------------------ flow rules */
/* Checks a flow rule that the program has passed, and converts it into @flow->rule.
 * @counters: out: the counters object that the rule names, or NULL. Returns 0, or a
 * positive errno if such a rule cannot exist.
 */
static int check_flow(const struct ibv_qp *qp, const struct ibv_flow_attr *attr,
		      struct rnp_flow *flow, struct ibv_counters **counters)
{
	if (rnp_is_fork_child(to_rnp_context(qp->context)))
		return EIO;
	/* Only raw packet QPs have flow rules. Packets for UD, RC and UC are RoCE
	 * packets, which carry the number of their QP.
	 */
	if (qp->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	return -rnp_flow_spec_parse(attr, &flow->rule, counters);
}

/* Adds a rule to the device. The engine lock is held. Returns 0 or a positive errno. */
static int attach_flow(struct rnp_context *ctx, struct rnp_flow *flow,
		       const struct ibv_qp *base, const struct ibv_counters *counters)
{
	struct rnp_qp *qp = rnp_qp_find(ctx, base);
	int rc;

	flow->counters = rnp_handle_find(ctx, RNP_KIND_COUNTERS, counters);
	if (!qp || (counters && !flow->counters))
		return EINVAL;
	if (rnp_engine_dead(ctx->engine))
		return EIO;
	flow->base.handle = qp->handle.number;
	flow->qp = qp;
	flow->rule.qp = qp->core;
	flow->rule.rss = qp->rss;
	flow->rule.tally = flow->counters ? &flow->counters->tally : NULL;
	rc = -rnp_raw_add_rule(rnp_engine_raw(ctx->engine), &flow->rule);
	if (rc)
		return rc;
	qp->flows++;
	if (flow->counters)
		flow->counters->flows++;
	LIST_INSERT_HEAD(&ctx->flows, flow, link);
	rnp_handle_add(ctx, RNP_KIND_FLOW, flow);
	return 0;
}

struct ibv_flow *rnp_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_flow *flow = rnp_object_new(RNP_KIND_FLOW, NULL);
	struct ibv_counters *counters = NULL;
	int cancel, rc;

	if (!flow)
		return NULL;
	flow->base.context = base->context;
	rc = check_flow(base, attr, flow, &counters);
	if (!rc) {
		cancel = rnp_lock_engine(ctx->engine);
		rc = attach_flow(ctx, flow, base, counters);
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (!rc)
		return &flow->base;
	rnp_object_free(RNP_KIND_FLOW, flow);
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
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_flow *flow = rnp_handle_find(ctx, RNP_KIND_FLOW, base);

	if (flow) {
		rnp_handle_remove(ctx, RNP_KIND_FLOW, flow);
		if (lock != RNP_NO_LOCK)
			rnp_flow_detach(flow);
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!flow)
		return ENOENT;
	if (lock != RNP_NO_LOCK)
		rnp_engine_close_raw(ctx->engine);
	rnp_object_free(RNP_KIND_FLOW, flow);
	return 0;
}

/* ---------------------------------------------------------------- counters of frames */
struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_counters *counters;
	int cancel;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return NULL;
	}
	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	counters = rnp_object_new(RNP_KIND_COUNTERS, NULL);
	if (!counters)
		return NULL;
	counters->base.context = context;
	cancel = rnp_lock_engine(ctx->engine);
	rnp_handle_add(ctx, RNP_KIND_COUNTERS, counters);
	rnp_unlock_engine(ctx->engine, cancel);
	return &counters->base;
}

int rnp_destroy_counters(struct ibv_counters *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_counters *counters = rnp_handle_find(ctx, RNP_KIND_COUNTERS, base);

	if (!counters)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && counters->flows > 0)
		err = EBUSY;
	else
		rnp_handle_remove(ctx, RNP_KIND_COUNTERS, counters);
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_object_free(RNP_KIND_COUNTERS, counters);
	return err;
}

/* Adds a counter point. The engine lock is held. */
static int add_counter_point(struct rnp_counters *counters,
			     struct rnp_counter_point point)
{
	if (!counters)
		return EINVAL;
	if (counters->flows)
		return EBUSY;
	if (counters->points == RNP_COUNTER_POINTS)
		return ENOMEM;
	counters->point[counters->points++] = point;
	return 0;
}

/* Attaches a counter point, that is, chooses the index of a value in the counters. As
 * with hardware, that is possible only while no rule uses the counters. @flow must be
 * NULL: a rule names its counters by an action among its specifications.
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
	rc = add_counter_point(rnp_handle_find(ctx, RNP_KIND_COUNTERS, base), point);
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Reads the first @count values of a counters object; a value without a counter point is
 * 0. The engine lock is held. Returns 0; EINVAL if @counters is NULL or has a counter
 * point with an index of @count or more.
 */
static int read_points(const struct rnp_counters *counters, uint64_t *values,
		       uint32_t count)
{
	if (!counters)
		return EINVAL;
	for (unsigned i = 0; i < counters->points; i++)
		if (counters->point[i].index >= count)
			return EINVAL;
	for (uint32_t i = 0; i < count; i++)
		values[i] = 0;
	for (unsigned i = 0; i < counters->points; i++) {
		const struct rnp_counter_point *p = &counters->point[i];

		values[p->index] += p->desc == IBV_COUNTER_PACKETS
					    ? counters->tally.frames
					    : counters->tally.bytes;
	}
	return 0;
}

int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel, rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	cancel = rnp_lock_engine(ctx->engine);
	rc = read_points(rnp_handle_find(ctx, RNP_KIND_COUNTERS, base), values, count);
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* --------------------------------------------------------------- receive work queues */
/* Checks the attributes of a new work queue. Returns 0, or a positive errno if such a
 * queue cannot exist. Its length is not checked here but when the hidden QP is created
 * that implements the queue.
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
	struct rnp_qp *queue = to_rnp_wq(base)->queue;

	if (queue)
		return rnp_post_recv(&queue->base.qp, wr, bad_wr);
	*bad_wr = wr; /* the WQ was destroyed */
	return rnp_set_errno(EINVAL);
}

struct ibv_wq *rnp_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int rc = check_wq(ctx, attr), cancel;
	struct rnp_wq *wq;

	if (rc) {
		errno = rc;
		return NULL;
	}
	wq = rnp_object_new(RNP_KIND_WQ, NULL);
	if (!wq)
		return NULL;
	wq->queue = rnp_qp_create_queue(wq, attr);
	if (!wq->queue) {
		rnp_object_free(RNP_KIND_WQ, wq);
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
	cancel = rnp_lock_engine(ctx->engine);
	rnp_handle_add(ctx, RNP_KIND_WQ, wq);
	rnp_unlock_engine(ctx->engine, cancel);
	return &wq->base;
}

/* ------------------------------------------------------------- states of work queues */
/* Returns the hidden QP that implements a work queue, and stores the state of the work
 * queue in *@now. Returns NULL if there is no such work queue.
 */
static struct rnp_qp *find_queue(const struct rnp_context *ctx, const struct ibv_wq *base,
				 enum ibv_wq_state *now)
{
	int cancel = rnp_lock_engine(ctx->engine);
	const struct rnp_wq *wq = rnp_handle_find(ctx, RNP_KIND_WQ, base);
	enum rn_qp_state state = wq ? rn_qp_state(wq->queue->core) : RN_QPS_ERR;
	struct rnp_qp *queue = wq ? wq->queue : NULL;

	rnp_unlock_engine(ctx->engine, cancel);
	if (state == RN_QPS_RESET)
		*now = IBV_WQS_RESET;
	else
		*now = state == RN_QPS_ERR ? IBV_WQS_ERR : IBV_WQS_RDY;
	return queue;
}

/* Changes the state of @queue, the hidden QP that implements a work queue. @more: further
 * IBV_QP_* flags of attributes that are set. Fails with EINVAL if the work queue was
 * destroyed meanwhile.
 */
static int move_queue(struct rnp_qp *queue, enum ibv_qp_state state, int more)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return rnp_modify_qp(&queue->base.qp, &attr, IBV_QP_STATE | more);
}

/* Moves a work queue to the state @next. @queue is its hidden QP, and @now its present
 * state, which may be ERR because of an error. Returns 0 or a positive errno.
 */
static int move_wq(struct rnp_qp *queue, enum ibv_wq_state now, enum ibv_wq_state next)
{
	int rc;

	if (next == IBV_WQS_RESET)
		return move_queue(queue, IBV_QPS_RESET, 0);
	if (now == next)
		return 0;
	if (now == IBV_WQS_RDY) /* the change from RDY to ERR */
		return move_queue(queue, IBV_QPS_ERR, 0);
	if (next == IBV_WQS_ERR || now == IBV_WQS_ERR)
		return EINVAL;
	rc = move_queue(queue, IBV_QPS_INIT, IBV_QP_PORT);
	return rc ? rc : move_queue(queue, IBV_QPS_RTR, 0);
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
	struct rnp_context *ctx = to_rnp_context(base->context);
	enum ibv_wq_state now;
	struct rnp_qp *queue;
	int rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	rc = check_wq_attr(attr);
	if (rc)
		return rc;
	queue = find_queue(ctx, base, &now);
	if (!queue)
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE && attr->curr_wq_state != now)
		return EINVAL;
	if (!(attr->attr_mask & IBV_WQ_ATTR_STATE))
		return 0;
	rc = move_wq(queue, now, attr->wq_state);
	if (!rc)
		__atomic_store_n(&base->state, attr->wq_state, __ATOMIC_RELAXED);
	return rc;
}

int rnp_destroy_wq(struct ibv_wq *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_wq *wq = rnp_handle_find(ctx, RNP_KIND_WQ, base);
	struct rnp_qp *queue = NULL;

	if (!wq)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && wq->tables > 0)
		err = EBUSY;
	if (!err) {
		rnp_handle_remove(ctx, RNP_KIND_WQ, wq);
		queue = wq->queue;
		wq->queue = NULL;
	}
	rnp_unlock_destroyed(ctx, lock);
	if (err)
		return err;
	rnp_destroy_qp(&queue->base.qp);
	if (lock != RNP_NO_LOCK) {
		pthread_cond_destroy(&base->cond);
		pthread_mutex_destroy(&base->mutex);
	}
	rnp_object_free(RNP_KIND_WQ, wq);
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
	return 0;
}

static void free_table(struct rnp_rwq_table *t)
{
	free((void *)t->core);
	free((void *)t->wq);
	rnp_object_free(RNP_KIND_RWQ_TABLE, t);
}

static struct rnp_rwq_table *new_table(struct rnp_context *ctx,
				       const struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rnp_rwq_table *t = rnp_object_new(RNP_KIND_RWQ_TABLE, NULL);

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
	return t;
}

/* Fills in @t->wq with the work queues that the handles in @list name. The engine lock is
 * held. Returns 0, or EINVAL if one of them does not exist in this context.
 */
static int find_queues(struct rnp_context *ctx, struct rnp_rwq_table *t,
		       struct ibv_wq **list)
{
	for (uint32_t i = 0; i < t->size; i++) {
		t->wq[i] = rnp_handle_find(ctx, RNP_KIND_WQ, list[i]);
		if (!t->wq[i])
			return EINVAL;
		t->core[i] = t->wq[i]->queue->core;
	}
	return 0;
}

/* Adds a table to the device. The engine lock is held. Returns 0 or a positive errno. */
static int attach_table(struct rnp_context *ctx, struct rnp_rwq_table *t,
			struct ibv_wq **list)
{
	int rc = find_queues(ctx, t, list);

	if (!rc)
		rc = rnp_engine_dead(ctx->engine)
			     ? EIO
			     : -rnp_hca_add(ctx->hca, RNP_HCA_RWQ_TABLE);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < t->size; i++)
		t->wq[i]->tables++;
	t->base.ind_tbl_num = t->base.ind_tbl_handle = ++ctx->last_rwq_table;
	LIST_INSERT_HEAD(&ctx->rwq_tables, t, link);
	rnp_handle_add(ctx, RNP_KIND_RWQ_TABLE, t);
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
	rc = attach_table(ctx, t, attr->ind_tbl);
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
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_rwq_table *t = rnp_handle_find(ctx, RNP_KIND_RWQ_TABLE, base);

	if (!t)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && t->qps > 0)
		err = EBUSY;
	if (!err) {
		rnp_handle_remove(ctx, RNP_KIND_RWQ_TABLE, t);
		if (lock != RNP_NO_LOCK)
			rnp_rwq_table_detach(ctx, t);
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		free_table(t);
	return err;
}
