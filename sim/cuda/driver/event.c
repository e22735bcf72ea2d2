/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - the driver API: events. */
#include <stdlib.h>

#include "driver.h"

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!event || flags > 7 ||
	    ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (flags & CU_EVENT_INTERPROCESS)
		return rn_cu_leave(CUDA_ERROR_NOT_SUPPORTED);
	return rn_cu_leave(rn_cu_event_create(ctx, flags, event));
}

CUresult cuEventDestroy_v2(CUevent event)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!rn_cu_is_event(event))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	rn_cu_event_destroy(event);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent event)
{
	return cuEventDestroy_v2(event);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	struct rn_cu_mark *mark;
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (!rn_cu_is_event(event))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (flags > 1)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (event->ctx->device != s->ctx->device)
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	w = rn_cu_work_new(RN_CU_MARK);
	mark = rn_cu_mark_new();
	if (!w || !mark) {
		free(w);
		free(mark);
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	mark->users = 2; /* the operation and the event */
	w->op.carries = mark;
	rn_cu_mark_put(event->mark);
	event->mark = mark;
	return rn_cu_leave(rn_cu_submit(s, w, false));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (!rn_cu_is_event(event))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (flags > 1)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!event->mark || event->mark->is_reached)
		return rn_cu_leave(CUDA_SUCCESS);
	w = rn_cu_work_new(RN_CU_MARK);
	if (!w)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	event->mark->users++;
	w->op.waits_for = event->mark;
	return rn_cu_leave(rn_cu_submit(s, w, false));
}

/* Takes the lock, and finds out whether there is such an event. */
static CUresult lock_event(CUevent event)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!rn_cu_is_event(event))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	return event->ctx->error ? rn_cu_leave(event->ctx->error) : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
	CUresult rc = lock_event(event);

	if (rc)
		return rc;
	return rn_cu_leave(event->mark && !event->mark->is_reached ? CUDA_ERROR_NOT_READY
								   : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event)
{
	CUresult rc = lock_event(event);

	if (rc)
		return rc;
	if (event->mark) {
		event->mark->users++;
		(void)rn_cu_mark_wait(event->mark);
		rc = rn_cu_is_event(event) ? event->ctx->error : CUDA_SUCCESS;
	}
	return rn_cu_leave(rc);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult rc = lock_event(start);

	if (rc)
		return rc;
	if (!rn_cu_is_event(end))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!ms)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!start->mark || !end->mark ||
	    (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!start->mark->is_reached || !end->mark->is_reached)
		return rn_cu_leave(CUDA_ERROR_NOT_READY);
	*ms = (float)(end->mark->when - start->mark->when) / 1e6F;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime(ms, start, end);
}
