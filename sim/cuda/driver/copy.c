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

static const void *pointer(uintptr_t addr)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): operations store addresses */
	return (const void *)addr;
}

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
	return side != SIDE_DEVICE && addr && rn_gpu_find(pointer(addr), NULL) != -EFAULT;
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

/* A copy of one line, and what its sides may be. */
struct line {
	uintptr_t to, from;
	size_t len;
	enum side to_side, from_side;
};

static CUresult copy_line(CUstream handle, struct line l, bool is_sync)
{
	struct CUstream_st *stream;
	CUresult rc = rn_cu_lock_stream(handle, &stream);

	if (rc)
		return rc;
	return rn_cu_leave(
		submit_copy(stream,
			    (struct rn_cu_copy){
				    .to = l.to, .from = l.from, .len = l.len, .rows = 1 },
			    l.to_side, l.from_side, is_sync));
}

/* ----------------------------------------------------------- copies of a line */
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return copy_line(sync_stream, (struct line){ to, from, len, SIDE_ANY, SIDE_ANY },
			 true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream)
{
	return copy_line(stream, (struct line){ to, from, len, SIDE_ANY, SIDE_ANY },
			 false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t len)
{
	return copy_line(
		sync_stream,
		(struct line){ to, (uintptr_t)from, len, SIDE_DEVICE, SIDE_HOST }, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t len,
			      CUstream stream)
{
	return copy_line(
		stream, (struct line){ to, (uintptr_t)from, len, SIDE_DEVICE, SIDE_HOST },
		false);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t len)
{
	return copy_line(
		sync_stream,
		(struct line){ (uintptr_t)to, from, len, SIDE_HOST, SIDE_DEVICE }, true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t len, CUstream stream)
{
	return copy_line(
		stream, (struct line){ (uintptr_t)to, from, len, SIDE_HOST, SIDE_DEVICE },
		false);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return copy_line(sync_stream,
			 (struct line){ to, from, len, SIDE_DEVICE, SIDE_DEVICE }, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t len,
			      CUstream stream)
{
	return copy_line(stream, (struct line){ to, from, len, SIDE_DEVICE, SIDE_DEVICE },
			 false);
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
/* One side of a copy of a rectangle. */
struct corner {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, pitch;
};

/* Finds the start of a rectangle. Returns false if it does not make sense. */
static bool find_start(const struct corner *c, uintptr_t *start, enum side *side)
{
	size_t offset;

	*start =
		c->type == CU_MEMORYTYPE_HOST ? (uintptr_t)c->host : (uintptr_t)c->device;
	*side = SIDE_ANY;
	if (c->type == CU_MEMORYTYPE_DEVICE)
		*side = SIDE_DEVICE;
	return c->type != CU_MEMORYTYPE_ARRAY && c->type >= CU_MEMORYTYPE_HOST &&
	       c->type <= CU_MEMORYTYPE_UNIFIED && *start &&
	       !__builtin_mul_overflow(c->y, c->pitch, &offset) &&
	       !__builtin_add_overflow(offset, c->x, &offset) &&
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
	struct corner there, here;
	enum side to, from;
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	c.len = p->WidthInBytes;
	c.rows = p->Height;
	c.to_pitch = p->dstPitch;
	c.from_pitch = p->srcPitch;
	if (!fits(p->dstXInBytes, c.len, c.rows, &c.to_pitch) ||
	    !fits(p->srcXInBytes, c.len, c.rows, &c.from_pitch))
		return CUDA_ERROR_INVALID_VALUE;
	there = (struct corner){ p->dstMemoryType, p->dstHost, p->dstDevice,
				 p->dstXInBytes,   p->dstY,    c.to_pitch };
	here = (struct corner){ p->srcMemoryType, p->srcHost, p->srcDevice,
				p->srcXInBytes,	  p->srcY,    c.from_pitch };
	if (!find_start(&there, &c.to, &to) || !find_start(&here, &c.from, &from))
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

static CUresult fill(CUstream handle, struct rn_cu_fill f, bool is_sync)
{
	struct CUstream_st *stream;
	size_t all;
	CUresult rc = rn_cu_lock_stream(handle, &stream);

	if (rc)
		return rc;
	if (f.rows > 1 &&
	    (f.pitch < f.count || __builtin_mul_overflow(f.pitch, f.rows, &all)))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(submit_fill(stream, f, is_sync));
}

/* Fills @count values of @size bytes each, one behind the other. */
static CUresult fill_values(CUstream handle, CUdeviceptr to, uint32_t value,
			    unsigned size, size_t count, bool is_sync)
{
	return fill(handle,
		    (struct rn_cu_fill){ .to = to,
					 .value = value,
					 .size = size,
					 .count = count,
					 .rows = 1 },
		    is_sync);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return fill_values(sync_stream, to, value, 1, count, true);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	return fill_values(sync_stream, to, value, 2, count, true);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	return fill_values(sync_stream, to, value, 4, count, true);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			 size_t height)
{
	return fill(sync_stream,
		    (struct rn_cu_fill){ .to = to,
					 .pitch = pitch,
					 .value = value,
					 .size = 1,
					 .count = width,
					 .rows = height },
		    true);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
			 CUstream stream)
{
	return fill_values(stream, to, value, 1, count, false);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
			  CUstream stream)
{
	return fill_values(stream, to, value, 2, count, false);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
			  CUstream stream)
{
	return fill_values(stream, to, value, 4, count, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
			   size_t width, size_t height, CUstream stream)
{
	return fill(stream,
		    (struct rn_cu_fill){ .to = to,
					 .pitch = pitch,
					 .value = value,
					 .size = 1,
					 .count = width,
					 .rows = height },
		    false);
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
