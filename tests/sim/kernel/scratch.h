/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scratch.h - an empty directory for each test, with a space in its name. */
#ifndef RN_TEST_KERNEL_SCRATCH_H
#define RN_TEST_KERNEL_SCRATCH_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static char parent[PATH_MAX]; /* canonical */

static inline int make_parent(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%.2000s/rocin test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(path) && realpath(path, parent) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int flag,
			     struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static inline int remove_parent(void **state)
{
	(void)state;
	return nftw(parent, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif /* RN_TEST_KERNEL_SCRATCH_H */
