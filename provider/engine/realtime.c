/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* realtime.c - programs that run in a real-time class.
 *
 * Who spins there keeps its processor from everybody below, and from its equals for a
 * tenth of a second or for ever. A network card needs no processor; the background thread
 * does, to receive what such a program waits for. So it gets a priority above those of
 * the program's threads. It sleeps unless there is something to do, and then runs for
 * microseconds.
 */
#include <errno.h>
#include <sched.h>

#include "engine_internal.h"
#include "transport/io/host/log.h"

static void tell(struct rnp_engine *e, uint32_t what)
{
	__atomic_store_n(&e->stats.page->realtime, what, __ATOMIC_RELAXED);
}

static void raise_thread(struct rnp_engine *e)
{
	const struct sched_param param = { .sched_priority = e->realtime };
	int rc = pthread_setschedparam(e->thread, SCHED_RR, &param);

	tell(e, rc ? RN_STATS_REALTIME_REFUSED : (uint32_t)e->realtime);
	if (rc)
		rn_log(RN_LOG_WARN,
		       "%s: cannot receive while the program spins in a real-time class: "
		       "priority %d is refused (%s); raise ulimit -r",
		       e->netdev.ibdev, e->realtime, strerrordesc_np(rc));
}

void rnp_realtime_follow(struct rnp_engine *e)
{
	int policy = sched_getscheduler(0), most = sched_get_priority_max(SCHED_RR);
	struct sched_param param;

	if (policy < 0 || !e->has_thread)
		return;
	policy &= ~SCHED_RESET_ON_FORK;
	if ((policy != SCHED_FIFO && policy != SCHED_RR) || sched_getparam(0, &param) < 0)
		return;
	if (param.sched_priority < most)
		param.sched_priority++;
	/* What was refused is not asked for again. */
	if (param.sched_priority <= e->realtime)
		return;
	e->realtime = param.sched_priority;
	raise_thread(e);
}
