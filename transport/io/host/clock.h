/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock.h - reads the kernel's clocks, and the factor by which timeouts for a peer are
 * longer than usual.
 *
 * Threads: any.
 */
#ifndef RN_CLOCK_H
#define RN_CLOCK_H

#include <time.h>

#include "rocin/types.h"

/* Read a clock, in nanoseconds. */
static inline rn_ns rn_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (rn_ns)ts.tv_sec * RN_MSEC(1000) + ts.tv_nsec;
}

/**
 * rn_timeout_scale_read() - Read and check ROCIN_TIMEOUT_SCALE=N, which multiplies the
 * timeouts for a peer by N (a debugger may have stopped the peer)
 * @scale:	Out: N, 1 to RN_TIMEOUT_SCALE_MAX; 1 if the variable is not set, or has
 *		a wrong value
 *
 * The variable is read with secure_getenv().
 *
 * Return: 0, or -EINVAL with the error text in @err.
 */
int rn_timeout_scale_read(uint32_t *scale, char *err, size_t err_len);

/* Return: the factor that rn_timeout_scale_read() reads; 1 if the variable has a wrong
 * value, which is not reported.
 */
uint32_t rn_timeout_scale(void);

#endif /* RN_CLOCK_H */
