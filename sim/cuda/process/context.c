/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - the lives of contexts. */
#include <stdlib.h>

#include "process.h"

/* Fills in a context whose device is set, and makes its legacy stream. */
static CUresult begin_context(struct CUctx_st *ctx, unsigned flags)
{
	CUresult rc = rn_cuda_workers_start(&rn_cuda.device[ctx->device]);

	if (rc)
		return rc;
	ctx->flags = flags;
	ctx->id = ++rn_cuda.next_id;
	ctx->error = CUDA_SUCCESS;
	ctx->peers = 0;
	ctx->group = (struct rn_cuda_group){ 0 };
	rn_list_init(&ctx->streams);
	rn_list_init(&ctx->events);
	rn_list_init(&ctx->modules);
	rc = rn_cuda_stream_create(ctx, 0, 0, RN_CUDA_LEGACY, &ctx->legacy);
	if (!rc) {
		rn_list_init(&ctx->link);
		rn_list_push_back(&rn_cuda.contexts, &ctx->link);
	}
	return rc;
}

CUresult rn_cuda_context_create(struct CUctx_st **ctx, unsigned flags, CUdevice device)
{
	struct CUctx_st *c;
	CUresult rc;

	if (!rn_cuda_device_of(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->device = device;
	rc = begin_context(c, flags);
	if (!rc)
		rc = rn_cuda_push_context(c);
	if (rc) {
		free(c);
		return rc;
	}
	*ctx = c;
	return CUDA_SUCCESS;
}

CUresult rn_cuda_primary_retain(struct rn_cuda_device *d)
{
	CUresult rc = CUDA_SUCCESS;

	if (!rn_cuda_is_context(&d->primary))
		rc = begin_context(&d->primary, d->primary.flags);
	if (!rc)
		d->primary.retained++;
	return rc;
}

/* Frees the memory of the context, that of pools included. */
static void release_memory(const struct CUctx_st *ctx)
{
	for (size_t i = rn_cuda.ranges.count; i-- > 0;) {
		struct rn_cuda_memory *m = RN_CONTAINER_OF(rn_cuda.ranges.range[i],
							   struct rn_cuda_memory, range);

		if (m->ctx == ctx)
			rn_cuda_release(m);
	}
}

static void free_modules(struct CUctx_st *ctx)
{
	struct rn_list *at, *next;

	rn_list_for_each_safe (at, next, &ctx->modules)
		free(at); /* the link is the first member of a module */
}

void rn_cuda_context_destroy(struct CUctx_st *ctx)
{
	struct rn_list *at, *next;

	(void)rn_cuda_context_sync(ctx);
	rn_list_remove(&ctx->link);
	rn_list_for_each_safe (at, next, &ctx->events)
		rn_cuda_event_destroy(RN_CONTAINER_OF(at, struct CUevent_st, link));
	rn_list_for_each_safe (at, next, &ctx->streams)
		rn_cuda_stream_destroy(RN_CONTAINER_OF(at, struct CUstream_st, link));
	while (!rn_list_is_empty(&ctx->streams)) {
		rn_cuda_streams_reap(&rn_cuda.device[ctx->device]);
		if (!rn_list_is_empty(&ctx->streams))
			rn_cuda_wait(rn_cuda_now() + RN_MSEC(100));
	}
	free_modules(ctx);
	release_memory(ctx);
	ctx->retained = 0;
	if (!ctx->is_primary)
		free(ctx);
}
