/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_file.h - a file that only the process which opened it writes to: no other process
 * was writing to it when it was opened, and none does afterwards.
 *
 * A fork child inherits buffered data, but nothing of it reaches the file, not even at
 * the child's exit. After the first failure the file ends, and so it does at the limit on
 * file sizes (RLIMIT_FSIZE), beyond which a program would be killed.
 *
 * Threads: a file belongs to one lock.
 */
#ifndef RN_OWN_FILE_H
#define RN_OWN_FILE_H

#include <sys/types.h>

#include "rocin/types.h"

enum {
	RN_FREE_NAME_MAX = 4096 /* bytes of a name, including the NUL */
};

/**
 * rn_free_name_open() - Create, lock and empty a file
 * @path:	Out: the name of the file, with "%p" replaced
 * @size:	Bytes of @path
 * @pattern:	Name; "%p" in it stands for the process id. If another process is writing
 *		to that file, ".PID" is added to the name (and a number, if that is taken,
 *		too). An old file is overwritten.
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

/* @fd is an empty file, and stays the caller's. */
void rn_own_file_init(struct rn_own_file *f, int fd);

/* Write all of @data or, without telling, as much as is possible. */
void rn_own_file_write(struct rn_own_file *f, const void *data, size_t len);

#endif /* RN_OWN_FILE_H */
