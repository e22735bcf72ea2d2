/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.c - flow rules: which Ethernet frames a raw packet QP receives. */
#include "flow.h"

#include <stdlib.h>

#include "provider/raw/flow_spec.h"
#include "provider/raw/raw_socket.h"

/* A positive errno if this rule cannot be. */
static int judge(struct ibv_qp *qp, const struct ibv_flow_attr *attr,
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

/* Engine lock held. A positive errno on failure. */
static int attach(struct rnp_flow *flow)
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
	rc = judge(base, attr, flow);
	if (rc)
		goto err_free;
	flow->base.context = base->context;
	flow->base.handle = base->handle;
	flow->qp = qp;
	flow->rule.qp = qp->core;
	flow->rule.rss = qp->rss;
	flow->rule.tally = flow->counters ? &flow->counters->tally : NULL;
	cancel = rnp_enter(qp->ctx->engine);
	rc = attach(flow);
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
