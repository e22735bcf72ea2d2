/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pause.c - what a thread of the program does when a poll has found nothing: it yields,
 * naps until the background thread has received something, or lingers before it sleeps.
 * The policy (policy.h) chooses.
 */
#include <sched.h>

#include "engine_internal.h"

enum {
	/* One in this number of yields is timed. If all were timed, the two readings of
	 * the clock around each would make a poll that finds nothing 5 % longer (SEND
	 * ping-pong, Xeon, 15 interleaved runs). Where other threads compute, every yield
	 * takes long, so the first that is timed shows it.
	 */
	TIMED_YIELDS = 16,
};

/* Tells the policy that the thread was @late ns late in getting its processor back, if
 * that is more than RNP_PAUSE_DEAR.
 */
static void note_late(struct rnp_engine *e, rn_ns now, rn_ns late)
{
	if (late <= RNP_PAUSE_DEAR)
		return;
	atomic_store_explicit(&e->yields, 0, memory_order_relaxed);
	rnp_front_lock(&e->front);
	rnp_policy_paused(&e->policy, now, late);
	rnp_front_unlock(&e->front);
}

static void yield_in_poll(struct rnp_engine *e)
{
	uint32_t yields = atomic_load_explicit(&e->yields, memory_order_relaxed);
	rn_ns before, after;

	atomic_store_explicit(&e->yields, yields + 1, memory_order_relaxed);
	if (yields % TIMED_YIELDS != 0) {
		sched_yield();
		return;
	}
	before = rnp_engine_now();
	sched_yield();
	after = rnp_engine_now();
	note_late(e, after, after - before);
}

static void sleep_in_poll(struct rnp_engine *e, uint32_t begun)
{
	rn_ns before = rnp_engine_now(), after;

	rnp_wait_nap(&e->wait, begun, RNP_NAP);
	after = rnp_engine_now();
	note_late(e, after, after - before - RNP_NAP);
}

/* Lets the background thread receive, as the calling thread is about to nap. Return: true
 * if no packet came meanwhile, so that the thread may nap.
 */
static bool may_nap(struct rnp_engine *e)
{
	unsigned todo = rnp_policy_sleeps(&e->policy);

	return !(todo & RNP_GIVE_SOCKETS) ||
	       rnp_progress_give_sockets(e, rnp_engine_now(), todo) == 0;
}

/* Naps: lets the background thread receive, and sleeps until it has received something.
 * If there is no background thread, or if the TLPs of the simulated PCIe move in polls
 * only, the calling thread yields instead.
 */
static void nap(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg)
{
	bool is_served, sleeps;
	uint32_t begun;

	rnp_front_lock(&e->front);
	begun = rnp_wait_nap_begin(&e->wait);
	is_served = rnp_has_sockets(e) && !e->closing && !rnp_pcie_is_on(&e->pcie);
	sleeps = is_served && may_nap(e);
	rnp_front_unlock(&e->front);
	if (!is_served)
		yield_in_poll(e);
	else if (sleeps && !has_entry(arg))
		sleep_in_poll(e, begun);
	rnp_wait_nap_end(&e->wait);
}

void rnp_engine_pause(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg)
{
	switch ((enum rnp_pause)atomic_load_explicit(&e->front.pause,
						     memory_order_relaxed)) {
	case RNP_PAUSE_YIELD:
		yield_in_poll(e);
		break;
	case RNP_PAUSE_NAP:
		nap(e, has_entry, arg);
		break;
	case RNP_PAUSE_NONE:
	case RNP_PAUSE_SPIN:
		break;
	}
}

/* Begins to linger: the calling thread, which waits for a packet, goes on receiving for a
 * moment, so that this packet does not have to wake the background thread. Return: false
 * if the thread must not linger.
 */
static bool begin_linger_locked(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();
	unsigned todo;

	if (!rnp_has_sockets(e) || e->set.linger_ns == 0 ||
	    !rnp_policy_may_linger(&e->policy, now))
		return false;
	rnp_engine_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	todo = rnp_policy_linger(&e->policy, now);
	if (todo)
		rnp_progress_perform(e, todo);
	return true;
}

static void end_linger_locked(struct rnp_engine *e, bool lingered, bool found)
{
	unsigned todo;

	if (lingered)
		rnp_policy_lingered(&e->policy, found);
	if (found || !rnp_has_sockets(e))
		return;
	todo = rnp_policy_sleeps(&e->policy);
	if (todo & RNP_GIVE_SOCKETS)
		rnp_progress_give_sockets(e, rnp_engine_now(), todo);
}

bool rnp_engine_linger(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg)
{
	rn_ns until;
	bool lingers, found = false;
	int cancel;

	if (rnp_is_inherited(e))
		return has_entry(arg);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_front_lock(&e->front);
	lingers = begin_linger_locked(e);
	until = rnp_engine_now() + e->set.linger_ns;
	rnp_front_unlock(&e->front);

	while (lingers && !found) {
		found = has_entry(arg);
		if (found || rnp_engine_now() > until)
			break;
		yield_in_poll(e);
		rnp_engine_poll(e);
	}

	rnp_front_lock(&e->front);
	end_linger_locked(e, lingers, found);
	rnp_front_unlock(&e->front);
	pthread_setcancelstate(cancel, NULL);
	return found || has_entry(arg);
}
