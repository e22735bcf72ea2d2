/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock.h - the time of rocind: CLOCK_MONOTONIC in ns. */
#ifndef RND_CLOCK_H
#define RND_CLOCK_H

#include <time.h>

#include "rocin/types.h"

static inline rn_ns rnd_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * RN_MSEC(1000) + ts.tv_nsec;
}

#endif /* RND_CLOCK_H */
