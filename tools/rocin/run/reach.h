/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reach.h - shows the devices to programs that LD_PRELOAD does not reach, by a mount
 * namespace (rocin run --reach=all).
 */
#ifndef RN_REACH_H
#define RN_REACH_H

#include <stddef.h>

/**
 * rn_reach_enter() - Move this process to a namespace where /sys and /dev have the tree
 * @tree:	Tree of simulated files (sim/sysfs/sysfs_tree.h)
 * @err:	Out on failure: error text
 *
 * The process gets a mount namespace and, unless it may mount file systems anyway, a user
 * namespace with its own user and group IDs. What the tree has and the machine has not
 * appears at its place; all else stays as it is. Programs that the process executes find
 * the same.
 *
 * Return: 0 or -errno; on failure the process may be in the new namespaces already.
 */
int rn_reach_enter(const char *tree, char *err, size_t err_len);

/* Starts a process that brings the counters in the tree up to date once per second, until
 * this process, or the program that it executes, ends. The environment must be that of
 * the program: the preloaded library writes the counters. Returns 0 or -errno.
 */
int rn_reach_keep_counters(void);

#endif /* RN_REACH_H */
