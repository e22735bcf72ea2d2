/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* free_name.h - a file to write to that no other process is writing to. */
#ifndef RN_FREE_NAME_H
#define RN_FREE_NAME_H

#include <stddef.h>

enum {
	RN_FREE_NAME_MAX = 4096 /* bytes of a name, with the 0 */
};

/**
 * rn_free_name_open() - Create, lock and empty a file
 * @path:	Out: its name, with nothing left to replace
 * @size:	Bytes of @path
 * @pattern:	Name; "%p" in it stands for the process id. A file that is being written
 *		to is left alone: ".PID" is added to the name then (and a number, if that
 *		is taken too). An old file is overwritten.
 *
 * Return: a descriptor above 2, open for reading and writing, close-on-exec, with a
 *	   flock() on it; -ENAMETOOLONG, or why the file cannot be written.
 */
int rn_free_name_open(char *path, size_t size, const char *pattern);

#endif /* RN_FREE_NAME_H */
