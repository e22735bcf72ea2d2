/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream.c - streams and events. */
#include <stdlib.h>

#include "process.h"

/* ----------------------------------------------------------------- streams */
CUresult rn_cu_stream_create(struct CUctx_st *ctx, unsigned flags, int priority,
			     enum rn_cu_stream_kind kind, struct CUstream_st **stream)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority;
	s->core.priority = priority;
	s->id = ++rn_cu.next_id;
	rn_cu_stream_add(&rn_cu.device[ctx->device].sched, &s->core, &ctx->group, kind);
	rn_list_init(&s->link);
	rn_list_push_back(&ctx->streams, &s->link);
	*stream = s;
	return CUDA_SUCCESS;
}

/* Returns the stream of this thread in the context, which the first call makes. */
static struct CUstream_st *stream_of_thread(struct CUctx_st *ctx)
{
	struct CUstream_st *s = NULL;
	struct rn_list *at;

	rn_list_for_each (at, &ctx->streams) {
		s = RN_CONTAINER_OF(at, struct CUstream_st, link);
		if (s->is_of_thread && pthread_equal(s->owner, pthread_self()))
			return s;
	}
	if (rn_cu_stream_create(ctx, 0, 0, RN_CU_BLOCKING, &s))
		return NULL;
	s->is_of_thread = true;
	s->owner = pthread_self();
	return s;
}

struct CUstream_st *rn_cu_stream_of(struct CUctx_st *ctx, CUstream handle)
{
	struct rn_list *c, *at;

	if (!handle || handle == CU_STREAM_LEGACY)
		return ctx ? ctx->legacy : NULL;
	if (handle == CU_STREAM_PER_THREAD)
		return ctx ? stream_of_thread(ctx) : NULL;
	rn_list_for_each (c, &rn_cu.contexts)
		rn_list_for_each (at,
				  &RN_CONTAINER_OF(c, struct CUctx_st, link)->streams) {
			struct CUstream_st *s =
				RN_CONTAINER_OF(at, struct CUstream_st, link);

			if (s == handle && !s->is_dying)
				return s;
		}
	return NULL;
}

void rn_cu_stream_destroy(struct CUstream_st *stream)
{
	stream->is_dying = true;
	rn_cu_streams_reap(&rn_cu.device[stream->ctx->device]);
}

static struct CUstream_st *stream_of_core(struct rn_cu_stream *core)
{
	return RN_CONTAINER_OF(core, struct CUstream_st, core);
}

void rn_cu_streams_reap(struct rn_cu_device *d)
{
	struct rn_list *at, *next;

	rn_list_for_each_safe (at, next, &d->sched.streams) {
		struct CUstream_st *s =
			stream_of_core(RN_CONTAINER_OF(at, struct rn_cu_stream, link));

		if (!s->is_dying || !rn_cu_stream_is_idle(&s->core))
			continue;
		rn_cu_stream_remove(&s->core);
		rn_list_remove(&s->link);
		free(s);
	}
}

/* Submits a mark to the stream. Returns it, or NULL. */
static struct rn_cu_mark *submit_mark(struct CUstream_st *stream)
{
	struct rn_cu_work *w = rn_cu_work_new(RN_CU_MARK);
	struct rn_cu_mark *mark = rn_cu_mark_new();

	if (!w || !mark) {
		free(w);
		free(mark);
		return NULL;
	}
	mark->users = 2;
	w->op.carries = mark;
	(void)rn_cu_submit(stream, w, false);
	return mark;
}

CUresult rn_cu_stream_sync(struct CUstream_st *stream)
{
	unsigned long long id = stream->ctx->id;
	struct CUctx_st *ctx = stream->ctx;
	struct rn_cu_mark *mark;

	if (rn_cu_stream_is_idle(&stream->core) && stream->core.kind != RN_CU_LEGACY)
		return ctx->error;
	mark = submit_mark(stream);
	if (!mark)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(void)rn_cu_mark_wait(mark);
	return rn_cu_is_context(ctx) && ctx->id == id ? ctx->error
						      : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult rn_cu_context_sync(struct CUctx_st *ctx)
{
	struct rn_cu_mark **marks;
	size_t count = 0, room = 0;
	struct rn_list *at;

	rn_list_for_each (at, &ctx->streams)
		room++;
	marks = calloc(room + 1, sizeof(struct rn_cu_mark *));
	if (!marks)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rn_list_for_each (at, &ctx->streams) {
		struct CUstream_st *s = RN_CONTAINER_OF(at, struct CUstream_st, link);

		if (!rn_cu_stream_is_idle(&s->core))
			marks[count++] = submit_mark(s);
	}
	for (size_t i = 0; i < count; i++)
		if (marks[i])
			(void)rn_cu_mark_wait(marks[i]);
	free(marks);
	return ctx->error;
}

/* ------------------------------------------------------------------ events */
CUresult rn_cu_event_create(struct CUctx_st *ctx, unsigned flags, CUevent *event)
{
	CUevent e = calloc(1, sizeof(*e));

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = ctx;
	e->flags = flags;
	rn_list_init(&e->link);
	rn_list_push_back(&ctx->events, &e->link);
	*event = e;
	return CUDA_SUCCESS;
}

bool rn_cu_is_event(CUevent event)
{
	struct rn_list *c, *at;

	rn_list_for_each (c, &rn_cu.contexts)
		rn_list_for_each (at, &RN_CONTAINER_OF(c, struct CUctx_st, link)->events)
			if (RN_CONTAINER_OF(at, struct CUevent_st, link) == event)
				return true;
	return false;
}

void rn_cu_event_destroy(CUevent event)
{
	rn_cu_mark_put(event->mark);
	rn_list_remove(&event->link);
	free(event);
}
