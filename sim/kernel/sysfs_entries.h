/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_entries.h - what stands in a generated tree: every directory, file and link. */
#ifndef RN_SYSFS_ENTRIES_H
#define RN_SYSFS_ENTRIES_H

#include "rocin/netdev.h"

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

/**
 * rn_sysfs_visit_base() - Directories and files that do not depend on devices
 * rn_sysfs_visit_device() - Everything of one device
 *
 * Entries come in a fixed order, each directory before what it holds.
 *
 * Return: 0, or the first answer of @visit that was not 0.
 */
int rn_sysfs_visit_base(rn_sysfs_visit_fn *visit, void *ctx);
int rn_sysfs_visit_device(const struct rn_netdev *dev, rn_sysfs_visit_fn *visit,
			  void *ctx);

#endif /* RN_SYSFS_ENTRIES_H */
