/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* still_clock.c - a library that is preloaded into a program whose instructions are
 * counted. It replaces the clock, so that time does not depend on the machine and no
 * timer wakes a thread.
 *
 * CLOCK_MONOTONIC advances by STEP each time that it is read. Timers of timerfd_create()
 * never expire, so the thread that polls does all the work. So a program that does not
 * wait for others executes the same number of instructions on a busy machine as on an
 * idle one.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
	STEP = 1000,	/* ns; about the duration of a poll */
	PAUSE = 500000, /* ns */
};

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);
	static uint64_t now;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	if (id != CLOCK_MONOTONIC)
		return next(id, ts);
	if (__atomic_load_n(&now, __ATOMIC_RELAXED) == 0) {
		next(id, ts);
		__atomic_store_n(
			&now, (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec,
			__ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&now, STEP, __ATOMIC_RELAXED);
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value,
		    struct itimerspec *old)
{
	(void)fd;
	(void)flags;
	(void)value;
	(void)old;
	return 0;
}

/* A thread that polls without success calls sched_yield(). During this pause the packet
 * usually arrives, so that few polls have no result even if a busy kernel delivers the
 * packet late.
 */
int sched_yield(void);
int sched_yield(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE };

	return nanosleep(&pause, NULL);
}
