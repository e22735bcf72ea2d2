/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_log.h - the packets of one device, and what it thinks of them, in a pcapng file
 * that its own process writes.
 *
 * The blocks are those of capture_blocks.h. A packet is kept until it is said that no
 * diagnostic about it will come, and its block until there are some KiB of them or a
 * flush; so the file (own_file.h) ends with a whole block, also if the program is killed.
 *
 * Threads: a log belongs to one lock. In a fork child: no call.
 */
#ifndef RN_CAPTURE_LOG_H
#define RN_CAPTURE_LOG_H

#include "capture_blocks.h"

struct rn_capture_log;

/* Does the name ask for one? It ends in .pcapng. */
bool rn_capture_log_is_name(const char *path);

/**
 * rn_capture_log_open() - Begin a file
 * @path:	Its name, as own_file.h says
 * @origin:	Whose packets; copied into the file
 * @err:	Out on failure: one sentence
 *
 * Return: a log for rn_capture_log_close(), or NULL with errno: ENAMETOOLONG, ENOMEM, or
 *	   why the file cannot be written.
 */
struct rn_capture_log *rn_capture_log_open(const char *path,
					   const struct rn_capture_origin *origin,
					   char *err, size_t err_len);

/* As rn_capture_log_finish(), and closes the file. NULL is ignored. */
void rn_capture_log_close(struct rn_capture_log *log);

/**
 * rn_capture_log_put() - Append a packet
 * @rec:	As of rn_capture_put(), with cap and without number
 * @body:	Its rec->cap bytes
 *
 * Return: the number of the packet, 0 if there was no memory for it; it is counted then.
 */
uint64_t rn_capture_log_put(struct rn_capture_log *log,
			    const struct rn_capture_record *rec, const void *body);

/* About packet @number, if rn_capture_log_release() has not come since. */
void rn_capture_log_diagnostic(struct rn_capture_log *log, uint64_t number,
			       const struct rn_diagnostic *diagnostic);

/* All has been said about the packets that there are. */
void rn_capture_log_release(struct rn_capture_log *log);

/* When rn_capture_log_flush() should be called (CLOCK_MONOTONIC), a tenth of a second
 * after the first block that is still buffered; RN_NEVER if none is.
 */
rn_ns rn_capture_log_flush_due(const struct rn_capture_log *log);
void rn_capture_log_flush(struct rn_capture_log *log);

/* Releases, writes how many packets there were, and flushes: the program may end. What
 * comes then is no more buffered.
 */
void rn_capture_log_finish(struct rn_capture_log *log);

/* Name of the file, with nothing left to replace. */
const char *rn_capture_log_path(const struct rn_capture_log *log);

#endif /* RN_CAPTURE_LOG_H */
