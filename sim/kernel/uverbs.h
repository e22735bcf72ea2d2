/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uverbs.h - answers the ioctl requests that libibverbs sends to a uverbs device.
 *
 * Nearly every verb goes to the provider and never comes here. What comes is what
 * libibverbs asks the kernel on its own account: whether there is an ioctl interface, a
 * completion channel, the GID table.
 *
 * Threads: any. No state at all: a descriptor is recognised by what it is, so dup(),
 * close(), fork() and close_range() need no watching.
 */
#ifndef RNK_UVERBS_H
#define RNK_UVERBS_H

#include <stdbool.h>

/* Is this a request to one of our devices? They are /dev/null (character device 1:3)
 * under another name, and nothing else sends a verbs request to that. Keeps errno.
 */
bool rnk_is_uverbs_request(int fd, unsigned long request);

/**
 * rnk_uverbs_ioctl() - Answer a verbs request
 * @arg:	struct ib_uverbs_ioctl_hdr with its attributes,
 * <rdma/rdma_user_ioctl_cmds.h>
 *
 * Return: 0, or -errno as the kernel would give it:
 *	   -ENOSPC		the probe for the ioctl interface; arguments too short
 *	   -EPROTONOSUPPORT	method not offered: libibverbs takes its fallback
 *				(for the GID table: sysfs)
 *	   -EOPNOTSUPP		write() command not offered: the verb is not supported
 *	   -EINVAL		malformed
 *	   -EFAULT		@arg is NULL
 *	   what rnk_event_fd_open() failed with
 */
int rnk_uverbs_ioctl(void *arg);

/**
 * rnk_event_fd_open() - The descriptor behind a completion channel or an event queue
 * @proc_fd_dir:	"/proc/self/fd", or where a test wants it
 * @fifo_dir:		Directory for a moment's FIFO where that does not work; may be
 *			NULL
 *
 * It is a pipe whose two ends are one descriptor. Reading returns what was written, in
 * order. Since the descriptor is its own writer there is never an end of file, POLLHUP or
 * SIGPIPE, and O_NONBLOCK set by the program works. The provider opens a description of
 * its own from /proc/self/fd to write events.
 *
 * Close-on-exec, and above the three standard descriptors. Nobody keeps a record of it:
 * the program may close it in whatever way it likes.
 *
 * Return: the descriptor, or -errno (EMFILE, ENFILE, ENOMEM; or why no FIFO could be
 * made). Threads: any; not a cancellation point; keeps no state.
 */
int rnk_event_fd_open(const char *proc_fd_dir, const char *fifo_dir);

#endif /* RNK_UVERBS_H */
