/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_drive.c - DMA engines of a test: drives of rocin/storage.h.
 *
 * A drive reads a file of which each page holds the value of one `dma'; a page goes to
 * the location. `dmacqe' is the completion that the drive writes anyway, so `dma' only
 * notes what the next `dmacqe' submits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live.h"

enum {
	VALUES_MAX = 16, /* of `dma' in a test: each has a page of the file */
};

struct rn_live_drive {
	int fd;
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	const struct rn_litmus_instr *noted;
	int64_t value[VALUES_MAX];
	unsigned values;
};

static int fail_storage(struct rn_live *l, const char *what, int rc)
{
	const char *more = l->lib.rn_storage_last_error();

	return rn_live_fail(l, "%s: %s%s%s", what, strerror(-rc), *more ? ": " : "",
			    more);
}

static unsigned page_of(struct rn_live_drive *d, int64_t value)
{
	unsigned i = 0;

	while (i < d->values && d->value[i] != value)
		i++;
	return i;
}

static int write_page(struct rn_live *l, int64_t value)
{
	int64_t page[RN_LIVE_PAGE / sizeof(int64_t)];
	struct rn_live_drive *d = l->drive;
	off_t at = (off_t)d->values * RN_LIVE_PAGE;

	if (page_of(d, value) < d->values)
		return 0;
	if (d->values == VALUES_MAX)
		return rn_live_fail(l, "too many values for a drive");
	for (size_t i = 0; i < RN_ARRAY_SIZE(page); i++)
		page[i] = value;
	if (pwrite(d->fd, page, sizeof(page), at) != (ssize_t)sizeof(page))
		return rn_live_fail(l, "file of a drive: %s", strerror(errno));
	d->value[d->values++] = value;
	return 0;
}

/* A batch is ordered by its completions only. */
static int open_batch(struct rn_live *l)
{
	int rc = l->lib.rn_storage_batch_setup(&l->drive->batch, RN_LITMUS_OPS);

	return rc ? fail_storage(l, "rn_storage_batch_setup", rc) : 0;
}

static int open_drive(struct rn_live *l)
{
	struct rn_live_drive *d = l->drive;
	int rc;

	rc = l->lib.rn_storage_driver_open();
	/* No bounce: that would hide what the test asks for. */
	if (!rc)
		rc = l->lib.rn_storage_set_policy("direct,p2p");
	if (rc)
		return fail_storage(l, "rn_storage_driver_open", rc);
	d->fd = memfd_create("litmus", MFD_CLOEXEC);
	if (d->fd < 0)
		return rn_live_fail(l, "memfd_create: %s", strerror(errno));
	rc = l->lib.rn_storage_handle_register(&d->file, d->fd);
	if (rc)
		return fail_storage(l, "rn_storage_handle_register", rc);
	return open_batch(l);
}

/* All that drives of this worker write. */
static int prepare(struct rn_live *l, const struct rn_litmus_instr *in)
{
	uint8_t *at = rn_live_address(l, in->loc);
	int rc;

	if (!l->drive) {
		l->drive = calloc(1, sizeof(*l->drive));
		if (!l->drive)
			return rn_live_fail(l, "no memory");
		l->drive->fd = -1;
		if (open_drive(l))
			return -1;
	}
	rc = l->lib.rn_storage_buffer_register(at, RN_LIVE_PAGE);
	if (rc && rc != -EEXIST)
		return fail_storage(l, "rn_storage_buffer_register", rc);
	return write_page(l, in->value.number);
}

int rn_live_drive_open(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			if (t->thread[i].instr[j].op == RN_LITMUS_DMA &&
			    rn_live_plays(l, t->thread[i].node) &&
			    prepare(l, &t->thread[i].instr[j]))
				return -1;
	return 0;
}

void rn_live_drive_close(struct rn_live *l)
{
	struct rn_live_drive *d = l->drive;
	const struct rn_litmus_test *t = l->test;

	if (!d)
		return;
	l->lib.rn_storage_batch_destroy(d->batch);
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			if (t->thread[i].instr[j].op == RN_LITMUS_DMA)
				(void)l->lib.rn_storage_buffer_deregister(
					rn_live_address(l, t->thread[i].instr[j].loc));
	l->lib.rn_storage_handle_deregister(d->file);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
	l->drive = NULL;
}

/* Completions that nobody took in the last run are dropped. */
int rn_live_drive_reset(struct rn_live *l)
{
	struct rn_storage_event event;

	if (!l->drive)
		return 0;
	l->drive->noted = NULL;
	l->lib.rn_storage_settle();
	while (l->lib.rn_storage_batch_status(l->drive->batch, 0, 1, &event, 0) > 0)
		continue;
	return 0;
}

int rn_live_drive_submit(struct rn_live *l, const struct rn_litmus_instr *dma)
{
	struct rn_live_drive *d = l->drive;
	struct rn_storage_io io = { .op = RN_STORAGE_READ,
				    .file = d->file,
				    .size = RN_LIVE_PAGE };
	int rc;

	if (dma->op == RN_LITMUS_DMA) {
		d->noted = dma;
		return 0;
	}
	if (!d->noted)
		return rn_live_fail(l, "dmacqe without a dma");
	io.base = rn_live_address(l, d->noted->loc);
	io.file_offset = (off_t)page_of(d, d->noted->value.number) * RN_LIVE_PAGE;
	rc = l->lib.rn_storage_batch_submit(d->batch, 1, &io);
	return rc ? fail_storage(l, "rn_storage_batch_submit", rc) : 0;
}

int rn_live_drive_poll(struct rn_live *l, unsigned node)
{
	struct rn_storage_event event;
	int rc;

	(void)node; /* one worker's drives share a batch */
	rc = l->lib.rn_storage_batch_status(l->drive->batch, 0, 1, &event, 0);
	if (rc < 0)
		return fail_storage(l, "rn_storage_batch_status", rc);
	if (rc == 1 && event.status != RN_STORAGE_COMPLETE)
		return rn_live_fail(l, "a drive: %s", strerror((int)-event.result));
	return rc;
}
