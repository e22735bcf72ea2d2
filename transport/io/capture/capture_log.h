/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_log.h - writes the packets of one device, with its diagnostics, to a pcapng
 * file, in the process that has the device.
 *
 * The blocks are those of capture_blocks.h. A packet waits in memory until no more
 * diagnostics (texts about single packets) can come for it, and then becomes a block.
 * Blocks are written when there are some KiB of them, and by a flush. So the file
 * (own_fd.h) always ends with a complete block, even if the program is killed.
 *
 * Threads: calls for one log must be serialised by a lock. A fork child must not call any
 * function for it.
 */
#ifndef RN_CAPTURE_LOG_H
#define RN_CAPTURE_LOG_H

#include "capture_blocks.h"

struct rn_capture_log;

/* Return: true if the name of the file ends in .pcapng. The caller uses this log for
 * such names, and tap.h for others.
 */
bool rn_capture_log_is_name(const char *path);

/**
 * rn_capture_log_open() - Create a file and begin a log in it
 * @path:	Its name, as own_fd.h says
 * @origin:	The device; described in the file
 * @err:	Out on failure: the error text, one sentence
 *
 * Return: a log for rn_capture_log_close(), or NULL with errno: ENAMETOOLONG, ENOMEM, or
 *	   why the file cannot be written.
 */
struct rn_capture_log *rn_capture_log_open(const char *path,
					   const struct rn_capture_origin *origin,
					   char *err, size_t err_len);

/* Call rn_capture_log_finish(), and close the file. NULL is ignored. */
void rn_capture_log_close(struct rn_capture_log *log);

/**
 * rn_capture_log_put() - Append a packet
 * @rec:	The fields that rn_capture_put() requires, and cap, but not number
 * @body:	Its rec->cap bytes
 *
 * Return: the number of the packet; 0 if there was no memory, and then the packet is
 * counted as missed.
 */
uint64_t rn_capture_log_put(struct rn_capture_log *log,
			    const struct rn_capture_record *rec, const void *body);

/* Add a diagnostic to the packet with the number @number, as rn_capture_log_put()
 * returned it. Does nothing if rn_capture_log_release() was called after the packet.
 */
void rn_capture_log_diagnostic(struct rn_capture_log *log, uint64_t number,
			       const struct rn_diagnostic *diagnostic);

/* Convert the packets so far to blocks. The caller must not add diagnostics to these
 * packets any more.
 */
void rn_capture_log_release(struct rn_capture_log *log);

/* Return: the time (CLOCK_MONOTONIC) at which the caller should call
 * rn_capture_log_flush(): a tenth of a second after the first block that is still
 * buffered; RN_NEVER if none is.
 */
rn_ns rn_capture_log_flush_due(const struct rn_capture_log *log);
void rn_capture_log_flush(struct rn_capture_log *log);

/* Called when the program may end now: convert all packets to blocks, write statistics,
 * and flush. Blocks of later packets are written at once.
 */
void rn_capture_log_finish(struct rn_capture_log *log);

/* Return: the name of the file, with "%p" replaced. */
const char *rn_capture_log_path(const struct rn_capture_log *log);

#endif /* RN_CAPTURE_LOG_H */
