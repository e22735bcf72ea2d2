/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ah.c - address handles: where a UD message goes. */
#include <stdlib.h>

#include "av.h"
#include "provider.h"

struct ibv_ah *rnp_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rnp_ah *ah;
	int cancel, rc;

	if (rnp_is_copy(ctx)) {
		errno = EIO;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	cancel = rnp_enter(ctx->engine);
	rc = rnp_av_from_attr(rnp_engine_netdev(ctx->engine), attr, &ah->av);
	if (!rc)
		rc = rnp_hca_add(ctx->hca, RNP_HCA_AH);
	if (!rc)
		LIST_INSERT_HEAD(&ctx->ahs, ah, link);
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free(ah);
		errno = -rc;
		return NULL;
	}
	rnp_pd_get(pd);
	return &ah->base;
}

void rnp_ah_detach(struct rnp_context *ctx, struct rnp_ah *ah)
{
	rnp_hca_remove(ctx->hca, RNP_HCA_AH);
	LIST_REMOVE(ah, link);
}

int rnp_destroy_ah(struct ibv_ah *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel;

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		rnp_ah_detach(ctx, to_rnp_ah(base));
		rnp_leave(ctx->engine, cancel);
	}
	rnp_pd_put(base->pd);
	free(to_rnp_ah(base));
	return 0;
}
