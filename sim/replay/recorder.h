/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder.h - writes what goes in and out of the core to a file.
 *
 * Nobody calls it: what is linked with rn_recorder has a hook in its core (rocin/call.h)
 * when it is loaded. What is recorded, and in which form: recording.h.
 *
 *   ROCIN_RECORD        the file, named as rn_free_name_open() says
 *   ROCIN_RECORD_LIMIT  its bytes at most; then the recording ends and the run goes on
 *
 * One file per process, for all its devices. It is written through a mapping, so what
 * a program did up to the moment when it was killed is there. A fork child that opens a
 * device has a file of its own.
 *
 * Threads: calls of one device are serialised by its caller, so their order in the file
 * is the run. Files are guarded by a lock in recorder.c.
 */
#ifndef RN_RECORDER_H
#define RN_RECORDER_H

#include "recording.h"

/* Before a device is made: begin the file if ROCIN_RECORD names one. False: nothing is
 * to be recorded, or cannot be (said on stderr).
 */
bool rn_recorder_open(void);

/* Append a record; nothing happens once the file has ended. False: the recording has
 * failed, and lacks it.
 */
bool rn_recorder_put(const struct rn_rec *rec);

/* True: it ended before its time, or could not begin. */
bool rn_recorder_has_failed(void);

#endif /* RN_RECORDER_H */
