/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event_pipe.c - the writing side of an event queue; see event_pipe.h.
 *
 * Opening /proc/self/fd/N gives a new description of the same pipe with flags of its own,
 * so writes and purges never block whatever the program did to its descriptor. Where
 * /proc is missing the program's description has to do.
 *
 * Bare system calls: read(), write(), open() and close() are cancellation points.
 */
#include "event_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "provider/engine/fd.h"

enum {
	PIPE_BYTES_MAX = 1 << 20, /* what an unprivileged process may ask for, pipe(7) */
	PURGE_BATCH = 4096,	  /* bytes; a multiple of every record length */
};

static ssize_t write_raw(int fd, const void *buf, size_t len)
{
	if (!rn_own_fd_is_there(fd)) { /* it would be a file of the program's */
		errno = EBADF;
		return -1;
	}
	return (ssize_t)syscall(SYS_write, fd, buf, len);
}

static ssize_t read_raw(int fd, void *buf, size_t len)
{
	if (!rn_own_fd_is_there(fd)) {
		errno = EBADF;
		return -1;
	}
	return (ssize_t)syscall(SYS_read, fd, buf, len);
}

/* As rnp_fd_own(), with -errno. */
static int above_stdio(int fd)
{
	fd = rnp_fd_own(fd);
	return fd < 0 ? -errno : fd;
}

/* A description of its own of the pipe @fd, which may be anything from 0 on; or -errno.
 */
static int open_again(int fd, int flags)
{
	char path[32];
	long again;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags);
	return again < 0 ? -errno : (int)again;
}

static int reopen(int fd, int flags)
{
	int again = open_again(fd, flags);

	return again < 0 ? again : above_stdio(again);
}

int rnp_event_fd_new(void)
{
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	/* The program's, whose library closes it. */
	fd = open_again(pair[0], 0);
	if (fd >= 0) {
		fd = rnp_fd_above_std(fd);
		fd = fd < 0 ? -errno : fd;
	}
	rn_fd_close(pair[0]);
	rn_fd_close(pair[1]);
	return fd;
}

static void init(struct rnp_event_pipe *pipe, size_t record_len)
{
	pthread_mutex_init(&pipe->lock, NULL);
	pipe->record_len = record_len;
}

int rnp_event_pipe_attach(struct rnp_event_pipe *pipe, int fd, size_t record_len)
{
	int own = reopen(fd, O_NONBLOCK);

	pipe->shared = own < 0;
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (own < 0)
		return -errno;
	pipe->read_fd = pipe->write_fd = own;
	init(pipe, record_len);
	return 0;
}

/* Two ends: the program gets one, we keep a copy of it and the other. */
static int open_two_ends(struct rnp_event_pipe *pipe, size_t record_len)
{
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	fd = fcntl(pair[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0) {
		fd = -errno;
		rn_fd_close(pair[0]);
		rn_fd_close(pair[1]);
		return fd;
	}
	pipe->read_fd = above_stdio(pair[0]);
	pipe->write_fd = above_stdio(pair[1]);
	if (pipe->read_fd < 0 || pipe->write_fd < 0) {
		if (pipe->read_fd >= 0)
			rn_fd_close(pipe->read_fd);
		if (pipe->write_fd >= 0)
			rn_fd_close(pipe->write_fd);
		rn_fd_close(fd);
		return -EMFILE;
	}
	pipe->shared = true;
	init(pipe, record_len);
	return fd;
}

int rnp_event_pipe_open(struct rnp_event_pipe *pipe, size_t record_len)
{
	int fd = rnp_event_fd_new();
	int rc;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	if (fd < 0)
		return open_two_ends(pipe, record_len);
	rc = rnp_event_pipe_attach(pipe, fd, record_len);
	if (rc) {
		rn_fd_close(fd);
		return rc;
	}
	return fd;
}

void rnp_event_pipe_close(struct rnp_event_pipe *pipe)
{
	rn_fd_close(pipe->read_fd);
	if (pipe->write_fd != pipe->read_fd)
		rn_fd_close(pipe->write_fd);
	pthread_mutex_destroy(&pipe->lock);
}

static bool has_room(const struct rnp_event_pipe *pipe)
{
	struct pollfd p = { .fd = pipe->write_fd, .events = POLLOUT };
	static const struct timespec at_once;

	/* Only needed where a write could block: we are the only writer. */
	if (!pipe->shared)
		return true;
	return syscall(SYS_ppoll, &p, 1, &at_once, NULL, 8) == 1 && (p.revents & POLLOUT);
}

static bool enlarge(const struct rnp_event_pipe *pipe)
{
	int size = fcntl(pipe->write_fd, F_GETPIPE_SZ);

	return size > 0 && size < PIPE_BYTES_MAX &&
	       fcntl(pipe->write_fd, F_SETPIPE_SZ, 2 * size) > size;
}

/* Records are far shorter than PIPE_BUF: written whole or not at all. */
static bool write_locked(struct rnp_event_pipe *pipe, const void *record)
{
	for (;;) {
		if (has_room(pipe)) {
			ssize_t n = write_raw(pipe->write_fd, record, pipe->record_len);

			if (n == (ssize_t)pipe->record_len)
				return true;
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				return false;
		}
		if (!enlarge(pipe))
			return false;
	}
}

bool rnp_event_pipe_write(struct rnp_event_pipe *pipe, const void *record)
{
	int saved_errno = errno;
	bool ok;

	pthread_mutex_lock(&pipe->lock);
	ok = write_locked(pipe, record);
	pthread_mutex_unlock(&pipe->lock);
	errno = saved_errno;
	return ok;
}

/* ------------------------------------------------------------------------ purge */
static bool is_of(const void *record, const void *object)
{
	uint64_t element;

	memcpy(&element, record, sizeof(element));
	return element == (uintptr_t)object;
}

/* Read up to @len bytes, whole records, without waiting. The number of bytes, 0 if none.
 */
static size_t read_waiting(const struct rnp_event_pipe *pipe, char *buf, size_t len)
{
	int flags = pipe->shared ? fcntl(pipe->read_fd, F_GETFL) : -1;
	bool change = flags >= 0 && !(flags & O_NONBLOCK);
	ssize_t n;

	if (change)
		fcntl(pipe->read_fd, F_SETFL, flags | O_NONBLOCK);
	do
		n = read_raw(pipe->read_fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (change)
		fcntl(pipe->read_fd, F_SETFL, flags);
	return n < 0 ? 0 : (size_t)n;
}

/* Once round the pipe: what is read and not wanted out goes back in at the end, for which
 * there is room because nobody else writes.
 */
static unsigned purge_locked(struct rnp_event_pipe *pipe, const void *object)
{
	char buf[PURGE_BATCH];
	unsigned count = 0;
	int waiting = 0;
	size_t left, n;

	if (ioctl(pipe->read_fd, FIONREAD, &waiting) < 0 || waiting < 0)
		return 0;
	for (left = (size_t)waiting; left > 0; left -= n) {
		n = read_waiting(pipe, buf, left < sizeof(buf) ? left : sizeof(buf));
		if (n == 0)
			break;
		for (size_t at = 0; at < n; at += pipe->record_len) {
			if (is_of(buf + at, object))
				count++;
			else
				write_locked(pipe, buf + at);
		}
	}
	return count;
}

unsigned rnp_event_pipe_purge(struct rnp_event_pipe *pipe, const void *object)
{
	int saved_errno = errno;
	unsigned count;

	pthread_mutex_lock(&pipe->lock);
	count = purge_locked(pipe, object);
	pthread_mutex_unlock(&pipe->lock);
	errno = saved_errno;
	return count;
}
