/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters.h - the files of counters in sysfs, which are written when they are opened.
 *
 * A kernel makes the text of such a file when it is read. In the simulated sysfs it is a
 * plain file, into which the preloaded library writes the present value of the counter
 * before the program opens the file. So a file that stays open keeps the value that the
 * counter had then. When the program opens the directory, the library writes all files in
 * it; a file that is opened relative to the open directory has the value from that time.
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
