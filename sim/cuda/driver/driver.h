/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.h - what the files of the driver API share. */
#ifndef RN_CU_DRIVER_INTERNAL_H
#define RN_CU_DRIVER_INTERNAL_H

#include "sim/cuda/process/process.h"

/* Stands for a default stream in calls for programs that have one in each thread. */
static inline CUstream rn_cu_ptsz(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

/* Unlocks, and returns @rc: the end of a call. */
static inline CUresult rn_cu_leave(CUresult rc)
{
	rn_cu_unlock();
	return rc;
}

/* Returns the device of a call that needs no context. Fails as rn_cu_lock() or with
 * CUDA_ERROR_INVALID_DEVICE; after an error the lock is not held.
 */
static inline CUresult rn_cu_lock_device(CUdevice number, struct rn_cu_device **d)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	*d = rn_cu_device_of(number);
	return *d ? CUDA_SUCCESS : rn_cu_leave(CUDA_ERROR_INVALID_DEVICE);
}

/* Takes the lock and finds the stream of a call. After an error the lock is not held. */
static inline CUresult rn_cu_lock_stream(CUstream handle, struct CUstream_st **stream)
{
	struct CUctx_st *ctx = NULL;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	*stream = rn_cu_stream_of(ctx, handle);
	if (!*stream)
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	return (*stream)->ctx->error ? rn_cu_leave((*stream)->ctx->error) : CUDA_SUCCESS;
}

#endif /* RN_CU_DRIVER_INTERNAL_H */
