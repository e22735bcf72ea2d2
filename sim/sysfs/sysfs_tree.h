/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_tree.h - the part of /sys and /dev that a kernel with Rocin's devices would show.
 *
 * A tree is a directory of plain files and symbolic links:
 *
 *   TREE/sys/class/infiniband/rocin0 -> ../../devices/virtual/rocin/rocin0.nic/...
 *   TREE/sys/class/infiniband_verbs/uverbs_rocin0 -> likewise
 *   TREE/sys/devices/virtual/rocin/rocin0.nic/{infiniband,infiniband_verbs,net}/...
 *   TREE/dev/infiniband/uverbs_rocin0 -> /dev/null
 *
 * The preloaded library (redirect.h) redirects a program that runs with ROCIN_TREE=TREE
 * to the tree. Real RDMA devices of the machine appear there by links. Files of counters
 * hold 0 until the library writes them (counters.h). TREE/dev/infiniband/rdma_cm always
 * leads to Rocin, because a connection manager can serve only one kind of devices.
 *
 * Threads: any; no state but the file system. Several processes may write one tree.
 */
#ifndef RN_SYSFS_TREE_H
#define RN_SYSFS_TREE_H

#include "rocin/types.h"

struct rn_netdev;

/**
 * rn_sysfs_tree_write() - Make the tree for some devices
 * @parent_dir:	Existing directory, private to the user, in which trees are kept
 * @devs:	The devices; names and GUIDs differ
 * @n:		Number of devices, at least 1
 * @path:	Out: absolute, canonical path of the tree, for ROCIN_TREE
 * @path_len:	Bytes in @path
 * @err:	Out on failure: error text without a newline
 * @err_len:	Bytes in @err
 *
 * The last component of @path is a hash of the content, so equal devices have the
 * same tree. An existing tree is used as it is: libibverbs recognises a device by the
 * modification time of its directory, which must not change while programs run. Only
 * files that are missing or differ are written (old files may have been cleaned up,
 * or changed by rn_sysfs_tree_update()). A new tree is complete when it appears under
 * its name.
 *
 * Return: 0, -ENAMETOOLONG (longer than @path_len, or too long for paths below it), or an
 *	   error of the file system (-ENOENT, -EACCES, -ENOSPC, -EROFS ...).
 */
int rn_sysfs_tree_write(const char *parent_dir, const struct rn_netdev *devs, unsigned n,
			char *path, size_t path_len, char *err, size_t err_len);

/**
 * rn_sysfs_tree_update() - Update a tree after addresses or links have changed
 * @path:	Tree made for devices of the same names
 * @devs:	The devices as they are now; the files of other devices are not changed
 * @n:		Number of devices
 *
 * Rewrites, in place, the files of port state and GIDs whose text differs. Adds, removes
 * and renames nothing, so no directory changes its modification time. A file is written
 * by one write(), and truncated afterwards if the new text is shorter. A reader in
 * between sees the end of the old text behind the new line.
 *
 * Return: 0, -ENOENT (no such tree or device in it), or an error of the file system.
 */
int rn_sysfs_tree_update(const char *path, const struct rn_netdev *devs, unsigned n);

/* ---- Entries of a generated tree: directories, files and links ---- */

enum rn_sysfs_kind {
	RN_SYSFS_DIR,
	RN_SYSFS_FILE,
	RN_SYSFS_LINK
};

struct rn_sysfs_entry {
	enum rn_sysfs_kind kind;
	/* the file is updated while programs run, when addresses or link change */
	bool live;
	/* the file is written by other code; the tree only has to contain it */
	bool foreign;
	const char *path;    /* path below the tree, without a leading slash */
	const char *content; /* text of a file, target of a link, "" for a directory */
};

/* Called with each entry of a tree. @entry is valid during the call only. Returns 0 to
 * go on, or -errno to stop.
 */
typedef int rn_sysfs_visit_fn(void *ctx, const struct rn_sysfs_entry *entry);

/* ---- Links from a generated tree to the real RDMA devices of the machine ---- */

/**
 * rn_sysfs_visit_real() - Visit the links that keep real devices visible beside Rocin's
 * @sys:	"/sys", or another directory in a test
 * @dev:	"/dev", or another directory in a test
 * @visit:	Called with each link, sorted by name
 * @ctx:	Passed to @visit
 *
 * Visits nothing on a machine without an RDMA device (the kernel's class directories may
 * exist and be empty). Otherwise there are links for the entries of both classes and of
 * /dev/infiniband (umad too, but not rdma_cm), and for the other RDMA classes as a whole.
 * Each target is the real path of the entry. Devices of another generated tree do not
 * count as real.
 *
 * Return: 0, the first result of @visit that was not 0, or -ENOMEM.
 */
int rn_sysfs_visit_real(const char *sys, const char *dev, rn_sysfs_visit_fn *visit,
			void *ctx);

#endif /* RN_SYSFS_TREE_H */
