/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own_file.h - an output file that is locked, so that only the process that has opened it
 * writes to it.
 *
 * In a fork child, rn_own_file_write() does nothing, so data that libc had buffered at
 * the fork does not reach the file twice. After the first failed write nothing more is
 * written; the same holds at the limit on file sizes (RLIMIT_FSIZE), because a write
 * beyond it would kill the program.
 *
 * Threads: the calls for one file are made under one lock.
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

#endif /* RN_OWN_FILE_H */
