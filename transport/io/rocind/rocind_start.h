/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_start.h - finds rocind's program and starts it, in such a way that the program
 * that this code is part of does not notice.
 *
 * Threads: any; no state.
 */
#ifndef RN_ROCIND_START_H
#define RN_ROCIND_START_H

#include <stdbool.h>
#include <stddef.h>

/* Number of a descriptor that is open in a daemon started by rn_rocind_start(). The
 * daemon writes to it once: a newline when it (or another rocind) listens, or the error
 * text that says why it cannot.
 */
enum {
	RN_ROCIND_READY_FD = 3,
};

/**
 * rn_rocind_find() - Find the program to start
 * @wish:	Used as it is if not NULL
 * @path:	Out: absolute path, unless @wish or $ROCIN_ROCIND is relative
 *
 * Order: @wish, $ROCIN_ROCIND, beside the file that holds this code (as built or
 * installed), beside the running program, PATH.
 *
 * Return: 0, -ENOENT (none found; an error text in @err), -ENAMETOOLONG.
 */
int rn_rocind_find(const char *wish, char *path, size_t path_len, char *err,
		   size_t err_len);

/**
 * rn_rocind_start() - Start a daemon and wait until it listens or has given up
 * @path:	Program
 * @dir:	Runtime directory to give it
 * @timeout_ms:	How long to wait
 *
 * The daemon gets a session of its own, /dev/null as standard files, and of the
 * environment only PATH, TMPDIR, XDG_RUNTIME_DIR, ROCIN_LOG, ROCIN_TIMEOUT_SCALE and
 * ROCIN_RUNTIME_DIR=@dir. It does not get LD_LIBRARY_PATH: it serves all programs of its
 * user, and must not depend on libraries of the first of them, which may be removed. Its
 * standard error is a pipe to this function until it replaces that by /dev/null, so that
 * an error that keeps it from starting is reported. It is an orphan from the start:
 * neither wait() nor SIGCHLD of this process ever reports it, unless this process is the
 * reaper of orphans (PR_SET_CHILD_SUBREAPER, or process 1). ROCIN_IDLE_MS, if
 * rn_rocind_is_idle_time(), becomes its --idle-ms option.
 *
 * Return: 0 (a daemon listens, perhaps started by another process), -ETIMEDOUT, -EIO (it
 *	   failed, and @err says why), or why no process could be created.
 */
int rn_rocind_start(const char *path, const char *dir, int timeout_ms, char *err,
		    size_t err_len);

/* Is @value a number of milliseconds that rocind's option --idle-ms accepts? */
bool rn_rocind_is_idle_time(const char *value);

#endif /* RN_ROCIND_START_H */
