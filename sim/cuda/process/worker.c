/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* worker.c - the threads that execute the operations of streams.
 *
 * Each GPU has one thread for its copy engines and front end, and one for functions of
 * the program, so that a function that takes its time delays no copy. A kernel gets a
 * thread of its own, since kernels run beside each other and beside copies, and may wait
 * for them.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "process.h"

enum {
	STACK = 256 * 1024,
};

/* How often the memory of a wait for a value is looked at, while nothing else is to be
 * done: ten times the latency of a PCIe read, on hardware.
 */
#define POLL_NS RN_USEC(10)

static struct rn_cu_work *work_of(struct rn_cu_op *op)
{
	return RN_CONTAINER_OF(op, struct rn_cu_work, op);
}

static void reap(struct rn_cu_device *d)
{
	bool has_ended = !rn_list_is_empty(&d->sched.ended);

	while (!rn_list_is_empty(&d->sched.ended))
		rn_cu_work_free(work_of(RN_CONTAINER_OF(
			rn_list_pop_front(&d->sched.ended), struct rn_cu_op, link)));
	if (!has_ended)
		return;
	rn_cu_streams_reap(d);
	rn_cu_tell();
}

/* Ends an operation. An error of one that nobody waits for is the context's. */
static void end(struct rn_cu_device *d, struct rn_cu_work *w, int err)
{
	if (err && !w->op.carries && !w->ctx->error)
		w->ctx->error = rn_cu_result(err);
	rn_cu_done(&d->sched, &w->op, err, rn_cu_now());
	reap(d);
}

static void *kernel_main(void *arg)
{
	struct rn_cu_work *w = arg;
	struct rn_cu_device *d = &rn_cu.device[w->ctx->device];
	int err = rn_cu_execute(w);

	pthread_mutex_lock(&rn_cu.lock);
	end(d, w, err);
	pthread_mutex_unlock(&rn_cu.lock);
	return NULL;
}

/* Starts a thread that gets none of the program's signals. Returns 0 or -EAGAIN. */
static int start_thread(void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

/* Executes one operation. The lock is held at both ends. */
static void execute(struct rn_cu_device *d, struct rn_cu_work *w)
{
	int err;

	if (w->kind == RN_CU_KERNEL) {
		err = start_thread(kernel_main, w);
		if (err)
			end(d, w, err);
		return;
	}
	rn_cu_unlock();
	err = rn_cu_execute(w);
	pthread_mutex_lock(&rn_cu.lock);
	end(d, w, err);
}

static void work_for(struct rn_cu_device *d, enum rn_cu_unit unit)
{
	pthread_mutex_lock(&rn_cu.lock);
	for (;;) {
		rn_ns now = rn_cu_now();
		struct rn_cu_op *op =
			rn_cu_next(&d->sched, unit, now, rn_cu_has_value, d->gpu);

		reap(d);
		if (op)
			execute(d, work_of(op));
		else if (unit == RN_CU_UNIT_ENGINE && rn_cu_is_polling(&d->sched))
			rn_cu_wait(now + POLL_NS);
		else
			rn_cu_wait(now + RN_MSEC(1000));
	}
}

static void *engine_main(void *arg)
{
	work_for(arg, RN_CU_UNIT_ENGINE);
	return NULL;
}

static void *host_main(void *arg)
{
	work_for(arg, RN_CU_UNIT_HOST);
	return NULL;
}

CUresult rn_cu_workers_start(struct rn_cu_device *d)
{
	if (d->has_workers)
		return CUDA_SUCCESS;
	if (start_thread(engine_main, d) || start_thread(host_main, d))
		return CUDA_ERROR_OUT_OF_MEMORY;
	d->has_workers = true;
	return CUDA_SUCCESS;
}
