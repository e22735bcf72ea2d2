/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* redirect.h - which paths belong to the stand-in, and where they really lie.
 *
 * ROCIN_TREE names a directory that holds what the kernel would show
 * (sysfs_tree.h): "/sys/class/infiniband/x" becomes "TREE/sys/class/infiniband/x".
 * Without a usable ROCIN_TREE no path is ours and nothing else is touched.
 *
 * Only absolute paths are mapped. A relative one starts at a working directory or a
 * descriptor that already lies inside the tree, where the kernel finds its own way.
 *
 * Threads: any. Nothing here allocates, locks or changes errno, so all of it may be
 * called from a signal handler and between vfork() and exec().
 */
#ifndef RNK_REDIRECT_H
#define RNK_REDIRECT_H

#include <alloca.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * rnk_tree_set() - Choose the tree
 * @path:	Absolute path of a tree, or NULL for none
 *
 * A path that is not absolute, too long, or does not hold a complete tree counts as
 * none. Called once with ROCIN_TREE, by the constructor or by the first hook that runs
 * before it; tests call it directly.
 *
 * Return: true if there is a tree now.
 */
bool rnk_tree_set(const char *path);

/* Switch off for good: as if ROCIN_TREE were not set. */
void rnk_tree_disable(void);

/* The tree, canonical and without a trailing slash, or NULL. Reads ROCIN_TREE at the
 * first call (never in a set-user-ID program).
 */
const char *rnk_tree(void);

/**
 * rnk_mapped_size() - Is this path ours?
 * @path:	Path as the program gave it; NULL is not ours
 *
 * Components "." and "" are skipped and ".." taken back before the comparison. Of paths
 * that do not begin with /sys, /dev or a dot no more than the first letter is looked at.
 *
 * Return: bytes that rnk_map() will write, or 0 if the path is not ours.
 */
size_t rnk_mapped_size(const char *path);

/* Write where @path, for which rnk_mapped_size() said @size, lies. Return: @buf, or @path
 * if it has changed since.
 */
const char *rnk_map(const char *path, char *buf, size_t size);

/* The name under which a program knows @path: the part behind the tree, or all of it. */
const char *rnk_unmapped(const char *path);

/* @path itself, or its place in the tree in memory that lives until the caller returns.
 * (Not inside an argument list: alloca() may not be used there.)
 */
#define REDIRECT(path)                                                  \
	({                                                              \
		size_t size_ = rnk_mapped_size(path);                   \
                                                                        \
		size_ ? rnk_map((path), alloca(size_), size_) : (path); \
	})

#endif /* RNK_REDIRECT_H */
