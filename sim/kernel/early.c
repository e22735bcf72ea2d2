/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* early.c - bare system calls, for what is called before our constructor has run.
 *
 * open() and openat() stand for their 64-bit twins too: with O_LARGEFILE both do the
 * same.
 */
#include "early.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static int early_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dirfd, path, flags | O_LARGEFILE, mode);
}

/* __O_TMPFILE includes the bit of O_DIRECTORY. */
static bool wants_mode(int flags)
{
	return (flags & O_CREAT) || (flags & __O_TMPFILE) == __O_TMPFILE;
}

int rnk_early_open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (wants_mode(flags)) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return early_openat(AT_FDCWD, path, flags, mode);
}

int rnk_early_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (wants_mode(flags)) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return early_openat(dirfd, path, flags, mode);
}

int rnk_early_access(const char *path, int mode)
{
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

ssize_t rnk_early_readlink(const char *path, char *buf, size_t len)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, buf, len);
}

int rnk_early_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

int rnk_early_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}

ssize_t rnk_early_write(int fd, const void *buf, size_t len)
{
	return syscall(SYS_write, fd, buf, len);
}

/* The kernel's sets have a bit for each of its 64 signals. */
int rnk_early_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, sizeof(uint64_t));
}

int rnk_early_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}
