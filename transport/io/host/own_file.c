/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_file.c - see own_file.h. */
#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	NAME_TRIES = 64, /* names that are tried after the one that was given */
};

/* Copy @pattern with "%p" replaced by the process id. Return: false if the result does
 * not fit.
 */
static bool expand_pid(char *out, size_t out_len, const char *pattern)
{
	size_t n = 0;

	while (*pattern && n < out_len) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			n += (size_t)snprintf(out + n, out_len - n, "%d", (int)getpid());
			pattern += 2;
		} else {
			out[n++] = *pattern++;
		}
	}
	if (n >= out_len)
		return false;
	out[n] = '\0';
	return true;
}

/* Open, lock and empty the file @name. Return: the descriptor; -EWOULDBLOCK if another
 * process holds the lock, that is, writes to the file; or another -errno.
 */
static int open_locked(const char *name)
{
	int low = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int fd, err = 0;

	if (low < 0)
		return -errno;
	fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, 0) < 0)
		err = -errno;
	close(low);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int rn_free_name_open(char *path, size_t size, const char *pattern)
{
	size_t base;
	int fd;

	if (!expand_pid(path, size, pattern))
		return -ENAMETOOLONG;
	base = strlen(path);
	fd = open_locked(path);
	for (unsigned i = 0; fd == -EWOULDBLOCK && i < NAME_TRIES; i++) {
		char tail[32];
		int n = i == 0 ? snprintf(tail, sizeof(tail), ".%d", (int)getpid())
			       : snprintf(tail, sizeof(tail), ".%d.%u", (int)getpid(), i);

		if (base + (size_t)n >= size)
			return -ENAMETOOLONG;
		memcpy(path + base, tail, (size_t)n + 1);
		fd = open_locked(path);
	}
	return fd;
}

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
