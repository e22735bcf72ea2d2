/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_fd.h - the descriptors that Rocin opens in a program's process, and how they are
 * protected; and the files that it writes there.
 *
 * A program may close descriptors that it has not opened, for instance all from 3 on.
 * The preloaded library (sim/kernel), if there is one, intercepts the program's calls of
 * close() and similar functions. Then the descriptors that are kept here stay open, and
 * for the program they do not exist. A program that closes them by bare system calls may
 * then open a file of its own that gets the same number. So the inode of a kept
 * descriptor is recorded, and Rocin closes the descriptor only if its inode is still the
 * same.
 *
 * Threads: any; rn_own_fd_next() is async-signal-safe.
 */
#ifndef RN_OWN_FD_H
#define RN_OWN_FD_H

#include <sys/types.h>

#include "rocin/types.h"

#define RN_FD_WATCH_SYMBOL "rocin_watch_fds"

enum {
	/* Rocin records only descriptors below this number. */
	RN_OWN_FD_MAX = 1 << 16,
	RN_OWN_FD_NONE = INT32_MAX,
};

/* Return: the lowest kept descriptor that is @from or above; RN_OWN_FD_NONE if there is
 * none, or if this process is a fork child of the process that keeps them.
 */
typedef int rn_own_fd_next_fn(int from);
rn_own_fd_next_fn rn_own_fd_next;

/* Type of the function that the preloaded library exports under the name
 * RN_FD_WATCH_SYMBOL. own_fd.c calls it once, and passes rn_own_fd_next() as @next.
 */
typedef void rn_fd_watch_fn(rn_own_fd_next_fn *next);

/* Keep @fd: protect it from being closed by the program, until rn_own_fd_forget() is
 * called. That must be done before close(). A negative @fd is ignored. Return: @fd.
 */
int rn_own_fd_keep(int fd);

/* Stop keeping @fd. Return: true if the caller may close @fd; false if its number belongs
 * to another file now, which must not be closed.
 */
bool rn_own_fd_forget(int fd);

/* Return: true if the number @fd still stands for the file that Rocin keeps under it,
 * and also if @fd is not kept. Makes a system call.
 */
bool rn_own_fd_is_there(int fd);

/* Return: true if rn_own_fd_is_there() is true for all kept descriptors. Makes a system
 * call for each of them.
 */
bool rn_own_fd_all_there(void);

/* --------------------------------------------- functions for any descriptor */
/* Move @fd to a number above the three standard descriptors, because some programs close
 * and reopen these. Return: the new descriptor, which is close-on-exec; @fd if it is
 * above them already; -errno, and then @fd is closed.
 */
int rn_fd_raise(int fd);

/* Move a descriptor that a system call has just returned above the three standard ones,
 * and keep it. Return: the new descriptor; -1 with errno on failure. @fd may be -1, if
 * the system call has failed; then this returns -1 with the same errno.
 */
int rn_fd_own(int fd);

/* Stop keeping @fd and close it, unless the number belongs to another file now. Not a
 * cancellation point. (It calls close(), not syscall(2): ThreadSanitizer would otherwise
 * take the next file with this number for the same one.)
 */
void rn_fd_close(int fd);

/* ------------------------------------- output files in a program's process */
/* An output file that is locked, so that only the process that has opened it
 * writes to it.
 *
 * In a fork child, rn_own_file_write() does nothing, so data that libc had buffered at
 * the fork does not reach the file twice. After the first failed write nothing more is
 * written. The limit on file sizes (RLIMIT_FSIZE) counts as a failure, too, because a
 * write beyond it would kill the program.
 *
 * Threads: the calls for one file are made under one lock.
 */

enum {
	RN_FREE_NAME_MAX = 4096 /* bytes of a name, including the NUL */
};

/**
 * rn_free_name_open() - Create, lock and empty a file
 * @path:	Out: the name of the file, with "%p" replaced
 * @size:	Bytes of @path
 * @pattern:	Name; "%p" in it stands for the process id. If another process is writing
 *		to that file, ".PID" is added to the name; if that file is being written
 *		as well, also a number. An old file is overwritten.
 *
 * Return: a descriptor above 2, open for reading and writing, close-on-exec, with a
 *	   flock() on it; -ENAMETOOLONG, or why the file cannot be written.
 */
int rn_free_name_open(char *path, size_t size, const char *pattern);

struct rn_own_file {
	int fd;
	pid_t pid;
	uint64_t left; /* bytes that may still be written */
};

/* Begin to write to @fd, an empty file. The caller still closes @fd. */
void rn_own_file_init(struct rn_own_file *f, int fd);

/* Write @data. What cannot be written is dropped, and no error is reported. */
void rn_own_file_write(struct rn_own_file *f, const void *data, size_t len);

#endif /* RN_OWN_FD_H */
