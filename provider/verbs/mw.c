/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw.c - memory windows. */
#include "mw.h"

#include <stdlib.h>

#include "post.h"

/* Put it into the device. The engine lock is held. */
static int add_window(struct rnp_context *ctx, struct rnp_mw *mw, enum ibv_mw_type type)
{
	const struct rnp_pd *pd = to_rnp_pd(mw->base.pd);
	enum rn_mr_kind kind = type == IBV_MW_TYPE_1 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2;
	int rc = rnp_hca_add(ctx->hca, RNP_HCA_MW);

	if (rc)
		return rc;
	rn_mw_init(&mw->core, kind, rnp_hca_new_key(ctx->hca), pd->number);
	rn_dev_add_mr(rnp_engine_dev(ctx->engine), &mw->core);
	LIST_INSERT_HEAD(&ctx->mws, mw, link);
	return 0;
}

void rnp_mw_detach(struct rnp_mw *mw)
{
	struct rnp_context *ctx = to_rnp_context(mw->base.context);

	rn_dev_remove_mr(rnp_engine_dev(ctx->engine), &mw->core);
	rnp_hca_remove(ctx->hca, RNP_HCA_MW);
	LIST_REMOVE(mw, link);
}

struct ibv_mw *rnp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int rc = rnp_is_copy(ctx) ? -EIO : 0, cancel;
	struct rnp_mw *mw;

	if (!rc && type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		rc = -EINVAL;
	mw = rc ? NULL : calloc(1, sizeof(*mw));
	if (!mw) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	mw->base.context = pd->context;
	mw->base.pd = pd;
	mw->base.type = type;
	cancel = rnp_enter(ctx->engine);
	rc = add_window(ctx, mw, type);
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free(mw);
		errno = -rc;
		return NULL;
	}
	rnp_pd_get(pd);
	mw->base.rkey = mw->core.lkey;
	mw->base.handle = mw->core.node.key;
	return &mw->base;
}

int rnp_dealloc_mw(struct ibv_mw *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_mw *mw = to_rnp_mw(base);
	int cancel;

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		rnp_mw_detach(mw);
		/* What peers have written through it is in memory. */
		rnp_engine_settle(ctx->engine, 0);
		rnp_leave(ctx->engine, cancel);
	}
	rnp_pd_put(base->pd);
	free(mw);
	return 0;
}

/* --------------------------------------------------------------------------- binding */
/* The library has checked the type, the domain and the region. Returns 0 or a positive
 * errno.
 */
static int check_bind(const struct ibv_qp *qp, const struct ibv_mw *mw,
		      const struct ibv_mw_bind_info *info)
{
	if (qp->context != mw->context)
		return EINVAL;
	if (info->mr && info->mr->context != mw->context)
		return EINVAL;
	return info->mw_access_flags & IBV_ACCESS_ZERO_BASED ? EINVAL : 0;
}

int rnp_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rn_send_wr wr = { .wr_id = bind->wr_id, .flags = bind->send_flags };
	struct rnp_posted posted = { 0 };
	int rc = check_bind(base, mw, &bind->bind_info), cancel;

	if (rnp_is_copy(qp->ctx))
		return EIO;
	if (!rc && bind->send_flags & ~(unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED |
						  IBV_SEND_SOLICITED))
		rc = EINVAL;
	if (rc)
		return rc;
	cancel = rnp_enter(e);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	rnp_send_wr_bind(mw, ibv_inc_rkey(mw->rkey), &bind->bind_info, &wr);
	posted.now = rnp_engine_now();
	rc = -rnp_post_one(qp, &posted, &wr);
	if (!rc) {
		mw->rkey = wr.rkey;
		rnp_engine_posted(e, qp->core, &posted);
	}
	rnp_leave(e, cancel);
	return rc;
}
