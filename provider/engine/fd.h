/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fd.h - descriptors in other people's processes: close-on-exec and above 2. */
#ifndef RNP_FD_H
#define RNP_FD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"

/* @fd, or a duplicate above the three standard ones in its place, for programs that close
 * and reopen those. -1 stays -1 (errno kept).
 */
static inline int rnp_fd_above_std(int fd)
{
	int high, saved;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	saved = errno;
	close(fd);
	errno = saved;
	return high;
}

/* And of ours, to be closed by rn_fd_close(). */
static inline int rnp_fd_own(int fd)
{
	return rn_own_fd_keep(rnp_fd_above_std(fd));
}

#endif /* RNP_FD_H */
