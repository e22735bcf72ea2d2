/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock.h - reads a clock of the kernel, as a number of nanoseconds. Threads: any. */
#ifndef RN_CLOCK_H
#define RN_CLOCK_H

#include <time.h>

#include "rocin/types.h"

static inline rn_ns rn_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (rn_ns)ts.tv_sec * RN_MSEC(1000) + ts.tv_nsec;
}

#endif /* RN_CLOCK_H */
