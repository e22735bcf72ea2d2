/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uverbs.h - answers the ioctl requests that libibverbs sends to a uverbs device.
 *
 * The provider executes nearly every verb without an ioctl. But libibverbs itself sends
 * some requests to the kernel: one that finds out whether the kernel has the ioctl
 * interface, those for a new completion channel, and those for the GID table.
 *
 * Threads: any. There is no state: a descriptor is recognised by its device number, so
 * dup(), close(), fork() and close_range() need no hooks.
 */
#ifndef RNK_UVERBS_H
#define RNK_UVERBS_H

#include <stdbool.h>

/* Returns true if this is a verbs request to a device of Rocin, whose device file is a
 * link to /dev/null (character device 1:3). No program sends verbs requests to /dev/null
 * for another reason. Keeps errno.
 */
bool rnk_is_uverbs_request(int fd, unsigned long request);

/**
 * rnk_uverbs_ioctl() - Answer a verbs request
 * @arg:	struct ib_uverbs_ioctl_hdr with its attributes,
 *		<rdma/rdma_user_ioctl_cmds.h>
 *
 * Return: 0, or -errno as the kernel would return it:
 * -ENOSPC		the probe for the ioctl interface; or a buffer is too short
 * -EPROTONOSUPPORT	the method is not offered: libibverbs takes its fallback (for the
 *			GID table: sysfs)
 * -EOPNOTSUPP		the write() command is not offered: the verb is not supported
 * -EINVAL		the request is malformed
 * -EFAULT		@arg is NULL
 * or an error of rnk_event_fd_open().
 */
int rnk_uverbs_ioctl(void *arg);

/**
 * rnk_event_fd_open() - Open a descriptor for a completion channel or an event queue
 * @proc_fd_dir:	"/proc/self/fd", or another directory in a test
 * @fifo_dir:		Directory for a temporary FIFO where @proc_fd_dir does not work;
 *			or NULL
 *
 * The descriptor is both ends of a pipe: what is written to it can be read from it, in
 * the same order. Since the descriptor is its own writer there is never an end of file,
 * POLLHUP or SIGPIPE, and O_NONBLOCK set by the program works. To write events, the
 * provider opens the pipe a second time by /proc/self/fd.
 *
 * The descriptor is close-on-exec and above the three standard ones. This library does
 * not remember it, so the program may close it in any way.
 *
 * Return: the descriptor, or -errno (EMFILE, ENFILE, ENOMEM; or why no FIFO could be
 * made). Threads: any; not a cancellation point; keeps no state.
 */
int rnk_event_fd_open(const char *proc_fd_dir, const char *fifo_dir);

#endif /* RNK_UVERBS_H */
