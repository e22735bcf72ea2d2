/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_fd.h - our descriptors in other people's processes.
 *
 * A program may close descriptors that it does not know, for instance all from 3 on.
 * If sim/kernel intercepts its calls of close() and similar ones, the descriptors that
 * are kept here stay open: to the program they seem not to exist. Other programs close
 * them by bare system calls and then open files of their own, which get our numbers.
 * So a kept descriptor is also identified by its inode, and only if that agrees is it
 * closed as ours.
 *
 * Threads: any; rn_own_fd_next() is async-signal-safe.
 */
#ifndef RN_OWN_FD_H
#define RN_OWN_FD_H

#include "rocin/types.h"

#define RN_FD_WATCH_SYMBOL "rocin_watch_fds"

enum {
	RN_OWN_FD_MAX = 1 << 16, /* larger descriptors are not kept */
	RN_OWN_FD_NONE = INT32_MAX,
};

/* The first kept descriptor from @from on; RN_OWN_FD_NONE: there is none, or this is a
 * child of the process that keeps them.
 */
typedef int rn_own_fd_next_fn(int from);
rn_own_fd_next_fn rn_own_fd_next;

/* Type of the function RN_FD_WATCH_SYMBOL, which the library that intercepts the
 * calls exports.
 */
typedef void rn_fd_watch_fn(rn_own_fd_next_fn *next);

/* Keep @fd until rn_own_fd_forget(), which must be called before close(). Return: @fd; a
 * negative one is ignored.
 */
int rn_own_fd_keep(int fd);

/* Stop keeping @fd. Return: false if it was kept and is another file now, which we
 * must not close.
 */
bool rn_own_fd_forget(int fd);

/* Is @fd still the same file, if it is kept? Costs a system call. */
bool rn_own_fd_is_there(int fd);

/* Are all kept descriptors still the same files? Costs a system call for each. */
bool rn_own_fd_all_there(void);

/* ------------------------------------------------- descriptors, kept or not */
/* Move a descriptor above the three standard ones, for the sake of programs that close
 * and reopen those. Return: the descriptor, close-on-exec; or -errno with @fd closed.
 */
int rn_fd_raise(int fd);

/* Raises and keeps a descriptor that a system call has just made; -1 stays -1. Return:
 * the descriptor, or -1 with errno.
 */
int rn_fd_own(int fd);

/* As close(), but not a cancellation point; does nothing if @fd was kept and is another
 * file now. (Not by syscall(2): ThreadSanitizer would take the next owner of the number
 * for this one.)
 */
void rn_fd_close(int fd);

#endif /* RN_OWN_FD_H */
