/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files.h - files that are read or written as a whole. */
#ifndef RN_FILES_H
#define RN_FILES_H

#include <stdio.h>
#include <sys/types.h>

#include "rocin/types.h"

/**
 * rn_file_read() - Read a file to its end
 * @path:	File; a pipe will do
 * @max:	Bytes that it may have
 * @bytes:	Out: what is in it and a NUL behind that, the caller's to free; NULL on
 *		failure
 *
 * The bytes are a copy: whoever makes a mapped file shorter would end the program.
 *
 * Return: how many they are, or -errno; -EFBIG: more than @max.
 */
ssize_t rn_file_read(const char *path, size_t max, char **bytes);

/* The number at the beginning of a file, as many below /proc have one; -1: there is none.
 */
long rn_file_number(const char *path);

/* Called with each line, which ends with NUL instead of a newline, and its number from 1
 * on. Return: 0, or what ends the reading.
 */
typedef int (*rn_file_line)(void *ctx, char *line, unsigned number);

/* Read a file line by line. Return: 0, what @line ended with, or -errno of open(). */
int rn_file_lines(const char *path, rn_file_line line, void *ctx);

/* Write @path anew by @print, which returns 0 or -errno. Return: 0 or -errno, also of
 * what was still to be written when it was closed.
 */
typedef int (*rn_file_print)(FILE *to, const void *what);
int rn_file_write(const char *path, rn_file_print print, const void *what);

#endif /* RN_FILES_H */
