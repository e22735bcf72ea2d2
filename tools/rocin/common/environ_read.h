/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* environ_read.h - the environment that another process was started with. */
#ifndef RN_ENVIRON_READ_H
#define RN_ENVIRON_READ_H

#include <sys/types.h>

#include "rocin/types.h"

/**
 * rn_environ_take() - Make the environment of a process the caller's own
 * @pid:	Process; its /proc/PID/environ must be readable. What it has set since its
 *		start is not there.
 * @err:	Out on failure: one sentence
 *
 * The caller's environment is gone then; it points into memory that is never freed.
 * Threads: none other may run.
 *
 * Return: 0; -errno of open(), with the environment as it was; -EIO with a part of it.
 */
int rn_environ_take(pid_t pid, char *err, size_t err_len);

#endif /* RN_ENVIRON_READ_H */
