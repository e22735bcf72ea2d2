/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* poller.c - what the thread that polled does when it does not. */
#include "engine_internal.h"

static rn_ns cpu_time(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0; /* the thread has ended */
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void rnp_poller_note(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;

	rnp_realtime_follow(e);
	if (pthread_getcpuclockid(pthread_self(), &p->poller) != 0)
		p->poller = CLOCK_THREAD_CPUTIME_ID;
	p->poller_cpu = cpu_time(p->poller);
}

bool rnp_poller_is_busy(const struct rnp_progress *p, rn_ns now)
{
	rn_ns polled = p->last_poll - p->lease_set, away = now - p->last_poll;

	return cpu_time(p->poller) - p->poller_cpu > polled + away / 2;
}
