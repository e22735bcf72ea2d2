/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_stream.c - streams. A stream is a queue of transfers, kernel launches and
 * callbacks, and a thread that executes them in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "storage_internal.h"

enum item_kind {
	ITEM_TRANSFER,
	ITEM_LAUNCH,
	ITEM_CALLBACK
};

struct item {
	struct item *next;
	enum item_kind kind;
	/* The members from here to the next comment are used if the item is a transfer.
	 */
	enum rn_storage_op op;
	struct rn_storage_file *file;
	void *base;
	const size_t *size;
	const off_t *file_offset, *buf_offset;
	ssize_t *done;
	/* The next two members are used if the item is a kernel launch. */
	struct rn_gpu *gpu;
	rn_gpu_kernel_fn *kernel;
	/* The next two members are used if the item is a callback. */
	void (*fn)(void *arg);
	void *arg;
};

struct rn_storage_stream {
	pthread_t thread;
	struct item *first, **last;
	uint64_t queued, ended; /* number of items queued, and of items that have ended */
	bool must_stop;
	/* the first error since rn_storage_stream_synchronize() was last called */
	int error;
};

/* ------------------------------------- thread that executes the items of a stream */
static int run_transfer(const struct item *i)
{
	struct rn_storage_req r = { .io = { .op = i->op,
					    .file = i->file,
					    .base = i->base,
					    .size = *i->size,
					    .file_offset = *i->file_offset,
					    .buf_offset = *i->buf_offset } };
	ssize_t result = rn_storage_run(&r);

	if (result > 0 && i->op == RN_STORAGE_READ)
		rn_storage_settle_range(r.place.addr, (uint64_t)result);
	if (i->done)
		*i->done = result;
	return result < 0 ? (int)result : 0;
}

static int launch_and_wait(const struct item *i)
{
	int64_t kernel = rn_gpu_launch(i->gpu, i->kernel, i->arg);

	return kernel < 0 ? (int)kernel : rn_gpu_wait_kernel(i->gpu, kernel);
}

static int run_item(const struct item *i)
{
	switch (i->kind) {
	case ITEM_TRANSFER:
		return run_transfer(i);
	case ITEM_LAUNCH:
		return launch_and_wait(i);
	case ITEM_CALLBACK:
		i->fn(i->arg);
		return 0;
	}
	return -EINVAL;
}

/* Called by the thread of the stream. Waits for the next item of the queue and returns
 * it. Returns NULL when the stream is being destroyed. Called with the storage lock
 * held.
 */
static struct item *next_item(struct rn_storage_stream *s)
{
	struct item *i;

	while (!s->first && !s->must_stop)
		(void)rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock, RN_NEVER);
	i = s->first;
	if (!i)
		return NULL;
	s->first = i->next;
	if (!s->first)
		s->last = &s->first;
	return i;
}

static void *stream_main(void *arg)
{
	struct rn_storage_stream *s = arg;
	struct item *i;

	rn_storage_lock();
	while ((i = next_item(s)) != NULL) {
		int err;

		rn_storage_unlock();
		err = run_item(i);
		free(i);
		rn_storage_lock();
		if (err && !s->error)
			s->error = err;
		s->ended++;
		pthread_cond_broadcast(&rn_storage.changed);
	}
	rn_storage_unlock();
	return NULL;
}

/* -------------------------------------------------------- streams and their queues */
int rn_storage_stream_create(struct rn_storage_stream **stream)
{
	struct rn_storage_stream *s;
	int err = rn_storage_object_add();

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err = rn_storage_fail(-ENOMEM, "no memory for a stream");
		goto err_object;
	}
	s->last = &s->first;
	err = rn_storage_thread(&s->thread, stream_main, s);
	if (err) {
		err = rn_storage_fail(err, "no thread for a stream");
		goto err_free;
	}
	*stream = s;
	return 0;

err_free:
	free(s);
err_object:
	rn_storage_object_remove();
	return err;
}

void rn_storage_stream_destroy(struct rn_storage_stream *s)
{
	if (!s || rn_storage_need())
		return;
	rn_storage_lock();
	s->must_stop = true;
	pthread_cond_broadcast(&rn_storage.changed);
	rn_storage_unlock();
	pthread_join(s->thread, NULL);
	free(s);
	rn_storage_object_remove();
}

static int queue_item(struct rn_storage_stream *s, const struct item *item)
{
	struct item *i = malloc(sizeof(*i));

	if (!i)
		return rn_storage_fail(-ENOMEM, "no memory for an item");
	*i = *item;
	i->next = NULL;
	rn_storage_lock();
	*s->last = i;
	s->last = &i->next;
	s->queued++;
	pthread_cond_broadcast(&rn_storage.changed);
	rn_storage_unlock();
	return 0;
}

/* The seven parameters are those of cuFileReadAsync(). */
/* NOLINTNEXTLINE(readability-function-size) */
int rn_storage_read_async(struct rn_storage_file *file, void *base, const size_t *size,
			  const off_t *file_offset, const off_t *buf_offset,
			  ssize_t *done, struct rn_storage_stream *stream)
{
	return queue_item(stream, &(struct item){ .kind = ITEM_TRANSFER,
						  .op = RN_STORAGE_READ,
						  .file = file,
						  .base = base,
						  .size = size,
						  .file_offset = file_offset,
						  .buf_offset = buf_offset,
						  .done = done });
}

/* NOLINTNEXTLINE(readability-function-size) */
int rn_storage_write_async(struct rn_storage_file *file, const void *base,
			   const size_t *size, const off_t *file_offset,
			   const off_t *buf_offset, ssize_t *done,
			   struct rn_storage_stream *stream)
{
	return queue_item(stream, &(struct item){ .kind = ITEM_TRANSFER,
						  .op = RN_STORAGE_WRITE,
						  .file = file,
						  .base = (void *)base,
						  .size = size,
						  .file_offset = file_offset,
						  .buf_offset = buf_offset,
						  .done = done });
}

int rn_storage_stream_launch(struct rn_storage_stream *stream, struct rn_gpu *gpu,
			     rn_gpu_kernel_fn *kernel, void *arg)
{
	return queue_item(stream, &(struct item){ .kind = ITEM_LAUNCH,
						  .gpu = gpu,
						  .kernel = kernel,
						  .arg = arg });
}

int rn_storage_stream_callback(struct rn_storage_stream *stream, void (*fn)(void *arg),
			       void *arg)
{
	return queue_item(stream,
			  &(struct item){ .kind = ITEM_CALLBACK, .fn = fn, .arg = arg });
}

int rn_storage_stream_synchronize(struct rn_storage_stream *s)
{
	uint64_t until;
	int err;

	rn_storage_lock();
	until = s->queued;
	while (s->ended < until)
		(void)rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock, RN_NEVER);
	err = s->error;
	s->error = 0;
	rn_storage_unlock();
	return err;
}
