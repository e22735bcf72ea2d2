/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_file.c - see own_file.h. */
#include "own_file.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

void rn_own_file_init(struct rn_own_file *f, int fd)
{
	struct rlimit limit;

	*f = (struct rn_own_file){ .fd = fd, .pid = getpid(), .left = UINT64_MAX };
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		f->left = limit.rlim_cur;
}

static bool write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return false;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

void rn_own_file_write(struct rn_own_file *f, const void *data, size_t len)
{
	size_t fits = len < f->left ? len : (size_t)f->left;

	if (getpid() != f->pid)
		return;
	if (write_all(f->fd, data, fits) && fits == len)
		f->left -= len;
	else
		f->left = 0;
}
