/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* redirect.h - finds the paths that belong to the simulated kernel, and maps them to
 * real files.
 *
 * ROCIN_TREE names a directory (the tree) with the files that a kernel with Rocin's
 * devices would show (sysfs_tree.h): "/sys/class/infiniband/x" becomes
 * "TREE/sys/class/infiniband/x". Without a usable ROCIN_TREE no path is mapped.
 *
 * Only absolute paths are mapped. A relative path starts at a working directory or a
 * descriptor that is in the tree already, so the kernel resolves it.
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
 * rnk_tree_set() - Set the tree of simulated files
 * @path:	Absolute path of a tree, or NULL for none
 *
 * If @path is not absolute, is too long, or has no complete tree below it, the function
 * acts as if it were NULL. Called once with ROCIN_TREE, by the constructor or by the
 * first hook that runs before it; tests call it directly.
 *
 * Return: true if there is a tree now.
 */
bool rnk_tree_set(const char *path);

/* Disables the tree for good, as if ROCIN_TREE were not set. */
void rnk_tree_disable(void);

/* Returns the path of the tree, canonical and without a trailing slash, or NULL. Reads
 * ROCIN_TREE at the first call (never in a set-user-ID program).
 */
const char *rnk_tree(void);

/**
 * rnk_mapped_size() - Tell whether a path belongs to the simulated kernel
 * @path:	Path as passed by the program; may be NULL, for which 0 is returned
 *
 * Components "." and "" are skipped and ".." is resolved before the comparison. For most
 * other paths this function looks only at the first character.
 *
 * Return: bytes that rnk_map() will write, or 0 if the path does not belong to the
 * simulated kernel.
 */
size_t rnk_mapped_size(const char *path);

/* Writes the path in the tree to which @path is mapped to @buf. @size: what
 * rnk_mapped_size() has returned for @path. Returns @buf, or @path if another thread has
 * changed the string since.
 */
const char *rnk_map(const char *path, char *buf, size_t size);

/* Returns the name by which a program knows @path. For a path in the tree of simulated
 * files, this is the part behind the name of the tree, such as "/sys/class/...".
 * Otherwise it is @path.
 */
const char *rnk_unmapped(const char *path);

/* Evaluates to @path or, if @path belongs to the simulated kernel, to the path in the
 * tree to which it is mapped. The result is valid until the calling function returns.
 * Must not be used inside an argument list, because alloca() must not.
 */
#define REDIRECT(path)                                                  \
	({                                                              \
		size_t size_ = rnk_mapped_size(path);                   \
                                                                        \
		size_ ? rnk_map((path), alloca(size_), size_) : (path); \
	})

#endif /* RNK_REDIRECT_H */
