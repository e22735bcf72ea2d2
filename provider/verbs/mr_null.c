/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr_null.c - the region that is no memory: zeros to read, and what is written is gone.
 * Its key is good for scatter and gather lists only.
 */
#include <stdlib.h>

#include "provider.h"

/* Into the device; engine lock held. */
static int attach(struct rnp_context *ctx, struct rnp_mr *mr, const struct rnp_pd *pd)
{
	int rc = rnp_hca_add(ctx->hca, RNP_HCA_MR);

	if (rc)
		return rc;
	rn_mr_init_null(&mr->core, rnp_hca_new_key(ctx->hca), pd->number);
	rn_dev_add_mr(rnp_engine_dev(ctx->engine), &mr->core);
	LIST_INSERT_HEAD(&ctx->mrs, mr, link);
	return 0;
}

struct ibv_mr *rnp_alloc_null_mr(struct ibv_pd *pd)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int rc = rnp_is_copy(ctx) ? -EIO : 0, cancel;
	struct rnp_mr *mr = rc ? NULL : calloc(1, sizeof(*mr));

	if (!mr) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	mr->held = 2; /* the program and the device */
	cancel = rnp_enter(ctx->engine);
	rc = attach(ctx, mr, to_rnp_pd(pd));
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free(mr);
		errno = -rc;
		return NULL;
	}
	rnp_pd_get(pd);
	mr->base.ibv_mr.context = pd->context;
	mr->base.ibv_mr.pd = pd;
	mr->base.ibv_mr.handle = mr->core.node.key;
	mr->base.ibv_mr.lkey = mr->base.ibv_mr.rkey = mr->core.lkey;
	mr->base.mr_type = RNP_ABI_NULL_MR;
	return &mr->base.ibv_mr;
}
