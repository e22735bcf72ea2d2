/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pd.c - protection domains: a number that regions and queue pairs must share. */
#include <stdlib.h>

#include "provider.h"

struct ibv_pd *rnp_alloc_pd(struct ibv_context *context)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_pd *pd;
	int cancel, rc;

	if (rnp_is_copy(ctx)) {
		errno = EIO;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	cancel = rnp_enter(ctx->engine);
	rc = rnp_hca_add(ctx->hca, RNP_HCA_PD);
	if (!rc)
		pd->number = rnp_hca_new_pd(ctx->hca);
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free(pd);
		errno = -rc;
		return NULL;
	}
	pd->base.handle = pd->number;
	return &pd->base;
}

int rnp_dealloc_pd(struct ibv_pd *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_pd *pd = to_rnp_pd(base);
	int cancel;

	if (!rnp_is_copy(ctx)) {
		if (atomic_load(&pd->refs))
			return EBUSY;
		cancel = rnp_enter(ctx->engine);
		rnp_hca_remove(ctx->hca, RNP_HCA_PD);
		rnp_leave(ctx->engine, cancel);
	}
	free(pd);
	return 0;
}
