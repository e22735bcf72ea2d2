/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timer_kit.h - the timer of rocind's connection manager in a test: it expires when the
 * test says so. To be included by one file of a program that is linked with
 * -Wl,--wrap=timerfd_create,--wrap=timerfd_settime.
 */
#ifndef RN_TEST_TIMER_KIT_H
#define RN_TEST_TIMER_KIT_H

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "rocin/types.h"

static rn_ns alarm_at; /* when the timer is to expire, or RN_NEVER */

int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old);

int __wrap_timerfd_create(int clock, int flags)
{
	(void)clock;
	(void)flags;
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old)
{
	(void)fd;
	(void)old;
	assert_int_equal(flags, TFD_TIMER_ABSTIME);
	alarm_at = RN_MSEC(1000) * when->it_value.tv_sec + when->it_value.tv_nsec;
	return 0;
}

#endif /* RN_TEST_TIMER_KIT_H */
