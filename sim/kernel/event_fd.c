/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event_fd.c - the descriptor behind a completion channel or an asynchronous event queue.
 *
 * libc's functions and not bare system calls: ThreadSanitizer follows descriptors by
 * them, and would take one that came and went unseen for a race in the program.
 */
#include "event_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"

static int reopen(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_by_proc(const char *proc_fd_dir)
{
	char path[PATH_MAX];
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/%d", proc_fd_dir, pair[0]);
	fd = reopen(path);
	close(pair[0]);
	close(pair[1]);
	return fd;
}

/* A random name: process and thread numbers repeat where pid namespaces share a tree. */
static int open_by_fifo(const char *fifo_dir)
{
	char path[PATH_MAX];
	uint64_t nonce;
	int fd;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	(void)snprintf(path, sizeof(path), "%s/.event-%016" PRIx64, fifo_dir, nonce);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	fd = reopen(path);
	unlink(path);
	return fd;
}

static int open_event_fd(const char *proc_fd_dir, const char *fifo_dir)
{
	int fd = open_by_proc(proc_fd_dir);

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	/* No /proc here, or not for this process (it may not be dumpable). */
	if (fd < 0 && fifo_dir)
		fd = open_by_fifo(fifo_dir);
	return fd < 0 ? fd : rn_fd_raise(fd);
}

/* open() and close() are cancellation points, ioctl() is not; a thread cancelled in
 * ibv_create_comp_channel() would leak what is half made.
 */
int rnk_event_fd_open(const char *proc_fd_dir, const char *fifo_dir)
{
	int cancel_state;
	int fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	fd = open_event_fd(proc_fd_dir, fifo_dir);
	pthread_setcancelstate(cancel_state, NULL);
	return fd;
}
