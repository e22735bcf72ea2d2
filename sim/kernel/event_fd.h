/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event_fd.h - the descriptor behind a completion channel or an asynchronous event queue.
 */
#ifndef RNK_EVENT_FD_H
#define RNK_EVENT_FD_H

/**
 * rnk_event_fd_open() - A pipe whose two ends are one descriptor
 * @proc_fd_dir:	"/proc/self/fd", or where a test wants it
 * @fifo_dir:		Directory for a moment's FIFO where that does not work; may be
 * NULL
 *
 * Reading returns what was written, in order. Since the descriptor is its own writer
 * there is never an end of file, POLLHUP or SIGPIPE, and O_NONBLOCK set by the program
 * works. The provider opens a description of its own from /proc/self/fd to write events.
 *
 * Close-on-exec, and above the three standard descriptors. Nobody keeps a record of it:
 * the program may close it in whatever way it likes.
 *
 * Return: the descriptor, or -errno (EMFILE, ENFILE, ENOMEM; or why no FIFO could be
 * made). Threads: any; not a cancellation point; keeps no state.
 */
int rnk_event_fd_open(const char *proc_fd_dir, const char *fifo_dir);

#endif /* RNK_EVENT_FD_H */
