/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pd.c - protection domains: a number that regions and queue pairs must share. */
#include <stdlib.h>

#include "provider.h"

static struct rnp_pd_handle *to_handle(struct ibv_pd *pd)
{
	return (struct rnp_pd_handle *)pd;
}

/* One holder less: a handle, or the device. */
static void release(struct rnp_pd *pd)
{
	if (atomic_fetch_sub(&pd->held, 1) == 1)
		free(pd);
}

struct rnp_pd_handle *rnp_pd_new_handle(struct ibv_context *context, struct rnp_pd *pd)
{
	struct rnp_pd_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base.context = context;
	h->base.handle = pd->number;
	h->pd = pd;
	atomic_init(&h->refs, 1);
	return h;
}

void rnp_pd_get(struct ibv_pd *pd)
{
	atomic_fetch_add(&to_handle(pd)->refs, 1);
	atomic_fetch_add(&to_rnp_pd(pd)->refs, 1);
}

static void release_handle(struct rnp_pd_handle *h)
{
	if (atomic_fetch_sub(&h->refs, 1) > 1)
		return;
	release(h->pd);
	free(h);
}

void rnp_pd_put(struct ibv_pd *pd)
{
	atomic_fetch_sub(&to_rnp_pd(pd)->refs, 1);
	release_handle(to_handle(pd));
}

struct ibv_pd *rnp_alloc_pd(struct ibv_context *context)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_pd_handle *h = NULL;
	struct rnp_pd *pd;
	int cancel, rc;

	if (rnp_is_copy(ctx)) {
		errno = EIO;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (pd)
		h = rnp_pd_new_handle(context, pd);
	if (!h) {
		free(pd);
		return NULL;
	}
	atomic_init(&pd->held, 2);
	cancel = rnp_enter(ctx->engine);
	rc = rnp_hca_add(ctx->hca, RNP_HCA_PD);
	if (!rc) {
		pd->number = rnp_hca_new_pd(ctx->hca);
		LIST_INSERT_HEAD(&ctx->pds, pd, link);
	}
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free(h);
		free(pd);
		errno = -rc;
		return NULL;
	}
	h->base.handle = pd->number;
	return &h->base;
}

void rnp_pd_detach(struct rnp_context *ctx, struct rnp_pd *pd)
{
	pd->gone = true;
	rnp_hca_remove(ctx->hca, RNP_HCA_PD);
	LIST_REMOVE(pd, link);
	release(pd);
}

/* 0, EBUSY, or ENOENT: deallocated through another handle. */
static int dealloc(struct rnp_context *ctx, struct rnp_pd *pd)
{
	int cancel = rnp_enter(ctx->engine);
	int err = 0;

	if (pd->gone)
		err = ENOENT;
	else if (atomic_load(&pd->refs))
		err = EBUSY;
	else
		rnp_pd_detach(ctx, pd);
	rnp_leave(ctx->engine, cancel);
	return err;
}

/* Objects that were made on the handle may still be there: it goes with the last. */
void rnp_unimport_pd(struct ibv_pd *base)
{
	if (rnp_pd_is_parent(base))
		(void)rnp_dealloc_parent_domain(base);
	else
		release_handle(to_handle(base));
}

int rnp_dealloc_pd(struct ibv_pd *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_pd_handle *h = to_handle(base);
	int err = 0;

	if (rnp_pd_is_parent(base))
		return rnp_dealloc_parent_domain(base);
	if (!rnp_is_copy(ctx))
		err = dealloc(ctx, h->pd);
	if (!err)
		release_handle(h);
	return err;
}
