/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gds.h - `rocin gds check` and `rocin gds stats`. */
#ifndef RN_GDS_H
#define RN_GDS_H

#include "rocin/types.h"

/* Prints what storage supports, by the cufile.json and the environment of this process.
 * Returns the exit status: RN_EXIT_FAILURE if a setting is wrong.
 */
int rn_gds_check(bool json);

/* Prints the statistics of process @pid, or of all processes if it is 0. Returns the exit
 * status: RN_EXIT_FAILURE if there are none.
 */
int rn_gds_stats(bool json, int pid);

#endif /* RN_GDS_H */
