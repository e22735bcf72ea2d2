/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fd_close.h - close() that is no cancellation point.
 *
 * Not by syscall(2): ThreadSanitizer would take the next owner of the number for this
 * one.
 */
#ifndef RN_FD_CLOSE_H
#define RN_FD_CLOSE_H

#include <pthread.h>
#include <unistd.h>

#include "own_fd.h"

static inline void rn_fd_close(int fd)
{
	int cancel_state;

	if (!rn_own_fd_forget(fd)) /* a file of the program's has the number */
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	close(fd);
	pthread_setcancelstate(cancel_state, NULL);
}

#endif /* RN_FD_CLOSE_H */
