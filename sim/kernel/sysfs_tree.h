/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_tree.h - the part of /sys and /dev that a kernel with our devices would show.
 *
 * A tree is a directory of plain files and symbolic links:
 *
 *   TREE/sys/class/infiniband/rocin0 -> ../../devices/virtual/rocin/rocin0.nic/...
 *   TREE/sys/class/infiniband_verbs/uverbs_rocin0 -> likewise
 *   TREE/sys/devices/virtual/rocin/rocin0.nic/{infiniband,infiniband_verbs,net}/...
 *   TREE/dev/infiniband/uverbs_rocin0 -> /dev/null
 *
 * The preload library (redirect.h) shows it to a program that runs with ROCIN_TREE=TREE.
 * Real RDMA devices of the machine are linked in beside ours. TREE/dev/infiniband/rdma_cm
 * is ours, though: a connection manager can serve one kind of devices only.
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
 * @n:		How many, at least 1
 * @path:	Out: absolute, canonical path of the tree, for ROCIN_TREE
 * @path_len:	Bytes in @path
 * @err:	Out on failure: one sentence for a person, without a newline
 * @err_len:	Bytes in @err
 *
 * The last component of @path is a hash of the content, so equal devices give the same
 * tree. One that exists is used as it is: libibverbs knows a device by the modification
 * time of its directory, which must not change while programs run. Only what is missing
 * or differs (a cleaner of old files was there, or rn_sysfs_tree_update()) is put right.
 * A new tree appears under its name complete.
 *
 * Return: 0, -ENAMETOOLONG (@path_len, or too long for paths below it), or what the file
 *	   system answered (-ENOENT, -EACCES, -ENOSPC, -EROFS ...).
 */
int rn_sysfs_tree_write(const char *parent_dir, const struct rn_netdev *devs, unsigned n,
			char *path, size_t path_len, char *err, size_t err_len);

/**
 * rn_sysfs_tree_update() - Addresses or links have changed
 * @path:	Tree made for devices of the same names
 * @devs:	The devices as they are now; those not given keep what they have
 * @n:		How many
 *
 * Rewrites, in place, the files about port state and GIDs whose text differs. Adds,
 * removes and renames nothing, so no directory changes its modification time. A file is
 * one write() long; a reader that comes between that and the cut to a shorter length sees
 * the end of the old text behind the new line.
 *
 * Return: 0, -ENOENT (no such tree or device in it), or what the file system answered.
 */
int rn_sysfs_tree_update(const char *path, const struct rn_netdev *devs, unsigned n);

/* ---- What stands in a generated tree: every directory, file and link ---- */

enum rn_sysfs_kind {
	RN_SYSFS_DIR,
	RN_SYSFS_FILE,
	RN_SYSFS_LINK
};

struct rn_sysfs_entry {
	enum rn_sysfs_kind kind;
	bool live;	  /* a file that follows addresses and link while programs run */
	const char *path; /* below the tree, no leading slash */
	const char *content; /* text of a file, target of a link, "" for a directory */
};

/* Valid during the call only. Return: 0 to go on, or -errno to stop. */
typedef int rn_sysfs_visit_fn(void *ctx, const struct rn_sysfs_entry *entry);

/* ---- Links from a generated tree to the real RDMA devices of the machine ---- */

/**
 * rn_sysfs_visit_real() - Links that keep real devices visible beside ours
 * @sys:	"/sys", or what a test puts in its place
 * @dev:	"/dev", likewise
 * @visit:	Called with each link, sorted by name
 * @ctx:	Passed on
 *
 * Emits nothing on a machine without an RDMA device (the kernel's class directories may
 * exist and be empty). Otherwise: the entries of both classes and of /dev/infiniband
 * (umad too, but not rdma_cm), and the other RDMA classes as a whole. The targets are
 * where the kernel's own links lead. Devices of another generated tree are not real.
 *
 * Return: 0, the first answer of @visit that was not 0, or -ENOMEM.
 */
int rn_sysfs_visit_real(const char *sys, const char *dev, rn_sysfs_visit_fn *visit,
			void *ctx);

#endif /* RN_SYSFS_TREE_H */
