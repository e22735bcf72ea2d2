/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree.h - `rocin devices --tree`. */
#ifndef RN_TREE_H
#define RN_TREE_H

#include "rocin/types.h"

/* Prints the topology of a file, and the routes that follow from it. @path NULL: no file
 * was named. Returns the exit status.
 */
int rn_devices_tree(const char *path, bool json);

#endif /* RN_TREE_H */
