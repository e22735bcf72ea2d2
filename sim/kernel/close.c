/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* close.c - the hooks of what closes descriptors: those of the device (own_fd.h) stay
 * open, whatever the program closes that it has not opened.
 *
 * close() of one fails with EBADF, as of a descriptor that is not there; dup2() onto one
 * with EBUSY; ranges are closed without them. A fork child closes its copies.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "next.h"
#include "preload.h"
#include "transport/io/host/own_fd.h"

static _Atomic(rn_own_fd_next_fn *) next_own;

RNK_EXPORT void rocin_watch_fds(rn_own_fd_next_fn *next);

RNK_EXPORT void rocin_watch_fds(rn_own_fd_next_fn *next)
{
	atomic_store_explicit(&next_own, next, memory_order_release);
}

static unsigned next_from(unsigned fd)
{
	rn_own_fd_next_fn *next = atomic_load_explicit(&next_own, memory_order_acquire);

	return next && fd < RN_OWN_FD_MAX ? (unsigned)next((int)fd) : RN_OWN_FD_NONE;
}

static bool is_own(int fd)
{
	return fd >= 0 && next_from((unsigned)fd) == (unsigned)fd;
}

/* libc's parameter names are reserved.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */
RNK_EXPORT int close(int fd)
{
	if (is_own(fd)) {
		errno = EBADF;
		return -1;
	}
	return NEXT(close)(fd);
}

RNK_EXPORT int dup2(int fd, int onto)
{
	if (fd != onto && is_own(onto)) {
		errno = EBUSY;
		return -1;
	}
	return NEXT(dup2)(fd, onto);
}

RNK_EXPORT int dup3(int fd, int onto, int flags)
{
	if (fd != onto && is_own(onto)) {
		errno = EBUSY;
		return -1;
	}
	return NEXT(dup3)(fd, onto, flags);
}

RNK_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	unsigned own;
	int rc;

	for (own = next_from(first); own <= last && own < RN_OWN_FD_NONE;
	     own = next_from(first)) {
		rc = own > first ? NEXT(close_range)(first, own - 1, flags) : 0;
		if (rc)
			return rc;
		first = own + 1;
	}
	return first <= last ? NEXT(close_range)(first, last, flags) : 0;
}

RNK_EXPORT void closefrom(int low)
{
	unsigned first = low < 0 ? 0 : (unsigned)low, own;

	for (own = next_from(first); own < RN_OWN_FD_NONE; own = next_from(first)) {
		for (; first < own; first++)
			(void)NEXT(close)((int)first);
		first = own + 1;
	}
	NEXT(closefrom)((int)first);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
