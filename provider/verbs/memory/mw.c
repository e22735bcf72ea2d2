/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw.c - memory windows. They are bound to regions by requests; see rnp_bind_request().
 */
#include <errno.h>
#include <sys/queue.h>

#include "mr.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"

/* Adds the window to the device. The engine lock is held. */
static int add_window(struct rnp_context *ctx, struct rnp_mw *mw)
{
	const struct rnp_pd *pd = rnp_pd_find(ctx, mw->pd);
	enum rn_mr_kind kind =
		mw->base.type == IBV_MW_TYPE_1 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2;
	struct rn_stats_object o = { .kind = RN_STATS_MW,
				     .ctxn = (uint32_t)ctx->file,
				     .type = mw->base.type };
	int rc = pd ? rnp_hca_add(ctx->hca, RNP_HCA_MW) : -EINVAL;

	if (rc)
		return rc;
	rn_mw_init(&mw->core, kind, rnp_hca_new_key(ctx->hca), pd->number);
	rn_dev_add_mr(rnp_engine_dev(ctx->engine), &mw->core);
	o.pdn = pd->number;
	o.number = mw->base.handle = mw->core.node.key;
	mw->record = rnp_engine_record(ctx->engine, &o);
	LIST_INSERT_HEAD(&ctx->mws, mw, link);
	rnp_pd_get(mw->pd);
	rnp_handle_add(ctx, RNP_KIND_MW, mw);
	return 0;
}

void rnp_mw_detach(struct rnp_mw *mw)
{
	struct rnp_context *ctx = to_rnp_context(mw->base.context);

	rn_dev_remove_mr(rnp_engine_dev(ctx->engine), &mw->core);
	rnp_engine_forget(ctx->engine, mw->record);
	rnp_hca_remove(ctx->hca, RNP_HCA_MW);
	LIST_REMOVE(mw, link);
}

struct ibv_mw *rnp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int rc = rnp_is_fork_child(ctx) ? -EIO : 0, cancel;
	struct rnp_mw *mw;

	if (!rc && type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		rc = -EINVAL;
	mw = rc ? NULL : rnp_object_new(RNP_KIND_MW, NULL);
	if (!mw) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	mw->base.context = pd->context;
	mw->base.pd = mw->pd = pd;
	mw->base.type = type;
	cancel = rnp_lock_engine(ctx->engine);
	rc = add_window(ctx, mw);
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc) {
		rnp_object_free(RNP_KIND_MW, mw);
		errno = -rc;
		return NULL;
	}
	mw->base.rkey = mw->core.lkey;
	return &mw->base;
}

int rnp_dealloc_mw(struct ibv_mw *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_mw *mw = rnp_handle_find(ctx, RNP_KIND_MW, base);

	if (mw)
		rnp_handle_remove(ctx, RNP_KIND_MW, mw);
	if (mw && lock != RNP_NO_LOCK) {
		rnp_mw_detach(mw);
		/* Let WRITEs of peers through the window reach memory before the
		 * call returns.
		 */
		rnp_engine_settle(ctx->engine, 0);
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!mw)
		return ENOENT;
	rnp_pd_put(mw->pd);
	rnp_object_free(RNP_KIND_MW, mw);
	return 0;
}
