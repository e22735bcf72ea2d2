/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stat_names.h - names and descriptions of the counters, for people. */
#ifndef RN_STAT_NAMES_H
#define RN_STAT_NAMES_H

#include "rocin/stats.h"

extern const char *const rn_stat_name[RN_STAT_COUNT];
extern const char *const rn_stat_help[RN_STAT_COUNT];

#endif /* RN_STAT_NAMES_H */
