/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quick_clock.c - a library that is preloaded into perftest: gettimeofday() runs twenty
 * times as fast.
 *
 * For each line of output, perftest measures the frequency of the processor at both ends,
 * by calling gettimeofday() repeatedly for 220 ms; with `-a', it prints 23 lines. With
 * this library, a measurement takes 11 ms. This is still longer than the engine of a
 * device waits for a program that does not poll. perftest uses gettimeofday() for nothing
 * else.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>

enum {
	TIMES = 20,
	US = 1000000, /* number of microseconds in a second */
};

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	static int (*next)(struct timeval *, void *);
	static int64_t first;
	int64_t now;
	int rc;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "gettimeofday");
	rc = next(tv, zone);
	now = (int64_t)tv->tv_sec * US + tv->tv_usec;
	if (first == 0)
		first = now;
	now = first + (now - first) * TIMES;
	tv->tv_sec = now / US;
	tv->tv_usec = now % US;
	return rc;
}
