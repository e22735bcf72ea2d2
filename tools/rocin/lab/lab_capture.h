/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_capture.h - all packets of a lab, as they pass the switch, in a pcapng file. */
#ifndef RN_LAB_CAPTURE_H
#define RN_LAB_CAPTURE_H

#include <sys/types.h>

#include "rocin/types.h"

/* A process that writes the packets to @path from now on. @pid: out. Return: 0 or -errno
 * with a sentence.
 */
int rn_lab_capture_start(const char *path, bool quiet, pid_t *pid, char *err,
			 size_t err_len);

/* It writes what has passed by now, says how much that was, and ends. Return: 0 or
 * -errno.
 */
int rn_lab_capture_stop(pid_t pid);

#endif /* RN_LAB_CAPTURE_H */
