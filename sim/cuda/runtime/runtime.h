/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime.h - what the files of the runtime API share.
 *
 * The runtime is made of calls of the driver API alone. A thread uses the primary context
 * of its device, which the first call that needs one retains.
 *
 * device.c	devices, errors and the context of a thread
 * memory.c	allocation, copies, what a pointer is
 * stream.c	streams and events
 * kernel.c	what a compiled program registers, and launches
 */
#ifndef RN_CU_RUNTIME_INTERNAL_H
#define RN_CU_RUNTIME_INTERNAL_H

#include "rocin/types.h"
#include "sim/cuda/api/runtime.h"

static inline cudaStream_t rn_cu_rt_ptsz(cudaStream_t stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

static inline CUdeviceptr rn_cu_rt_ptr(const void *ptr)
{
	return (uintptr_t)ptr;
}

/* Makes the context of this thread's device current. Returns the error of a call. */
cudaError_t rn_cu_rt_begin(void);

/* Remembers an error for cudaGetLastError(). The numbers are those of the driver. Returns
 * the error of a call. CUDA_ERROR_NOT_READY is none.
 */
cudaError_t rn_cu_rt_end(CUresult result);

/* Begins, makes a call of the driver and ends. */
#define RN_CU_RT(call)                              \
	({                                          \
		cudaError_t rc_ = rn_cu_rt_begin(); \
                                                    \
		rc_ ? rc_ : rn_cu_rt_end(call);     \
	})

#endif /* RN_CU_RUNTIME_INTERNAL_H */
