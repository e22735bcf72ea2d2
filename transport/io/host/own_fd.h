/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_fd.h - descriptors of ours in other people's processes.
 *
 * A program may close what it does not know, all from 3 on for instance. Where somebody
 * sees its calls of close() and their kind (sim/kernel), what is kept here stays open:
 * to the program it is as if it was not there. Others close by bare system calls, and
 * then open files of their own, which get our numbers: so what is kept is known by its
 * inode too, and nothing but that is closed as ours.
 *
 * Threads: any; rn_own_fd_next() is async-signal-safe.
 */
#ifndef RN_OWN_FD_H
#define RN_OWN_FD_H

#include "rocin/types.h"

#define RN_FD_WATCH_SYMBOL "rocin_watch_fds"

enum {
	RN_OWN_FD_MAX = 1 << 16, /* larger ones are not kept: nobody has so many */
	RN_OWN_FD_NONE = INT32_MAX,
};

/* The first descriptor from @from on that is kept; RN_OWN_FD_NONE: there is none, or
 * this is a child of the process that keeps them.
 */
typedef int rn_own_fd_next_fn(int from);
rn_own_fd_next_fn rn_own_fd_next;

/* What the library that sees the calls exports by the name above. */
typedef void rn_fd_watch_fn(rn_own_fd_next_fn *next);

/* Keep @fd until rn_own_fd_forget(), which goes before close(). Return: @fd. One below 0
 * is ignored.
 */
int rn_own_fd_keep(int fd);

/* Return: false if @fd was kept and is something else now, which is not ours to close. */
bool rn_own_fd_forget(int fd);

/* Is @fd, if it is kept, still what it was? For where a system call does not matter. */
bool rn_own_fd_is_there(int fd);

/* Are all that are kept? A system call for each. */
bool rn_own_fd_all_there(void);

/* ------------------------------------------------- descriptors, kept or not */
/* Moves a descriptor above the three standard ones, for programs that close and reopen
 * those. Return: the descriptor, close-on-exec; or -errno with @fd closed.
 */
int rn_fd_raise(int fd);

/* Raises and keeps a descriptor that a system call has just made; -1 stays -1. Return: the
 * descriptor, or -1 with errno.
 */
int rn_fd_own(int fd);

/* close(), which is no cancellation point here; nothing if @fd was kept and is something
 * else now. (Not by syscall(2): ThreadSanitizer would take the next owner of the number
 * for this one.)
 */
void rn_fd_close(int fd);

#endif /* RN_OWN_FD_H */
