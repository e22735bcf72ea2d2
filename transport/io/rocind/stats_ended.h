/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_ended.h - the counters of programs that have ended, by device.
 *
 * The counters of a port, which sysfs shows, must not decrease when a program that used
 * the port ends. So when rocind learns that a program has ended, it adds the program's
 * counters to a file in the runtime directory. The sums outlive rocind, and are lost
 * only with that directory. A reader adds the counters of the running programs
 * (stats_pages.h).
 *
 * Threads: any may read; one rocind writes.
 */
#ifndef RN_STATS_ENDED_H
#define RN_STATS_ENDED_H

#include "rocin/stats.h"

/**
 * rn_stats_ended_add() - Add the counters of a program that has ended
 * @dir:	The runtime directory
 * @ibdev:	Name of the device
 * @page_fd:	The program's statistics page
 *
 * A page that was added already is not added again: a rocind may have added it and died
 * before it could forget the program. Return: 0, or -errno.
 */
int rn_stats_ended_add(const char *dir, const char *ibdev, int page_fd);

/**
 * rn_stats_ended_read() - Read the counters of programs that have ended
 * @dir:	The runtime directory
 * @counter:	Out: the sums of this device, zero if there are none
 *
 * Return: the number of programs that have ended so far. To add the counters of all
 * programs, call this before and after reading those of the programs that run: if the
 * number is the same, each program was counted exactly once.
 */
uint64_t rn_stats_ended_read(const char *dir, const char *ibdev,
			     uint64_t counter[RN_STAT_COUNT]);

#endif /* RN_STATS_ENDED_H */
