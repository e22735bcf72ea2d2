/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* batch.c - batches of transfers.
 *
 * Either all transfers of a submission start, or none does, as in cuFile 1.15.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* A transfer of a batch whose end has not been reported. */
struct entry {
	bool is_used;
	void *cookie; /* of the program */
	struct rn_cufile_io io;
	uint64_t begin; /* ns */
	int gpu;
};

struct rn_cufile_batch {
	struct rn_cufile_batch *next;
	struct rn_storage_batch *engine;
	unsigned max;
	unsigned users; /* calls that use the batch at present */
	bool is_destroyed;
	struct entry entries[];
};

/* Finds a batch and counts the caller as its user; NULL if @batch is none. */
static struct rn_cufile_batch *batch_get(CUfileBatchHandle_t batch)
{
	struct rn_cufile_batch *b;

	if (rn_cufile.pid != getpid())
		return NULL;
	rn_cufile_lock();
	for (b = rn_cufile.batches; b && (b != batch || b->is_destroyed);)
		b = b->next;
	if (b)
		b->users++;
	rn_cufile_unlock();
	return b;
}

static void batch_put(struct rn_cufile_batch *b)
{
	struct rn_cufile_batch **at = &rn_cufile.batches;
	bool is_last;

	rn_cufile_lock();
	is_last = --b->users == 0 && b->is_destroyed;
	if (is_last) {
		while (*at != b)
			at = &(*at)->next;
		*at = b->next;
	}
	rn_cufile_unlock();
	if (!is_last)
		return;
	rn_storage_batch_destroy(b->engine);
	free(b);
}

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch, unsigned nr)
{
	struct rn_cufile_batch *b;
	unsigned max;

	if (!rn_cufile_need())
		return rn_cufile_fail(CU_FILE_DRIVER_NOT_INITIALIZED,
				      "cuFileBatchIOSetUp: the driver cannot be opened");
	rn_cufile_lock();
	max = (unsigned)rn_cufile.settings.size[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE];
	rn_cufile_unlock();
	if (max > RN_STORAGE_BATCH_MAX)
		max = RN_STORAGE_BATCH_MAX;
	if (!batch || nr == 0 || nr > max) {
		RN_CUFILE_COUNT(batch_setup_ops, false);
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileBatchIOSetUp: a batch of %u; 1 to %u are "
				      "possible (properties.io_batchsize)",
				      nr, max);
	}
	b = calloc(1, sizeof(*b) + nr * sizeof(b->entries[0]));
	if (!b || rn_storage_batch_setup(&b->engine, nr)) {
		free(b);
		RN_CUFILE_COUNT(batch_setup_ops, false);
		return rn_cufile_fail(CU_FILE_INTERNAL_BATCH_SETUP_ERROR,
				      "cuFileBatchIOSetUp: %s", rn_storage_last_error());
	}
	b->max = nr;
	rn_cufile_lock();
	b->next = rn_cufile.batches;
	rn_cufile.batches = b;
	rn_cufile_unlock();
	RN_CUFILE_COUNT(batch_setup_ops, true);
	*batch = b;
	return rn_cufile_success();
}

/* ------------------------------------------------------------------- submission */
static CUfileError_t refuse(const char *why)
{
	RN_CUFILE_COUNT(batch_submit_ops, false);
	return rn_cufile_fail(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR,
			      "cuFileBatchIOSubmit: %s; nothing was started", why);
}

/* Checks one transfer, and holds its file. Returns NULL, or why it is refused. */
static const char *prepare(const CUfileIOParams_t *p, struct rn_cufile_io *io,
			   struct rn_cufile_file **file)
{
	int err;

	*io = (struct rn_cufile_io){ .is_write = p->opcode == CUFILE_WRITE,
				     .base = p->u.batch.devPtr_base,
				     .size = p->u.batch.size,
				     .file_offset = p->u.batch.file_offset,
				     .buf_offset = p->u.batch.devPtr_offset };
	if (p->mode != CUFILE_BATCH)
		return "an entry's mode is not CUFILE_BATCH";
	if (p->opcode != CUFILE_READ && p->opcode != CUFILE_WRITE)
		return "an entry's opcode is neither CUFILE_READ nor CUFILE_WRITE";
	*file = rn_cufile_file_get(p->fh);
	if (!*file)
		return "an entry's file is not registered";
	err = rn_cufile_check_io(*file, io);
	if (err == 0)
		return NULL;
	return err > CUFILEOP_BASE_ERR ? CUFILE_ERRSTR(err)
				       : "an entry has no memory, or its file was not "
					 "opened for this";
}

/* Takes an unused entry of the batch; NULL if all are in use. */
static struct entry *take_entry(struct rn_cufile_batch *b)
{
	struct entry *e = NULL;

	rn_cufile_lock();
	for (unsigned i = 0; i < b->max && !e; i++)
		if (!b->entries[i].is_used)
			e = &b->entries[i];
	if (e)
		e->is_used = true;
	rn_cufile_unlock();
	return e;
}

static void give_back(const struct rn_storage_io *ios, unsigned count)
{
	rn_cufile_lock();
	for (unsigned i = 0; i < count; i++)
		((struct entry *)ios[i].cookie)->is_used = false;
	rn_cufile_unlock();
}

/* Fills in @ios for all entries, and holds their files in @files. Returns NULL, or why
 * the submission is refused; *@held is the number of files that are held, and *@taken
 * that of entries.
 */
static const char *prepare_all(struct rn_cufile_batch *b, const CUfileIOParams_t *params,
			       unsigned nr, struct rn_storage_io *ios,
			       struct rn_cufile_file **files, unsigned taken[2])
{
	for (unsigned i = 0; i < nr; i++) {
		struct rn_cufile_io io;
		struct entry *e;
		const char *why;

		files[i] = NULL;
		why = prepare(&params[i], &io, &files[i]);
		taken[0] = i + 1;
		if (why)
			return why;
		e = take_entry(b);
		if (!e)
			return "the batch is full until ended transfers are fetched";
		e->cookie = params[i].cookie;
		e->io = io;
		e->begin = rn_cufile_now();
		e->gpu = rn_cufile_gpu_of(io.base);
		ios[i] = (struct rn_storage_io){ .op = io.is_write ? RN_STORAGE_WRITE
								   : RN_STORAGE_READ,
						 .file = rn_cufile_choose(files[i], &io),
						 .base = io.base,
						 .size = io.size,
						 .file_offset = io.file_offset,
						 .buf_offset = io.buf_offset,
						 .cookie = e };
		taken[1] = i + 1;
	}
	return NULL;
}

CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t batch, unsigned nr,
				  CUfileIOParams_t *params, unsigned flags)
{
	struct rn_cufile_batch *b = batch_get(batch);
	struct rn_cufile_file *files[RN_STORAGE_BATCH_MAX];
	struct rn_storage_io ios[RN_STORAGE_BATCH_MAX];
	unsigned taken[2] = { 0, 0 };
	uint64_t begin = rn_cufile_now();
	const char *why = NULL;

	(void)flags; /* reserved; cuFile 1.15 takes any */
	if (!b)
		return refuse("there is no such batch");
	if (!params || nr == 0 || nr > b->max)
		why = "no entries, or more than the batch was made for";
	else
		why = prepare_all(b, params, nr, ios, files, taken);
	if (!why && rn_storage_batch_submit(b->engine, nr, ios))
		why = rn_storage_last_error();
	if (why)
		give_back(ios, taken[1]);
	for (unsigned i = 0; i < taken[0]; i++)
		if (files[i])
			rn_cufile_file_put(files[i]);
	batch_put(b);
	if (why)
		return refuse(why);
	RN_CUFILE_COUNT(batch_submit_ops, true);
	rn_cufile_lock();
	rn_cufile_page()->stats.detailed.basic.batch_submit_lat_sum_us +=
		(rn_cufile_now() - begin) / 1000;
	rn_cufile_page()->stats.detailed.basic.batch_enqueued_ops.ok += nr;
	rn_cufile_unlock();
	return rn_cufile_success();
}

/* ----------------------------------------------------------------------- events */
static CUfileIOEvents_t translate(const struct rn_storage_event *event)
{
	static const CUfileStatus_t statuses[] = {
		[RN_STORAGE_WAITING] = CUFILE_WAITING,
		[RN_STORAGE_PENDING] = CUFILE_PENDING,
		[RN_STORAGE_COMPLETE] = CUFILE_COMPLETE,
		[RN_STORAGE_FAILED] = CUFILE_FAILED,
		[RN_STORAGE_CANCELED] = CUFILE_CANCELED,
		[RN_STORAGE_INVALID] = CUFILE_INVALID,
	};
	struct entry *e = event->cookie;
	CUfileIOEvents_t out = { .cookie = e->cookie,
				 .status = statuses[event->status],
				 .ret = (size_t)event->result };
	struct rn_cufile_done done = {
		.is_write = e->io.is_write,
		.is_batch = true,
		.gpu = e->gpu,
		.result = event->result,
		.size = e->io.size,
		.way = event->route.way,
		.is_aligned = ((size_t)e->io.file_offset | e->io.size) % 4096 == 0,
		.ns = rn_cufile_now() - e->begin
	};

	rn_cufile_count_transfer(&done);
	rn_cufile_lock();
	e->is_used = false;
	rn_cufile_unlock();
	return out;
}

CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t batch, unsigned min_nr,
				     unsigned *nr, CUfileIOEvents_t *events,
				     struct timespec *timeout)
{
	struct rn_cufile_batch *b = batch_get(batch);
	struct rn_storage_event got[RN_STORAGE_BATCH_MAX];
	int64_t ns = -1;
	unsigned max;
	int n;

	if (!b)
		return rn_cufile_fail(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR,
				      "cuFileBatchIOGetStatus: there is no such batch");
	if (!nr || !events || min_nr > *nr ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_nsec < 0 ||
			 timeout->tv_nsec > 999999999))) {
		batch_put(b);
		return rn_cufile_fail(
			CU_FILE_INVALID_VALUE,
			"cuFileBatchIOGetStatus: no place for events, fewer "
			"places than events that are waited for, or a "
			"timeout that is none");
	}
	if (timeout) /* more than 31 years is as good as for ever */
		ns = timeout->tv_sec > 1000000000
			     ? -1
			     : (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec;
	max = *nr < b->max ? *nr : b->max;
	n = rn_storage_batch_status(b->engine, min_nr < max ? min_nr : max, max, got, ns);
	*nr = n < 0 ? 0 : (unsigned)n;
	for (unsigned i = 0; i < *nr; i++)
		events[i] = translate(&got[i]);
	batch_put(b);
	return rn_cufile_success();
}

CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t batch)
{
	struct rn_cufile_batch *b = batch_get(batch);

	RN_CUFILE_COUNT(batch_cancel_ops, b != NULL);
	if (!b)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE,
				      "cuFileBatchIOCancel: there is no such batch");
	(void)rn_storage_batch_cancel(b->engine);
	batch_put(b);
	return rn_cufile_success();
}

void cuFileBatchIODestroy(CUfileBatchHandle_t batch)
{
	struct rn_cufile_batch *b = batch_get(batch);

	RN_CUFILE_COUNT(batch_destroy_ops, b != NULL);
	if (!b) {
		rn_cufile_log(RN_CUFILE_LOG_ERROR,
			      "cuFileBatchIODestroy: there is no such batch");
		return;
	}
	rn_cufile_lock();
	b->is_destroyed = true;
	rn_cufile_unlock();
	batch_put(b);
}

void rn_cufile_release_batches(void)
{
	for (;;) {
		struct rn_cufile_batch *b;

		rn_cufile_lock();
		for (b = rn_cufile.batches; b && b->is_destroyed;)
			b = b->next;
		rn_cufile_unlock();
		if (!b)
			return;
		cuFileBatchIODestroy(b);
	}
}
