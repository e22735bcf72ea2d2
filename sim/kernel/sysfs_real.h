/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_real.h - links from a generated tree to the machine's real RDMA devices. */
#ifndef RN_SYSFS_REAL_H
#define RN_SYSFS_REAL_H

#include "sysfs_entries.h"

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

#endif /* RN_SYSFS_REAL_H */
