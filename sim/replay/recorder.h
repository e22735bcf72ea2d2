/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder.h - records the calls into the core, and what comes out of it, in a file.
 *
 * No function needs to be called: a program that is linked with rn_recorder has a hook
 * in its core (rocin/call.h) when it is loaded. recording.h describes the contents of
 * the file.
 *
 *   ROCIN_RECORD        the file, named as rn_free_name_open() says
 *   ROCIN_RECORD_LIMIT  size of the file at which the recording ends, in bytes; the run
 *                       goes on
 *
 * There is one file per process, for all its devices. It is written through a mapping, so
 * it contains everything up to the moment when a program was killed. A fork() child that
 * opens a device has a file of its own.
 *
 * Threads: calls of one device are serialised by its caller, so their order in the file
 * is that of the run. Files are guarded by a lock in recorder.c.
 */
#ifndef RN_RECORDER_H
#define RN_RECORDER_H

#include "recording.h"

/* Begins the file if ROCIN_RECORD names one, before a device is created. False: there is
 * nothing to record, or the file cannot be opened (reported on stderr).
 */
bool rn_recorder_open(void);

/* Appends a record; does nothing after the file has ended. False: the recording has
 * failed, and lacks the record.
 */
bool rn_recorder_put(const struct rn_rec *rec);

#endif /* RN_RECORDER_H */
