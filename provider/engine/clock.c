/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock.c - the time, and how not to ask for it.
 *
 * Reading the clock is a third of a poll that finds nothing, and a twentieth of what a
 * post of a stream costs. The processor's counter tells for less whether what the core
 * was told last still serves.
 */
#include "engine_internal.h"

enum {
	/* Of the processor's counter, which runs at 1 GHz at least. */
	NEAR_TICKS = 2000,
};

rn_ns rnp_engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool is_near(struct rnp_clock *c)
{
#if defined(__x86_64__)
	uint64_t ticks = __builtin_ia32_rdtsc();
	/* On another processor the counter may be behind: that is far. */
	bool near = ticks - c->ticks < NEAR_TICKS;

	if (!near)
		c->ticks = ticks;
	return near;
#else
	(void)c;
	return false;
#endif
}

rn_ns rnp_clock_nearly_now(struct rnp_engine *e)
{
	if (!is_near(&e->clock))
		rnp_tell_time(e, rnp_engine_now());
	return e->clock.now;
}

rn_ns rnp_clock_poll_time(struct rnp_engine *e)
{
	return e->clock.shows ? rnp_engine_now() : rnp_clock_nearly_now(e);
}

rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp)
{
	if (rn_qp_state(qp) == RN_QPS_RTS)
		return rnp_clock_nearly_now(e);
	rnp_tell_time(e, rnp_engine_now());
	return e->clock.now;
}

rn_ns rnp_engine_recv_time(const struct rnp_engine *e, const struct rn_qp *qp)
{
	return rn_qp_state(qp) == RN_QPS_ERR ? rnp_engine_now() : e->clock.now;
}

void rnp_engine_shows_time(struct rnp_engine *e)
{
	e->clock.shows = true;
}
