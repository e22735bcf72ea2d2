/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_clock.c - the time of local wires, by itself so that tests can have their own. */
#include <time.h>

#include "local_internal.h"

rn_ns rn_local_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
