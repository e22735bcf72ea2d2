/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters.h - the files of counters in sysfs, which are written when they are opened.
 *
 * A kernel makes the text of such a file when it is read. In the simulated sysfs, the
 * tree, it is a plain file; the preloaded library writes the present values of the
 * counters before the program opens a file or the directory. So a file that stays open
 * keeps the value of the time when it was opened. A file that is opened by a name
 * relative to its open directory has the value of the time when the directory was opened.
 *
 * Threads: any; no state.
 */
#ifndef RNK_COUNTERS_H
#define RNK_COUNTERS_H

/* Writes the present values into the files of a port's counters, if @path is a directory
 * of counters in the tree (all of them) or one of the files (that one). Keeps errno; not
 * a cancellation point.
 */
void rnk_counters_refresh(const char *path);

#endif /* RNK_COUNTERS_H */
