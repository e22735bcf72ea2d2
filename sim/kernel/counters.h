/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters.h - the files of counters in sysfs, which are written when they are opened.
 *
 * A kernel makes the text of such a file when it is read. Here the files are in the tree,
 * and the preloaded library writes what the counters are before the program opens one, or
 * a directory of them. So a file that stays open has what it had when it was opened, and
 * one that is opened by a name relative to its directory what it had when that was.
 *
 * Threads: any; no state.
 */
#ifndef RNK_COUNTERS_H
#define RNK_COUNTERS_H

/* Writes the counters of a port, if @path is a directory of counters in the tree, or one
 * of its files. Keeps errno; not a cancellation point.
 */
void rnk_counters_refresh(const char *path);

#endif /* RNK_COUNTERS_H */
