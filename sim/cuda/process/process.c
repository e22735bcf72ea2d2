/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.c - initialisation, the lock, and the contexts that a thread uses. */
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	STACK_MAX = 64, /* depth of a thread's stack of contexts */
};

struct rn_cu_process rn_cu = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* The contexts that this thread has pushed. A context may have been destroyed since; its
 * number tells it from another one at the same address.
 */
static __thread struct {
	unsigned depth;
	struct {
		struct CUctx_st *ctx;
		unsigned long long id;
	} at[STACK_MAX];
} stack;

/* ---------------------------------------------------------- initialisation */
static void in_child(void)
{
	atomic_store(&rn_cu.is_forked, true);
}

static void init_once(void)
{
	int count = rn_gpu_count();

	rn_list_init(&rn_cu.contexts);
	rn_list_init(&rn_cu.pools);
	for (int i = 0; i < count && i < RN_CU_DEVICES; i++) {
		struct rn_cu_device *d = &rn_cu.device[i];

		d->gpu = rn_gpu_open(i);
		if (!d->gpu)
			break;
		rn_cu_sched_init(&d->sched, 0);
		d->primary.device = i;
		d->primary.is_primary = true;
		rn_cu.count++;
	}
	pthread_atfork(NULL, NULL, in_child);
	if (rn_cu.count)
		atomic_store(&rn_cu.is_initialized, true);
}

CUresult rn_cu_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (atomic_load(&rn_cu.is_forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_once(&once, init_once);
	return rn_cu.count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* -------------------------------------------------------------------- lock */
CUresult rn_cu_lock(void)
{
	if (!atomic_load(&rn_cu.is_initialized) || atomic_load(&rn_cu.is_forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&rn_cu.lock);
	return CUDA_SUCCESS;
}

CUresult rn_cu_lock_context(struct CUctx_st **ctx)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	*ctx = rn_cu_current();
	if (*ctx && !(*ctx)->error)
		return CUDA_SUCCESS;
	if (*ctx)
		rc = (*ctx)->error;
	else
		rc = stack.depth ? CUDA_ERROR_CONTEXT_IS_DESTROYED
				 : CUDA_ERROR_INVALID_CONTEXT;
	rn_cu_unlock();
	return rc;
}

void rn_cu_unlock(void)
{
	pthread_mutex_unlock(&rn_cu.lock);
}

void rn_cu_wait(rn_ns until)
{
	struct timespec end = { .tv_sec = until / 1000000000,
				.tv_nsec = until % 1000000000 };

	/* librocin-gpu has a pthread_cond_wait() without a version, which a library that
	 * is linked with it must not call; this one has one version only.
	 */
	pthread_cond_clockwait(&rn_cu.changed, &rn_cu.lock, CLOCK_MONOTONIC, &end);
}

void rn_cu_tell(void)
{
	pthread_cond_broadcast(&rn_cu.changed);
}

rn_ns rn_cu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (rn_ns)1000000000 + now.tv_nsec;
}

CUresult rn_cu_result(int err)
{
	switch (err) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
	case -EMFILE:
	case -EAGAIN:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -ENODEV:
		return CUDA_ERROR_INVALID_DEVICE;
	case -EFAULT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

struct rn_cu_device *rn_cu_device_of(CUdevice number)
{
	return number >= 0 && number < rn_cu.count ? &rn_cu.device[number] : NULL;
}

/* ---------------------------------------------------- a thread's contexts */
bool rn_cu_is_context(const struct CUctx_st *ctx)
{
	struct rn_list *at;

	rn_list_for_each (at, &rn_cu.contexts)
		if (RN_CONTAINER_OF(at, struct CUctx_st, link) == ctx)
			return true;
	return false;
}

struct CUctx_st *rn_cu_current(void)
{
	struct CUctx_st *ctx = stack.depth ? stack.at[stack.depth - 1].ctx : NULL;

	if (!ctx || !rn_cu_is_context(ctx) || ctx->id != stack.at[stack.depth - 1].id)
		return NULL;
	return ctx;
}

CUresult rn_cu_push_context(struct CUctx_st *ctx)
{
	if (!rn_cu_is_context(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.at[stack.depth].ctx = ctx;
	stack.at[stack.depth].id = ctx->id;
	stack.depth++;
	return CUDA_SUCCESS;
}

CUresult rn_cu_pop_context(struct CUctx_st **ctx)
{
	if (!stack.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx)
		*ctx = stack.at[stack.depth - 1].ctx;
	stack.depth--;
	return CUDA_SUCCESS;
}

CUresult rn_cu_set_current(struct CUctx_st *ctx)
{
	if (ctx && !rn_cu_is_context(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth)
		stack.depth--;
	return ctx ? rn_cu_push_context(ctx) : CUDA_SUCCESS;
}
