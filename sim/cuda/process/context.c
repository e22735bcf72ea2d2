/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - the lives of contexts. */
#include <stdlib.h>

#include "process.h"

/* Fills in a context whose device is set, and makes its legacy stream. */
static CUresult begin_context(struct CUctx_st *ctx, unsigned flags)
{
	CUresult rc = rn_cu_workers_start(&rn_cu.device[ctx->device]);

	if (rc)
		return rc;
	ctx->flags = flags;
	ctx->id = ++rn_cu.next_id;
	ctx->error = CUDA_SUCCESS;
	ctx->peers = 0;
	ctx->group = (struct rn_cu_group){ 0 };
	rn_list_init(&ctx->streams);
	rn_list_init(&ctx->events);
	rn_list_init(&ctx->modules);
	rc = rn_cu_stream_create(ctx, 0, 0, RN_CU_LEGACY, &ctx->legacy);
	if (!rc) {
		rn_list_init(&ctx->link);
		rn_list_push_back(&rn_cu.contexts, &ctx->link);
	}
	return rc;
}

CUresult rn_cu_context_create(struct CUctx_st **ctx, unsigned flags, CUdevice device)
{
	struct CUctx_st *c;
	CUresult rc;

	if (!rn_cu_device_of(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->device = device;
	rc = begin_context(c, flags);
	if (!rc)
		rc = rn_cu_push_context(c);
	if (rc) {
		free(c);
		return rc;
	}
	*ctx = c;
	return CUDA_SUCCESS;
}

CUresult rn_cu_primary_retain(struct rn_cu_device *d)
{
	CUresult rc = CUDA_SUCCESS;

	if (!rn_cu_is_context(&d->primary))
		rc = begin_context(&d->primary, d->primary.flags);
	if (!rc)
		d->primary.retained++;
	return rc;
}

/* Frees the memory of the context, that of pools included. */
static void release_memory(const struct CUctx_st *ctx)
{
	for (size_t i = rn_cu.ranges.count; i-- > 0;) {
		struct rn_cu_memory *m = RN_CONTAINER_OF(rn_cu.ranges.range[i],
							 struct rn_cu_memory, range);

		if (m->ctx == ctx)
			rn_cu_release(m);
	}
}

static void free_modules(struct CUctx_st *ctx)
{
	struct rn_list *at, *next;

	rn_list_for_each_safe (at, next, &ctx->modules)
		free(at); /* the link is the first member of a module */
}

void rn_cu_context_destroy(struct CUctx_st *ctx)
{
	struct rn_list *at, *next;

	(void)rn_cu_context_sync(ctx);
	rn_list_remove(&ctx->link);
	rn_list_for_each_safe (at, next, &ctx->events)
		rn_cu_event_destroy(RN_CONTAINER_OF(at, struct CUevent_st, link));
	rn_list_for_each_safe (at, next, &ctx->streams)
		rn_cu_stream_destroy(RN_CONTAINER_OF(at, struct CUstream_st, link));
	while (!rn_list_is_empty(&ctx->streams)) {
		rn_cu_streams_reap(&rn_cu.device[ctx->device]);
		if (!rn_list_is_empty(&ctx->streams))
			rn_cu_wait(rn_cu_now() + RN_MSEC(100));
	}
	free_modules(ctx);
	release_memory(ctx);
	ctx->retained = 0;
	if (!ctx->is_primary)
		free(ctx);
}
