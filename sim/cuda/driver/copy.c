/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* copy.c - the driver API: copies and memsets, at once and in the order of streams.
 *
 * A synchronous call is an operation of the default stream that the caller waits for. So
 * is an asynchronous copy from or to host memory that is neither allocated by CUDA nor
 * registered: it may be changed or freed as soon as the call returns.
 */
#include <errno.h>

#include "driver.h"

/* Stream of synchronous calls in this thread: that of the thread during a call whose name
 * ends in _ptds.
 */
static __thread CUstream sync_stream;

/* What a side of a copy may be. */
enum side {
	SIDE_ANY,
	SIDE_DEVICE, /* memory that CUDA knows */
	SIDE_HOST,
};

/* Returns the memory of one line of a copy. Returns false if the addresses are no memory
 * for this side. Sets *@m to NULL for host memory that CUDA does not know.
 */
static bool find_side(enum side side, uintptr_t addr, size_t len,
		      const struct rn_cu_memory **m)
{
	*m = rn_cu_memory_of(addr);
	if (*m)
		return rn_cu_memory_hold(addr, len) && !(*m)->is_being_freed;
	/* Memory of a GPU that is not allocated is no host memory. */
	return side != SIDE_DEVICE && addr &&
	       rn_gpu_find((const void *)addr, NULL) != -EFAULT;
}

static int device_of(const struct rn_cu_memory *from, const struct rn_cu_memory *to)
{
	if (from && from->kind == RN_CU_DEVICE_MEMORY)
		return from->device;
	return to && to->kind == RN_CU_DEVICE_MEMORY ? to->device : -1;
}

static size_t span(size_t len, size_t rows, size_t pitch)
{
	return (rows - 1) * pitch + len;
}

/* Copies @c; the sides say what its addresses may be. */
static CUresult submit_copy(struct CUstream_st *stream, struct rn_cu_copy c,
			    enum side to_side, enum side from_side, bool is_sync)
{
	const struct rn_cu_memory *to, *from;
	struct rn_cu_work *w;
	CUresult rc;

	if (!c.len || !c.rows)
		return CUDA_SUCCESS;
	if (!find_side(to_side, c.to, span(c.len, c.rows, c.to_pitch), &to) ||
	    !find_side(from_side, c.from, span(c.len, c.rows, c.from_pitch), &from))
		return CUDA_ERROR_INVALID_VALUE;
	w = rn_cu_work_new(RN_CU_COPY);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->copy = c;
	w->copy.device = device_of(from, to);
	rc = rn_cu_submit(stream, w, is_sync || !to || !from);
	return rc == CUDA_ERROR_ILLEGAL_ADDRESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

static CUresult copy_line(CUstream handle, uintptr_t to, enum side to_side,
			  uintptr_t from, enum side from_side, size_t len, bool is_sync)
{
	struct CUstream_st *stream;
	CUresult rc = rn_cu_lock_stream(handle, &stream);

	if (rc)
		return rc;
	return rn_cu_leave(submit_copy(
		stream,
		(struct rn_cu_copy){ .to = to, .from = from, .len = len, .rows = 1 },
		to_side, from_side, is_sync));
}

/* ----------------------------------------------------------- copies of a line */
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return copy_line(sync_stream, to, SIDE_ANY, from, SIDE_ANY, len, true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream)
{
	return copy_line(stream, to, SIDE_ANY, from, SIDE_ANY, len, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t len)
{
	return copy_line(sync_stream, to, SIDE_DEVICE, (uintptr_t)from, SIDE_HOST, len,
			 true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t len,
			      CUstream stream)
{
	return copy_line(stream, to, SIDE_DEVICE, (uintptr_t)from, SIDE_HOST, len, false);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t len)
{
	return copy_line(sync_stream, (uintptr_t)to, SIDE_HOST, from, SIDE_DEVICE, len,
			 true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t len, CUstream stream)
{
	return copy_line(stream, (uintptr_t)to, SIDE_HOST, from, SIDE_DEVICE, len, false);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return copy_line(sync_stream, to, SIDE_DEVICE, from, SIDE_DEVICE, len, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t len,
			      CUstream stream)
{
	return copy_line(stream, to, SIDE_DEVICE, from, SIDE_DEVICE, len, false);
}

static CUresult check_peers(CUcontext to_ctx, CUcontext from_ctx)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	return rn_cu_leave(rn_cu_is_context(to_ctx) && rn_cu_is_context(from_ctx)
				   ? CUDA_SUCCESS
				   : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
		      CUcontext from_ctx, size_t len)
{
	CUresult rc = check_peers(to_ctx, from_ctx);

	return rc ? rc : cuMemcpyDtoD_v2(to, from, len);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
			   CUcontext from_ctx, size_t len, CUstream stream)
{
	CUresult rc = check_peers(to_ctx, from_ctx);

	return rc ? rc : cuMemcpyDtoDAsync_v2(to, from, len, stream);
}

/* -------------------------------------------------------- copies of rectangles */
/* Finds the start of a rectangle. Returns false if it does not make sense. */
static bool find_start(CUmemorytype type, const void *host, CUdeviceptr device, size_t x,
		       size_t y, size_t pitch, uintptr_t *start, enum side *side)
{
	size_t offset;

	*start = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
	*side = SIDE_ANY;
	if (type == CU_MEMORYTYPE_DEVICE)
		*side = SIDE_DEVICE;
	return type != CU_MEMORYTYPE_ARRAY && type >= CU_MEMORYTYPE_HOST &&
	       type <= CU_MEMORYTYPE_UNIFIED && *start &&
	       !__builtin_mul_overflow(y, pitch, &offset) &&
	       !__builtin_add_overflow(offset, x, &offset) &&
	       !__builtin_add_overflow(*start, offset, start);
}

static bool fits(size_t x, size_t width, size_t height, size_t *pitch)
{
	size_t end, all;

	if (__builtin_add_overflow(x, width, &end))
		return false;
	if (!*pitch)
		*pitch = end;
	return *pitch >= end && !__builtin_mul_overflow(*pitch, height, &all) &&
	       all <= SIZE_MAX / 2;
}

static CUresult copy_rectangle(CUstream handle, const CUDA_MEMCPY2D *p, bool is_sync)
{
	struct CUstream_st *stream;
	struct rn_cu_copy c = { 0 };
	enum side to, from;
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	c.len = p->WidthInBytes;
	c.rows = p->Height;
	c.to_pitch = p->dstPitch;
	c.from_pitch = p->srcPitch;
	if (!fits(p->dstXInBytes, c.len, c.rows, &c.to_pitch) ||
	    !fits(p->srcXInBytes, c.len, c.rows, &c.from_pitch) ||
	    !find_start(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes,
			p->dstY, c.to_pitch, &c.to, &to) ||
	    !find_start(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes,
			p->srcY, c.from_pitch, &c.from, &from))
		return CUDA_ERROR_INVALID_VALUE;
	rc = rn_cu_lock_stream(handle, &stream);
	return rc ? rc : rn_cu_leave(submit_copy(stream, c, to, from, is_sync));
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
	return copy_rectangle(sync_stream, copy, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	return copy_rectangle(sync_stream, copy, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return copy_rectangle(stream, copy, false);
}

/* ----------------------------------------------------------------- memsets */
static CUresult submit_fill(struct CUstream_st *stream, struct rn_cu_fill f, bool is_sync)
{
	const struct rn_cu_memory *to;
	struct rn_cu_work *w;
	size_t len;

	if (!f.count || !f.rows)
		return CUDA_SUCCESS;
	if (__builtin_mul_overflow(f.count, f.size, &len) || f.to % f.size ||
	    len > SIZE_MAX / 4 ||
	    !find_side(SIDE_DEVICE, f.to, span(len, f.rows, f.pitch), &to))
		return CUDA_ERROR_INVALID_VALUE;
	w = rn_cu_work_new(RN_CU_FILL);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->fill = f;
	return rn_cu_submit(stream, w, is_sync);
}

static CUresult fill(CUstream handle, CUdeviceptr to, size_t pitch, uint32_t value,
		     unsigned size, size_t width, size_t height, bool is_sync)
{
	struct CUstream_st *stream;
	size_t all;
	CUresult rc = rn_cu_lock_stream(handle, &stream);

	if (rc)
		return rc;
	if (height > 1 && (pitch < width || __builtin_mul_overflow(pitch, height, &all)))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(submit_fill(stream,
				       (struct rn_cu_fill){ .to = to,
							    .count = width,
							    .rows = height,
							    .pitch = pitch,
							    .value = value,
							    .size = size },
				       is_sync));
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return fill(sync_stream, to, 0, value, 1, count, 1, true);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	return fill(sync_stream, to, 0, value, 2, count, 1, true);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	return fill(sync_stream, to, 0, value, 4, count, 1, true);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			 size_t height)
{
	return fill(sync_stream, to, pitch, value, 1, width, height, true);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
			 CUstream stream)
{
	return fill(stream, to, 0, value, 1, count, 1, false);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
			  CUstream stream)
{
	return fill(stream, to, 0, value, 2, count, 1, false);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
			  CUstream stream)
{
	return fill(stream, to, 0, value, 4, count, 1, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
			   size_t width, size_t height, CUstream stream)
{
	return fill(stream, to, pitch, value, 1, width, height, false);
}

/* ------------------------------------- calls for one default stream a thread */
#define DEFINE_DS(name, params, call)               \
	CUresult name##_ptds params                 \
	{                                           \
		CUresult rc;                        \
                                                    \
		sync_stream = CU_STREAM_PER_THREAD; \
		rc = name call;                     \
		sync_stream = NULL;                 \
		return rc;                          \
	}
#define DEFINE_SZ(name, params, call) \
	CUresult name##_ptsz params   \
	{                             \
		return name call;     \
	}
RN_CU_COPIES(DEFINE_DS)
RN_CU_ASYNC_COPIES(DEFINE_SZ)
