/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spawn.h - starts a program so that the rest of this process does not notice it: no
 * handler of fork() runs, no SIGCHLD comes, and no wait() of the process finds a child.
 * All functions may be called in signal handlers; they change errno.
 */
#ifndef RN_SPAWN_H
#define RN_SPAWN_H

#include "rocin/types.h"

enum {
	RN_SPAWN_FDS = 4
};

struct rn_spawn {
	const char *path;
	char *const *argv;
	char *const *envp;
	/* Entry i becomes descriptor i of the program. The descriptors come from the
	 * functions below.
	 */
	int fds[RN_SPAWN_FDS];
	int fd_count;
};

/* Starts the program. Returns 0 when it runs, or -errno. */
int rn_spawn(const struct rn_spawn *s);

/* Open /dev/null, and a pipe with @flags as for pipe2(). The descriptors are
 * close-on-exec, and their numbers are RN_SPAWN_FDS or above. Both return 0 or -errno; a
 * descriptor that could not be opened is set to -1.
 */
int rn_spawn_null(int *fd);
int rn_spawn_pipe(int *read_fd, int *write_fd, int flags);

#endif /* RN_SPAWN_H */
