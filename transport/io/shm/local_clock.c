/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_clock.c - the time of local wires, by itself so that tests can have their own. */
#include <time.h>

#include "local_internal.h"

static rn_ns now_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

rn_ns rn_local_now(void)
{
	return now_of(CLOCK_MONOTONIC_COARSE);
}

rn_ns rn_local_exact_now(void)
{
	return now_of(CLOCK_MONOTONIC);
}
