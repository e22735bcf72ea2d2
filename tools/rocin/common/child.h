/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* child.h - child processes that do not outlive their parent. */
#ifndef RN_CHILD_H
#define RN_CHILD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Must be called in a child process. Makes the kernel kill the child when its parent
 * ends. @parent: process id of the parent, from getpid() before the fork. If the parent
 * has already ended, the kernel will not kill the child, so this function ends it.
 */
static inline void rn_end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

#endif /* RN_CHILD_H */
