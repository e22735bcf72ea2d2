/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stat_names.c - see stat_names.h. */
#include "stat_names.h"

/* clang-format off */
const char *const rn_stat_name[RN_STAT_COUNT] = {
#define X(sym, name, help) [RN_STAT_##sym] = (name),
	RN_STATS(X)
#undef X
};
const char *const rn_stat_help[RN_STAT_COUNT] = {
#define X(sym, name, help) [RN_STAT_##sym] = (help),
	RN_STATS(X)
#undef X
};
/* clang-format on */
