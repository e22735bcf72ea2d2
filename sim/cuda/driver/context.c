/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - the driver API: primary contexts, contexts and their settings. */
#include <string.h>

#include "driver.h"

/* -------------------------------------------------------- primary contexts */
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!ctx)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = rn_cu_primary_retain(d);
	if (!rc)
		*ctx = &d->primary;
	return rn_cu_leave(rc);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!rn_cu_is_context(&d->primary))
		return rn_cu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (--d->primary.retained == 0)
		rn_cu_context_destroy(&d->primary);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (rn_cu_is_context(&d->primary))
		rn_cu_context_destroy(&d->primary);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	d->primary.flags = flags;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	struct rn_cu_device *d;
	CUresult rc = rn_cu_lock_device(device, &d);

	if (rc)
		return rc;
	if (!flags || !active)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = d->primary.flags;
	*active = rn_cu_is_context(&d->primary);
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ---------------------------------------------------------------- contexts */
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice device)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	return rn_cu_leave(ctx ? rn_cu_context_create(ctx, flags, device)
			       : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxCreate_v3(CUcontext *ctx, void *affinity, int count, unsigned int flags,
			CUdevice device)
{
	return affinity || count ? CUDA_ERROR_NOT_SUPPORTED
				 : cuCtxCreate_v2(ctx, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned int flags, CUdevice device)
{
	return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(ctx, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!rn_cu_is_context(ctx) || ctx->is_primary)
		return rn_cu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (rn_cu_current() == ctx)
		(void)rn_cu_pop_context(NULL);
	rn_cu_context_destroy(ctx);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult rc = rn_cu_lock();

	return rc ? rc : rn_cu_leave(rn_cu_push_context(ctx));
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	CUresult rc = rn_cu_lock();

	return rc ? rc : rn_cu_leave(rn_cu_pop_context(ctx));
}

CUresult cuCtxPopCurrent(CUcontext *ctx)
{
	return cuCtxPopCurrent_v2(ctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult rc = rn_cu_lock();

	return rc ? rc : rn_cu_leave(rn_cu_set_current(ctx));
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!ctx)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*ctx = rn_cu_current();
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (device)
		*device = ctx->device;
	return rn_cu_leave(device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Takes the lock. @ctx: NULL stands for the current context. */
static CUresult lock_named(CUcontext ctx, struct CUctx_st **found)
{
	CUresult rc;

	if (!ctx)
		return rn_cu_lock_context(found);
	rc = rn_cu_lock();
	if (rc)
		return rc;
	*found = ctx;
	return rn_cu_is_context(ctx) ? CUDA_SUCCESS
				     : rn_cu_leave(CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct CUctx_st *c;
	CUresult rc = lock_named(ctx, &c);

	if (rc)
		return rc;
	if (device)
		*device = c->device;
	return rn_cu_leave(device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (flags)
		*flags = ctx->flags;
	return rn_cu_leave(flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	ctx->flags = flags;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct CUctx_st *c;
	CUresult rc = lock_named(ctx, &c);

	if (rc)
		return rc;
	if (id)
		*id = c->id;
	return rn_cu_leave(id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct CUctx_st *c;
	CUresult rc = lock_named(ctx, &c);

	if (rc)
		return rc;
	/* The version of contexts of cuCtxCreate_v2(), which has not changed since. */
	if (version)
		*version = 3020;
	return rn_cu_leave(version ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ---------------------------------------------------------------- settings */
/* Limits and cache configurations are kept for the whole process: nothing obeys them,
 * since no machine code of a GPU is executed.
 */
enum {
	LIMITS = 8,
	CACHE_CONFIGS = 4,
};

static size_t limits[LIMITS] = { 1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0 };
static int cache_config;

CUresult cuCtxGetLimit(size_t *value, int limit)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!value || limit < 0 || limit >= LIMITS)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = limits[limit];
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetLimit(int limit, size_t value)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (limit < 0 || limit >= LIMITS)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	limits[limit] = value;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCacheConfig(int *config)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (config)
		*config = cache_config;
	return rn_cu_leave(config ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxSetCacheConfig(int config)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (config < 0 || config >= CACHE_CONFIGS)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	cache_config = config;
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ----------------------------------------------- waits, and access to peers */
CUresult cuCtxSynchronize(void)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	return rc ? rc : rn_cu_leave(rn_cu_context_sync(ctx));
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct CUctx_st *c;
	CUresult rc = lock_named(ctx, &c);

	return rc ? rc : rn_cu_leave(rn_cu_context_sync(c));
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (flags)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!rn_cu_is_context(peer) || peer == ctx)
		return rn_cu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (peer->device == ctx->device)
		return rn_cu_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	if (ctx->peers & 1U << peer->device)
		return rn_cu_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	ctx->peers |= 1U << peer->device;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!rn_cu_is_context(peer))
		return rn_cu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!(ctx->peers & 1U << peer->device))
		return rn_cu_leave(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	ctx->peers &= ~(1U << peer->device);
	return rn_cu_leave(CUDA_SUCCESS);
}
