/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* poller.c - what the thread that polled does when it does not. */
#include "engine_internal.h"

enum {
	LOOK_BAN = 256, /* wake-ups after a dear yield that do without */
};

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

/* Has it had a processor since this was asked last? */
static bool spins_now(struct rnp_progress *p, rn_ns now)
{
	rn_ns cpu = cpu_time(p->poller);
	bool spins = cpu - p->spun_cpu > (now - p->spun_at) / 4;

	p->spun_cpu = cpu;
	p->spun_at = now;
	return spins;
}

bool rnp_poller_is_busy(const struct rnp_progress *p, rn_ns now)
{
	rn_ns polled = p->last_poll - p->lease_set, away = now - p->last_poll;

	return cpu_time(p->poller) - p->poller_cpu > polled + away / 2;
}

void rnp_poller_ban(struct rnp_progress *p, rn_ns now)
{
	p->look_ban = LOOK_BAN;
	p->did_spin = false;
	spins_now(p, now);
}

bool rnp_poller_lets_look(struct rnp_progress *p, rn_ns now)
{
	bool spins;

	if (p->look_ban == 0)
		return true;
	spins = spins_now(p, now);
	p->look_ban = p->did_spin && !spins ? 0 : p->look_ban - 1;
	p->did_spin = spins;
	return p->look_ban == 0;
}
