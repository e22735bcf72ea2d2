/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quick_clock.c - preloaded into perftest: the time of day goes twenty times as fast.
 *
 * For each line that it prints perftest measures the frequency of the processor, at
 * either end, by asking for the time of day again and again for 220 ms; with `-a' it
 * prints 23 lines. Here that takes 11 ms, still longer than an engine waits for a program
 * that does not poll. Nothing else in perftest looks at the time of day.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>

enum {
	TIMES = 20,
	US = 1000000, /* in a second */
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
