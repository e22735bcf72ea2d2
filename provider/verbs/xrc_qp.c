/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* xrc_qp.c - a target QP that several have open. */
#include <stdlib.h>

#include "provider.h"

static int check(const struct rnp_context *ctx, const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (rnp_is_copy(ctx))
		return EIO;
	if (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT))
		return EOPNOTSUPP;
	if ((attr->comp_mask & needed) != needed || !attr->xrcd ||
	    attr->xrcd->context != &ctx->base || attr->qp_type != IBV_QPT_XRC_RECV)
		return EINVAL;
	return 0;
}

/* One of those who have it open, if it is a target QP of this domain. */
static struct rnp_qp *find(struct rnp_engine *e, const struct rnp_xrcd *xrcd,
			   uint32_t qpn)
{
	const struct rn_qp *core = rn_dev_find_qp(rnp_engine_dev(e), qpn);
	struct rnp_qp *qp = core ? rn_qp_owner(core) : NULL;

	return qp && qp->xrcd && qp->xrcd->domain == xrcd->domain ? qp : NULL;
}

/* Engine lock held. */
static int share(struct rnp_qp *qp, uint32_t qpn)
{
	struct rnp_qp *other = find(qp->ctx->engine, qp->xrcd, qpn);

	if (!other)
		return EINVAL;
	qp->core = other->core;
	qp->stats = other->stats;
	qp->base.qp.qp_num = qp->base.qp.handle = qpn;
	qp->base.qp.state = (enum ibv_qp_state)rn_qp_state(qp->core);
	qp->next_handle = other->next_handle;
	other->next_handle = qp;
	LIST_INSERT_HEAD(&qp->ctx->qps, qp, link);
	return 0;
}

struct ibv_qp *rnp_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };
	struct rnp_qp *qp = NULL;
	int rc = check(ctx, attr);
	int cancel;

	if (!rc) {
		if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
			init.qp_context = attr->qp_context;
		qp = rnp_qp_alloc(ctx, NULL, &init);
		rc = qp ? 0 : ENOMEM;
	}
	if (!rc) {
		qp->xrcd = to_rnp_xrcd(attr->xrcd);
		cancel = rnp_enter(ctx->engine);
		rc = share(qp, attr->qp_num);
		rnp_leave(ctx->engine, cancel);
	}
	if (rc) {
		free(qp);
		errno = rc;
		return NULL;
	}
	atomic_fetch_add(&qp->xrcd->refs, 1);
	return &qp->base.qp;
}

void rnp_qp_leave(struct rnp_qp *qp)
{
	struct rnp_qp *before = qp->next_handle;

	while (before->next_handle != qp)
		before = before->next_handle;
	before->next_handle = qp->next_handle;
	if (rn_qp_owner(qp->core) == qp)
		rn_qp_set_owner(qp->core, before);
	if (qp->block.addr) {
		before->block = qp->block;
		before->resources = qp->resources;
		before->reads = qp->reads;
		qp->block = (struct rnp_buffer){ 0 };
		qp->resources = qp->reads = NULL;
	}
	qp->next_handle = qp;
	qp->core = NULL;
}
