/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files.h - reads and writes whole files. */
#ifndef RN_FILES_H
#define RN_FILES_H

#include <stdio.h>
#include <sys/types.h>

#include "rocin/types.h"

/**
 * rn_file_read() - Read a file to its end
 * @path:	File; may be a pipe
 * @max:	Maximum size in bytes
 * @bytes:	Out: the content, followed by a NUL, to be freed by the caller; NULL
 *	on failure
 *
 * The content is copied, not mapped: if another process truncated a mapped file, reading
 * it would end this program.
 *
 * Return: number of bytes, or -errno; -EFBIG if there are more than @max.
 */
ssize_t rn_file_read(const char *path, size_t max, char **bytes);

/* Reads the rest of an open stream, with the same arguments and results as
 * rn_file_read().
 */
ssize_t rn_stream_read(FILE *from, size_t max, char **bytes);

/* Returns the number at the beginning of a file, such as a file below /proc. Returns -1
 * if the file cannot be read or does not begin with a number.
 */
long rn_file_number(const char *path);

/* Function that is called for each line of a file. In @line, a NUL replaces the newline.
 * @number counts lines from 1. Returns 0, or another value to end the reading.
 */
typedef int (*rn_file_line)(void *ctx, char *line, unsigned number);

/* Reads a file line by line, and calls @line for each. Returns 0, the value with which
 * @line has ended the reading, or -errno if the file cannot be opened.
 */
int rn_file_lines(const char *path, rn_file_line line, void *ctx);

/* rn_file_write() creates the file @path, and calls @print to write its content. @print
 * returns 0 or -errno. rn_file_write() returns 0, or -errno if writing or closing the
 * file fails.
 */
typedef int (*rn_file_print)(FILE *to, const void *what);
int rn_file_write(const char *path, rn_file_print print, const void *what);

#endif /* RN_FILES_H */
