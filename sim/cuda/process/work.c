/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work.c - the operations of streams: what each of them does, and marks. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "process.h"

static void *pointer(uintptr_t addr)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): operations store addresses */
	return (void *)addr;
}

static struct rn_cu_work *work_of(const struct rn_cu_op *op)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): takes away a const */
	struct rn_cu_op *mine = (struct rn_cu_op *)(uintptr_t)op;

	return RN_CONTAINER_OF(mine, struct rn_cu_work, op);
}

/* ------------------------------------------------------------------- marks */
struct rn_cu_mark *rn_cu_mark_new(void)
{
	struct rn_cu_mark *mark = calloc(1, sizeof(*mark));

	if (mark)
		mark->users = 1;
	return mark;
}

void rn_cu_mark_put(struct rn_cu_mark *mark)
{
	if (mark && --mark->users == 0)
		free(mark);
}

CUresult rn_cu_mark_wait(struct rn_cu_mark *mark)
{
	CUresult rc;

	while (!mark->is_reached)
		rn_cu_wait(rn_cu_now() + RN_MSEC(1000));
	rc = rn_cu_result(mark->error);
	rn_cu_mark_put(mark);
	return rc;
}

/* ------------------------------------------------------ lives of operations */
struct rn_cu_work *rn_cu_work_new(enum rn_cu_work_kind kind)
{
	struct rn_cu_work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->kind = kind;
	w->op.unit = RN_CU_UNIT_ENGINE;
	if (kind == RN_CU_MARK)
		w->op.unit = RN_CU_UNIT_NONE;
	if (kind == RN_CU_CALL || kind == RN_CU_CALLBACK)
		w->op.unit = RN_CU_UNIT_HOST;
	w->op.is_conditional = kind == RN_CU_WAIT_VALUE;
	return w;
}

void rn_cu_work_free(struct rn_cu_work *w)
{
	if (w->kind == RN_CU_KERNEL) {
		free(w->start.params);
		free(w->start.bytes);
	}
	rn_cu_mark_put(w->op.waits_for);
	rn_cu_mark_put(w->op.carries);
	free(w);
}

CUresult rn_cu_submit(struct CUstream_st *stream, struct rn_cu_work *w, bool must_wait)
{
	struct rn_cu_mark *mark = NULL;

	w->ctx = stream->ctx;
	if (must_wait) {
		mark = rn_cu_mark_new();
		if (!mark) {
			rn_cu_work_free(w);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		mark->users = 2;
		w->op.carries = mark;
	}
	if (w->op.unit == RN_CU_UNIT_ENGINE)
		rn_gpu_doorbell(rn_cu.device[stream->ctx->device].gpu);
	rn_cu_push(&stream->core, &w->op);
	rn_cu_tell();
	return mark ? rn_cu_mark_wait(mark) : CUDA_SUCCESS;
}

/* --------------------------------------------------------------- execution */
static int execute_copy(struct rn_gpu *gpu, const struct rn_cu_copy *c)
{
	int err = 0;

	if (c->device >= 0)
		gpu = rn_cu.device[c->device].gpu;
	for (size_t row = 0; row < c->rows && !err; row++)
		err = rn_gpu_copy(gpu, pointer(c->to + row * c->to_pitch),
				  pointer(c->from + row * c->from_pitch), c->len);
	return err;
}

static int execute_fill(struct rn_gpu *gpu, const struct rn_cu_fill *f)
{
	int err = 0;

	for (size_t row = 0; row < f->rows && !err; row++)
		err = rn_gpu_fill(gpu, pointer(f->to + row * f->pitch), f->value, f->size,
				  f->count);
	return err;
}

static bool is_met(uint64_t found, const struct rn_cu_value *v)
{
	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return v->size == 4 ? (int32_t)((uint32_t)found - (uint32_t)v->value) >= 0
				    : (int64_t)(found - v->value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return found == v->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (found & v->value) != 0;
	default:
		found = ~(found | v->value);
		return v->size == 4 ? (uint32_t)found != 0 : found != 0;
	}
}

/* Loads the word as the GPU sees it. Returns false if it cannot be loaded. */
static bool load(struct rn_gpu *gpu, const struct rn_cu_value *v, uint64_t *found)
{
	struct rn_gpu *before = rn_gpu_current();

	if (rn_gpu_become(gpu))
		return false;
	*found = rn_gpu_load(pointer(v->at), v->size);
	return !rn_gpu_become(NULL) && (!before || !rn_gpu_become(before));
}

bool rn_cu_has_value(const struct rn_cu_op *op, void *arg)
{
	const struct rn_cu_value *v = &work_of(op)->value;
	struct rn_gpu *gpu = arg;
	uint64_t found = 0;

	/* A word that cannot be loaded ends the wait with an error. */
	return !load(gpu, v, &found) || is_met(found, v);
}

/* The value has come. */
static int execute_wait(struct rn_gpu *gpu, const struct rn_cu_value *v)
{
	uint64_t found = 0;

	if (!load(gpu, v, &found))
		return -EFAULT;
	if (v->flags & (unsigned)CU_STREAM_WAIT_VALUE_FLUSH)
		rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	return 0;
}

static int execute_call(const struct rn_cu_work *w)
{
	const struct rn_cu_call *c = &w->call;

	if (w->kind == RN_CU_CALL)
		c->fn(c->arg);
	else
		c->callback(c->handle, CUDA_SUCCESS, c->arg);
	return 0;
}

static void run_kernel(void *arg)
{
	const struct rn_cu_start *s = arg;

	s->kernel->fn(&s->launch);
}

static int execute_kernel(struct rn_gpu *gpu, struct rn_cu_start *s)
{
	int64_t kernel = rn_gpu_launch(gpu, run_kernel, s);

	return kernel < 0 ? (int)kernel : rn_gpu_wait_kernel(gpu, kernel);
}

static int execute_free(uintptr_t addr)
{
	struct rn_cu_memory *m;

	pthread_mutex_lock(&rn_cu.lock);
	m = rn_cu_memory_of(addr);
	if (m && m->range.base == addr)
		rn_cu_release(m);
	pthread_mutex_unlock(&rn_cu.lock);
	return 0;
}

int rn_cu_execute(struct rn_cu_work *w)
{
	struct rn_gpu *gpu = rn_cu.device[w->ctx->device].gpu;

	switch (w->kind) {
	case RN_CU_COPY:
		return execute_copy(gpu, &w->copy);
	case RN_CU_FILL:
		return execute_fill(gpu, &w->fill);
	case RN_CU_WAIT_VALUE:
		return execute_wait(gpu, &w->value);
	case RN_CU_WRITE_VALUE:
		return rn_gpu_copy(gpu, pointer(w->value.at), &w->value.value,
				   w->value.size);
	case RN_CU_FLUSH:
		return rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	case RN_CU_CALL:
	case RN_CU_CALLBACK:
		return execute_call(w);
	case RN_CU_KERNEL:
		return execute_kernel(gpu, &w->start);
	case RN_CU_FREE:
		return execute_free(w->freed);
	case RN_CU_MARK:
		return 0;
	}
	return -EINVAL;
}
