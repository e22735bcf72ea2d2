/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.c - flow rules, which say what Ethernet frames a raw packet QP receives, and the
 * counters objects that count what rules have matched.
 */
#include "flow.h"

#include <stdlib.h>

#include "provider/raw/flow_spec.h"
#include "provider/raw/raw_socket.h"

/* ----------------------------------------------------------------------------- rules */
/* Returns a positive errno if such a rule cannot exist. */
static int check_flow(struct ibv_qp *qp, const struct ibv_flow_attr *attr,
		      struct rnp_flow *flow)
{
	struct rnp_context *ctx = to_rnp_context(qp->context);
	struct ibv_counters *counters = NULL;
	int rc;

	if (rnp_is_copy(ctx))
		return EIO;
	/* What comes for UD, RC and UC is RoCE, and the QP number says whose it is. */
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

/* The engine lock is held. Returns 0 or a positive errno. */
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
	cancel = rnp_enter(qp->ctx->engine);
	rc = attach_flow(flow);
	rnp_leave(qp->ctx->engine, cancel);
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

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		rnp_flow_detach(flow);
		rnp_leave(ctx->engine, cancel);
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

	if (rnp_is_copy(to_rnp_context(context))) {
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

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		busy = counters->flows > 0;
		rnp_leave(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	free(counters);
	return 0;
}

/* The engine lock is held. */
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

/* Only ahead of the rule, which names the object in an action: that is how devices do it.
 */
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_counter_point point = { .desc = attr->counter_desc,
					   .index = attr->index };
	int cancel, rc;

	if (rnp_is_copy(ctx))
		return EIO;
	if (flow || attr->comp_mask ||
	    (attr->counter_desc != IBV_COUNTER_PACKETS &&
	     attr->counter_desc != IBV_COUNTER_BYTES))
		return EOPNOTSUPP;
	if (attr->index >= RNP_COUNTER_POINTS)
		return EINVAL;
	cancel = rnp_enter(ctx->engine);
	rc = add_counter_point(to_rnp_counters(base), point);
	rnp_leave(ctx->engine, cancel);
	return rc;
}

/* Values at indices where nothing is attached are 0. */
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags)
{
	struct rnp_counters *counters = to_rnp_counters(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel, rc = 0;

	if (rnp_is_copy(ctx))
		return EIO;
	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	cancel = rnp_enter(ctx->engine);
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
	rnp_leave(ctx->engine, cancel);
	return rc;
}
