/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_log.c - writes the packets of one device to a pcapng file; see capture_log.h.
 */
#include "capture_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"

#define FLUSH_AFTER RN_MSEC(100)

enum {
	BUFFERED_MAX = 8192
};

TAILQ_HEAD(queue, rn_capture_packet);

struct rn_capture_log {
	struct queue queue;   /* packets about which diagnostics may still come */
	struct rn_pcapng buf; /* blocks that are not written to the file yet */
	struct rn_own_file file;
	int fd;
	rn_ns flush_due;
	/* rn_capture_log_finish() was called, so blocks are written at once */
	bool is_last;
	uint64_t number; /* number of the last packet */
	/* number of packets written, and of packets missed because there was no memory */
	uint64_t written, missed;
	/* number of missed packets that are reported in the file already */
	uint64_t told;
	/* value of @written + @missed when the last statistics block was written */
	uint64_t counted;
	char path[RN_FREE_NAME_MAX];
};

/* Writes the buffered blocks to the file. When the disk is full, nothing is written any
 * more, and the program gets no error.
 */
void rn_capture_log_flush(struct rn_capture_log *log)
{
	if (log->buf.len)
		rn_own_file_write(&log->file, log->buf.data, log->buf.len);
	rn_pcapng_clear(&log->buf);
	log->flush_due = RN_NEVER;
}

/* -------------------------------------------------- packets and their diagnostics */
uint64_t rn_capture_log_put(struct rn_capture_log *log,
			    const struct rn_capture_record *rec, const void *body)
{
	struct rn_capture_packet *p = rn_capture_packet_new(rec, body);

	if (!p) {
		log->missed++;
		return 0;
	}
	p->rec.number = ++log->number;
	TAILQ_INSERT_TAIL(&log->queue, p, link);
	return p->rec.number;
}

void rn_capture_log_diagnostic(struct rn_capture_log *log, uint64_t number,
			       const struct rn_diagnostic *diagnostic)
{
	struct rn_capture_packet *p = TAILQ_LAST(&log->queue, queue);

	while (p && p->rec.number > number)
		p = TAILQ_PREV(p, queue, link);
	if (p && p->rec.number == number)
		rn_capture_packet_diagnostic(p, diagnostic);
}

static void write_packet(struct rn_capture_log *log, struct rn_capture_packet *p)
{
	p->rec.missed = (uint32_t)(log->missed - log->told);
	rn_capture_blocks_packet(&log->buf, 0, p, 0);
	if (log->buf.failed) {
		log->buf.failed = false;
		log->missed++;
	} else {
		log->written++;
		log->told = log->missed;
	}
}

void rn_capture_log_release(struct rn_capture_log *log)
{
	struct rn_capture_packet *p;

	if (TAILQ_EMPTY(&log->queue))
		return;
	while ((p = TAILQ_FIRST(&log->queue))) {
		TAILQ_REMOVE(&log->queue, p, link);
		write_packet(log, p);
		free(p);
	}
	if (log->buf.len >= BUFFERED_MAX || log->is_last)
		rn_capture_log_flush(log);
	else if (log->flush_due == RN_NEVER)
		log->flush_due = rn_clock(CLOCK_MONOTONIC) + FLUSH_AFTER;
}

/* --------------------------------------------------- opening and closing the file */
bool rn_capture_log_is_name(const char *path)
{
	static const char end[] = ".pcapng";
	size_t len = strlen(path), end_len = sizeof(end) - 1;

	return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

static int begin_file(struct rn_capture_log *log, const char *path,
		      const struct rn_capture_origin *origin)
{
	log->fd = rn_free_name_open(log->path, sizeof(log->path), path);
	if (log->fd < 0)
		return log->fd;
	rn_own_file_init(&log->file, log->fd);
	rn_capture_blocks_begin(&log->buf);
	rn_capture_blocks_interface(&log->buf, origin, 0);
	if (log->buf.failed)
		return -ENOMEM;
	/* Write the blocks so far, so that a reader of the file finds a valid capture
	 * even before the first packet.
	 */
	rn_capture_log_flush(log);
	return 0;
}

static void free_log(struct rn_capture_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	rn_pcapng_free(&log->buf);
	free(log);
}

struct rn_capture_log *rn_capture_log_open(const char *path,
					   const struct rn_capture_origin *origin,
					   char *err, size_t err_len)
{
	struct rn_capture_log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for a capture");
		return NULL;
	}
	TAILQ_INIT(&log->queue);
	log->flush_due = RN_NEVER;
	log->counted = UINT64_MAX;
	rc = begin_file(log, path, origin);
	if (!rc)
		return log;
	if (rc == -ENAMETOOLONG)
		rn_fail(err, err_len, rc, "the capture file name is too long");
	else
		rn_fail(err, err_len, rc, "cannot write the capture file %s: %s",
			log->path, strerrordesc_np(-rc));
	free_log(log);
	errno = -rc;
	return NULL;
}

void rn_capture_log_finish(struct rn_capture_log *log)
{
	log->is_last = true;
	rn_capture_log_release(log);
	if (log->written + log->missed != log->counted) {
		log->counted = log->written + log->missed;
		rn_capture_blocks_statistics(&log->buf, 0, log->written, log->missed);
	}
	rn_capture_log_flush(log);
}

void rn_capture_log_close(struct rn_capture_log *log)
{
	if (!log)
		return;
	rn_capture_log_finish(log);
	free_log(log);
}

rn_ns rn_capture_log_flush_due(const struct rn_capture_log *log)
{
	return log->flush_due;
}

const char *rn_capture_log_path(const struct rn_capture_log *log)
{
	return log->path;
}
