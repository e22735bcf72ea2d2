/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream.c - the driver API: streams, host functions and stream memory operations. */
#include <string.h>

#include "driver.h"

/* NOLINTBEGIN(readability-function-size): the parameters are those of the API */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!stream || flags > CU_STREAM_NON_BLOCKING)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (priority > 0)
		priority = 0;
	if (priority < -5)
		priority = -5;
	return rn_cu_leave(
		rn_cu_stream_create(ctx, flags, priority,
				    flags ? RN_CU_NON_BLOCKING : RN_CU_BLOCKING, stream));
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	s = (uintptr_t)stream > 2 ? rn_cu_stream_of(NULL, stream) : NULL;
	if (!s || s->core.kind == RN_CU_LEGACY || s->is_of_thread)
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	rn_cu_stream_destroy(s);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy(CUstream stream)
{
	return cuStreamDestroy_v2(stream);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	return rc ? rc : rn_cu_leave(rn_cu_stream_sync(s));
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	return rn_cu_leave(rn_cu_stream_is_idle(&s->core) ? CUDA_SUCCESS
							  : CUDA_ERROR_NOT_READY);
}

/* ------------------------------------------------------ what a stream is */
CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (flags)
		*flags = s->flags;
	return rn_cu_leave(flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (priority)
		*priority = s->priority;
	return rn_cu_leave(priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (ctx)
		*ctx = s->ctx;
	return rn_cu_leave(ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (id)
		*id = s->id;
	return rn_cu_leave(id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (device)
		*device = s->ctx->device;
	return rn_cu_leave(device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Graphs are not there, so no stream is ever captured. */
CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (status)
		*status = 0;
	return rn_cu_leave(status ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, uint64_t *id,
				   CUgraph *graph, const void **dependencies,
				   size_t *count)
{
	(void)id;
	(void)graph;
	(void)dependencies;
	(void)count;
	return cuStreamIsCapturing(stream, status);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, uint64_t *id,
				   CUgraph *graph, const void **dependencies,
				   const void **edges, size_t *count)
{
	(void)edges;
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
	static __thread int current;
	int old = current;

	if (!mode || *mode < 0 || *mode > 2)
		return CUDA_ERROR_INVALID_VALUE;
	current = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t len,
				unsigned int flags)
{
	const struct rn_cu_memory *m;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	m = rn_cu_memory_of(ptr);
	if (!m || m->kind != RN_CU_MANAGED_MEMORY || (len && len != m->range.len) ||
	    !flags || flags > CU_MEM_ATTACH_SINGLE)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(CUDA_SUCCESS);
}

/* ---------------------------------------------------------- host functions */
static CUresult submit_call(CUstream stream, enum rn_cu_work_kind kind,
			    struct rn_cu_call call)
{
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	w = rn_cu_work_new(kind);
	if (!w)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	w->call = call;
	w->call.handle = stream;
	return rn_cu_leave(rn_cu_submit(s, w, false));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	return submit_call(stream, RN_CU_CALL,
			   (struct rn_cu_call){ .fn = fn, .arg = arg });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *arg,
			     unsigned int flags)
{
	if (!fn || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return submit_call(stream, RN_CU_CALLBACK,
			   (struct rn_cu_call){ .callback = fn, .arg = arg });
}

/* ------------------------------------------------ stream memory operations */
static CUresult submit_value(struct CUstream_st *s, enum rn_cu_work_kind kind,
			     struct rn_cu_value v)
{
	struct rn_cu_work *w;

	if (v.at % v.size || !rn_cu_memory_hold(v.at, v.size))
		return CUDA_ERROR_INVALID_VALUE;
	w = rn_cu_work_new(kind);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->value = v;
	return rn_cu_submit(s, w, false);
}

static CUresult wait_value(CUstream stream, CUdeviceptr at, uint64_t value, unsigned size,
			   unsigned flags)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (flags & ~(3U | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(submit_value(s, RN_CU_WAIT_VALUE,
					(struct rn_cu_value){ at, value, size, flags }));
}

static CUresult write_value(CUstream stream, CUdeviceptr at, uint64_t value,
			    unsigned size, unsigned flags)
{
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	return rn_cu_leave(submit_value(s, RN_CU_WRITE_VALUE,
					(struct rn_cu_value){ at, value, size, flags }));
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value,
				unsigned int flags)
{
	return wait_value(stream, at, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr at, uint64_t value,
				unsigned int flags)
{
	return wait_value(stream, at, value, 8, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value,
				 unsigned int flags)
{
	return write_value(stream, at, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr at, uint64_t value,
				 unsigned int flags)
{
	return write_value(stream, at, value, 8, flags);
}

static CUresult submit_flush(CUstream stream)
{
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	w = rn_cu_work_new(RN_CU_FLUSH);
	if (!w)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	return rn_cu_leave(rn_cu_submit(s, w, false));
}

static CUresult submit_mem_op(CUstream stream, const CUstreamBatchMemOpParams *op)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return wait_value(stream, op->waitValue.address, op->waitValue.value, 4,
				  op->waitValue.flags);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return wait_value(stream, op->waitValue.address, op->waitValue.value64, 8,
				  op->waitValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return write_value(stream, op->writeValue.address, op->writeValue.value,
				   4, op->writeValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return write_value(stream, op->writeValue.address, op->writeValue.value64,
				   8, op->writeValue.flags);
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return submit_flush(stream);
	case CU_STREAM_MEM_OP_BARRIER: /* the operations of a batch are in order anyway */
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
			       CUstreamBatchMemOpParams *ops, unsigned int flags)
{
	enum {
		BATCH_MAX = 256
	};
	CUresult rc = CUDA_SUCCESS;

	if (!ops || !count || count > BATCH_MAX || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count && !rc; i++)
		rc = submit_mem_op(stream, &ops[i]);
	return rc;
}
/* NOLINTEND(readability-function-size) */
