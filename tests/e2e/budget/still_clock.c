/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* still_clock.c - preloaded into a program whose instructions are counted: time does not
 * depend on the machine, and no timer wakes a second thread.
 *
 * CLOCK_MONOTONIC goes on by STEP each time that it is read. Timers of timerfd_create()
 * never run out: what polls does all the work itself. So a program that waits for nothing
 * but itself takes the same instructions on a busy machine as on an idle one.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
	STEP = 1000,	/* ns: about what a poll takes */
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

/* Who polls in vain yields. The packet is likely there afterwards, so that few polls are
 * in vain, however late a busy kernel delivers it.
 */
int sched_yield(void);
int sched_yield(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE };

	return nanosleep(&pause, NULL);
}
