/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.c - whose turn it is to make progress.
 *
 * While the program polls, its threads do everything and the background thread sleeps:
 * the sockets are switched off in its epoll set and a timer, pushed forward now and then,
 * stands for "the program is still polling". When the timer does run out the background
 * thread switches the sockets on and serves them. A streak of polls takes them back.
 *
 * Waking up costs tens of microseconds, so after a packet the background thread looks
 * again for 30 us, yielding the processor each time, before it sleeps. A READ of a
 * program that does not poll takes 17 us instead of 40 then, a wake-up by event 23
 * instead of 48.
 *
 * - A lease is taken or renewed only by code that has just drained the sockets under the
 *   lock. Posting does not renew it.
 * - Packets cannot get lost in a hand-over: switching the sockets on looks at them once
 *   more (level-triggered), and switching them off is followed by setting the timer,
 * whose end they are found at.
 * - timer_at is the timer's true expiry: never an assumption about what has been set.
 *
 * Moving the timer to a point before the next scheduler tick costs 12 us on a virtual
 * machine, beyond it 1 us: so a steady poller has the long lease.
 */
#include "engine_internal.h"

#include <sched.h>

#include "transport/io/memory/mem_direct.h"

enum {
	STREAK_EVENTS = 16, /* times the streak while CQs are armed: events are wanted */
	LINGER_MISSES = 4,  /* after so many in vain, linger only now and then */
	LINGER_RETRY = 64,
	MOVES_MAX = 256, /* packets of answers to one batch of packets */
	MOVES_IDLE = 4,
	LOOK_AT_DESCRIPTORS = 4096, /* polls; the look takes some microseconds */
	GATHER_BAN = 64, /* posts that leave at once, after one had to wait for a lease */
};

#define LOOK_AGAIN_FOR RN_USEC(30) /* the way of a packet and its answer */
#define LOOK_AGAIN_MAX RN_MSEC(2)  /* rocind and the timer wait for that long at most */
#define YIELD_DEAR RN_USEC(200)	   /* longer than waking up takes */

const struct rnp_lease_times rnp_lease_times = {
	.lease = RN_MSEC(1),
	.long_lease = RN_MSEC(5),
	.steady = RN_MSEC(8),
	.streak = 16,
	.streak_max = 16384,
};

void rnp_progress_timer(struct rnp_engine *e, rn_ns at)
{
	rnp_background_set_timer(e, at);
	e->progress.timer_at = at;
}

void rnp_progress_init(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;

	if (p->times.lease == 0)
		p->times = rnp_lease_times;
	p->turn = RNP_ARMED;
	p->cur_lease = p->times.lease;
	p->streak_need = p->times.streak;
	p->poller_at = -1;
}

void rnp_progress_deadline(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	rn_ns at;

	if (p->turn != RNP_ARMED || !rnp_has_sockets(e))
		return;
	at = rnp_pump_deadline(e, now);
	if (at != RN_NEVER && (p->timer_at == 0 || at < p->timer_at))
		rnp_progress_timer(e, at);
}

/* ----------------------------------------------------------------- hand-over */
/* The sockets were drained at @now. */
static void take_lease(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	rnp_background_listen(e, false);
	if (e->wire.local)
		rn_local_awake(e->wire.local);
	p->turn = RNP_LEASED;
	p->cur_lease = p->times.lease;
	p->steady_since = p->lease_set = p->last_poll = now;
	rnp_poller_note(e);
	p->is_early = false;
}

/* Of a program that will be seen to leave. A timer that is far off serves, and costs
 * nothing.
 */
static void take_early_lease(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	take_lease(e, now);
	p->is_early = true;
	p->cur_lease = p->times.long_lease;
	if (p->timer_at < now + p->cur_lease / 2 || p->timer_at > now + p->cur_lease)
		rnp_progress_timer(e, now + p->cur_lease);
	p->lease_set = p->timer_at - p->cur_lease;
}

static void renew_lease(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	bool is_long = p->cur_lease == p->times.long_lease;
	rn_ns feed = is_long ? p->times.lease : p->times.lease * 3 / 4;

	if (now - p->lease_set < feed)
		return;
	if (!is_long && now - p->steady_since > p->times.steady * (1 + p->answered)) {
		p->cur_lease = p->times.long_lease;
		p->streak_need = p->times.streak;
		rn_mem_direct_init(); /* the program may have put its handler before ours
				       */
	}
	rnp_progress_timer(e, now + p->cur_lease);
	p->lease_set = now;
	rnp_poller_note(e);
	rnp_background_rest(e);
}

/* What came in may wait for memory, and the program does not poll: move it on here. Each
 * way to another thread and back may take longer than a peer's timeout where the machine
 * is busy.
 */
static void move_memory(struct rnp_engine *e, rn_ns now)
{
	unsigned idle = 0;

	for (unsigned i = 0; i < MOVES_MAX && idle < MOVES_IDLE; i++) {
		rnp_pcie_polled_empty(&e->pcie, 0);
		idle = rnp_pump_collect(e, now) > 0 ? 0 : idle + 1;
		if (idle == 0)
			rnp_pump_transmit(e, now, RN_TX_WORK, false);
	}
	rnp_pump_events(e);
}

/* One step with the sockets on. Return: super-packets received. */
static unsigned serve_sockets(struct rnp_engine *e, rn_ns now, enum rnp_acks acks)
{
	unsigned found;

	if (e->wire.local)
		rn_local_look_everywhere(e->wire.local);
	else
		rn_udp_look_everywhere(e->wire.udp);
	found = rnp_pump_step(e, now, RNP_DRAIN_BACKGROUND, acks);
	if (found > 0 && rnp_pcie_is_on(&e->pcie))
		move_memory(e, now);
	rnp_progress_deadline(e, now);
	return found;
}

/* The background thread may sleep. What comes by a ring no socket shows: its peers are to
 * wake the thread from now on, and what came before that they were told is looked for.
 */
static void announce(struct rnp_engine *e)
{
	if (e->wire.local && !rn_local_announce(e->wire.local))
		rnp_background_wake(e);
}

/* The background thread becomes responsible, and finds what came in the meantime. If the
 * kernel does not let it listen it looks again when the timer runs out.
 */
static unsigned arm(struct rnp_engine *e, rn_ns now, enum rnp_acks acks)
{
	struct rnp_progress *p = &e->progress;
	unsigned found;

	p->streak = 0;
	p->cur_lease = p->times.lease;
	if (rnp_background_listen(e, true)) {
		p->turn = RNP_ARMED;
	} else {
		p->lease_set = now;
		rnp_progress_timer(e, now + p->cur_lease);
	}
	found = serve_sockets(e, now, acks);
	if (p->turn == RNP_ARMED)
		announce(e);
	return found;
}

/* ------------------------------------------------------------------ the program */
/* A poll after a gap: no steady poller, so the next gap must be noticed soon. */
static void note_gap(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	p->steady_since = now;
	if (p->turn == RNP_LEASED && p->cur_lease == p->times.long_lease) {
		p->cur_lease = p->times.lease;
		rnp_progress_timer(e, now + p->cur_lease);
	}
}

/* Polls that take the sockets back: no more because of armed CQs, which may be forgotten.
 */
static uint32_t streak_for(const struct rnp_progress *p)
{
	uint32_t need = p->streak_need * (p->armed_cqs ? STREAK_EVENTS : 1);

	return need < p->times.streak_max ? need : p->times.streak_max;
}

static void after_poll(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	if (now - p->last_poll > p->times.lease / 4)
		note_gap(e, now);
	p->last_poll = now;
	switch (p->turn) {
	case RNP_LEASED:
		renew_lease(e, now);
		break;
	case RNP_ARMED:
		rnp_answers_limit(e, now);
		if (rnp_answers_may_lease(p)) {
			take_early_lease(e, now);
			break;
		}
		if (++p->streak < streak_for(p)) {
			rnp_progress_deadline(e, now);
			break;
		}
		take_lease(e, now);
		rnp_progress_timer(e, now + p->cur_lease);
		break;
	}
}

/* The program has what it polled for, and looks at memory next. */
static void let_go(struct rnp_engine *e, rn_ns now)
{
	e->progress.last_poll = now;
	if (e->progress.turn == RNP_LEASED)
		arm(e, now, RNP_ACKS_HELD);
	rnp_answers_limit(e, now);
	rnp_progress_deadline(e, now);
}

void rnp_progress_app(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;
	rn_ns now = rnp_clock_poll_time(e);
	bool may_defer = p->turn == RNP_LEASED || rnp_answers_acks(p) == RNP_ACKS_HELD;
	unsigned found;

	if (++p->polls % LOOK_AT_DESCRIPTORS == 0)
		rnp_look_at_descriptors(e);
	rnp_posting_polled(e);
	if (e->realtime)
		p->poller_at = sched_getcpu();
	/* With the sockets on, no lease sees to it that what is deferred leaves if this
	 * was the last poll, and there is nothing for the background thread to wake up
	 * for.
	 */
	found = rnp_pump_step(e, now, RNP_DRAIN_APP,
			      may_defer ? RNP_ACKS_IF_DRY : RNP_ACKS_NOW);
	rnp_local_note_life(e, found > 0);
	if (!rnp_has_sockets(e) || e->closing)
		return;
	rnp_answers_polled(p);
	if (rnp_answers_leaves(e))
		let_go(e, now);
	else
		after_poll(e, now);
}

/* ------------------------------------------------------ the background thread */
/* Lets everybody else who wants the processor have it. Somebody who does not yield keeps
 * it until the next tick, milliseconds later; who is woken gets it from him at once: the
 * thread then sleeps for a while instead. Gives up the lock meanwhile.
 */
static void yield(struct rnp_engine *e)
{
	rn_ns before, after;

	pthread_mutex_unlock(&e->lock);
	before = rnp_engine_now();
	sched_yield();
	after = rnp_engine_now();
	pthread_mutex_lock(&e->lock);
	if (after - before > YIELD_DEAR)
		rnp_poller_ban(&e->progress, rnp_engine_now());
}

/* After a packet the next is often close behind: an answer to what the program, looking
 * at memory, sends next. Waking up costs tens of microseconds, so look a few times more.
 * Gives up the lock in between.
 */
static void look_again(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	rn_ns until = now + LOOK_AGAIN_FOR;
	rn_ns last = now + LOOK_AGAIN_MAX;

	/* Nobody gets the processor of a real-time thread that yields. */
	if (e->realtime && sched_getcpu() == p->poller_at)
		return;
	if (!rnp_poller_lets_look(p, now))
		return;
	while (now < until && now < last && p->look_ban == 0) {
		yield(e);
		if (e->closing || !rnp_has_sockets(e) || p->turn != RNP_ARMED)
			return;
		now = rnp_engine_now();
		if (serve_sockets(e, now, RNP_ACKS_NOW) > 0) {
			rnp_answers_expect(e, now);
			until = now + LOOK_AGAIN_FOR;
		}
	}
}

/* The background thread has received something. If it is not to wait for the program it
 * looks again; else it gets out of its way, as yielding the processor may not be enough.
 */
static void after_packets(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	rnp_answers_expect(e, now);
	if (rnp_answers_acks(p) == RNP_ACKS_NOW)
		look_again(e, now);
}

/* The lease has run out. */
static void take_over(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	bool was_busy = rnp_poller_is_busy(p, now);
	bool was_gathering = p->gather_since != 0;
	bool found = arm(e, now, rnp_answers_acks(p)) > 0;

	/* Packets were waiting and the program was busy: it looks at memory, and polls in
	 * between. It must poll longer before it is believed again.
	 */
	if (was_busy && found && p->is_early)
		rnp_answers_deceived(p);
	else if (was_busy && found && p->streak_need < p->times.streak_max)
		p->streak_need *= 4;
	if (was_busy && was_gathering)
		p->gather_ban = GATHER_BAN;
	if (found)
		after_packets(e, now);
	rnp_answers_limit(e, now);
}

/* The sockets are the background thread's. */
static void serve(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	bool waited = rnp_answers_waited(p, now);

	if (serve_sockets(e, now, waited ? RNP_ACKS_NOW : rnp_answers_acks(p)) > 0)
		after_packets(e, now);
	rnp_answers_limit(e, now);
	if (p->turn == RNP_ARMED && rnp_has_sockets(e))
		announce(e);
}

void rnp_progress_background(struct rnp_engine *e, bool timer_fired)
{
	struct rnp_progress *p = &e->progress;
	rn_ns now = rnp_engine_now();

	if (timer_fired)
		p->timer_at = 0;
	if (!rnp_has_sockets(e))
		return;

	if (p->turn == RNP_ARMED) {
		serve(e, now);
	} else if (p->timer_at == 0 && now - p->last_poll < p->times.lease / 4) {
		p->lease_set = p->last_poll;
		rnp_progress_timer(e, p->last_poll + p->cur_lease);
	} else if (p->timer_at == 0) {
		take_over(e, now);
	}
}

void rnp_progress_memory(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	if (rnp_pump_collect(e, now) == 0)
		return;
	rnp_pump_transmit(e, now, RN_TX_WORK, false);
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
}

/* ------------------------------------------------------------------------ verbs */
bool rnp_engine_poll(struct rnp_engine *e)
{
	if (rnp_engine_forked(e))
		return true;
	if (pthread_mutex_trylock(&e->lock) != 0) {
		atomic_store(&e->progress.is_lively, false);
		return false;
	}
	rnp_progress_app(e);
	pthread_mutex_unlock(&e->lock);
	return true;
}

void rnp_engine_cq_armed(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;

	p->armed_cqs++;
	p->streak = 0;
	if (rnp_has_sockets(e) && p->turn == RNP_LEASED && e->set.linger_ns == 0)
		arm(e, rnp_engine_now(), RNP_ACKS_NOW);
}

void rnp_engine_cq_unarmed(struct rnp_engine *e)
{
	assert(e->progress.armed_cqs > 0);
	e->progress.armed_cqs--;
	e->progress.streak = 0;
}

/* ----------------------------------------------------------------------- linger */
static bool is_linger_worth_it(struct rnp_progress *p)
{
	return p->linger_missed < LINGER_MISSES ||
	       ++p->linger_skipped % LINGER_RETRY == 0;
}

/* The program's thread keeps the sockets for a moment, so that the background thread does
 * not wake for a packet that is awaited here.
 */
static bool begin_linger_locked(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;
	rn_ns now = rnp_engine_now(), lease = p->times.lease;

	if (!rnp_has_sockets(e) || e->set.linger_ns == 0 || !is_linger_worth_it(p))
		return false;
	rnp_pump_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	if (p->turn == RNP_LEASED)
		return true;
	take_lease(e, now);
	/* Setting the timer is dear: a pending one serves, unless it is about to fire. */
	if (p->timer_at == 0 || p->timer_at > now + lease ||
	    p->timer_at < now + lease / 2)
		rnp_progress_timer(e, now + lease);
	p->lease_set = p->timer_at - lease;
	return true;
}

static void end_linger_locked(struct rnp_engine *e, bool found)
{
	struct rnp_progress *p = &e->progress;

	p->linger_missed = found ? 0 : p->linger_missed + 1;
	if (!found && rnp_has_sockets(e) && p->turn == RNP_LEASED)
		arm(e, rnp_engine_now(), RNP_ACKS_NOW);
}

bool rnp_engine_linger(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg)
{
	rn_ns until;
	bool lingers, found = false;
	int cancel;

	if (rnp_engine_forked(e))
		return has_entry(arg);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	lingers = begin_linger_locked(e);
	until = rnp_engine_now() + e->set.linger_ns;
	rnp_engine_unlock(e);

	while (lingers && !found) {
		found = has_entry(arg);
		if (found || rnp_engine_now() > until)
			break;
		sched_yield();
		rnp_engine_poll(e);
	}

	rnp_engine_lock(e);
	end_linger_locked(e, found);
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel, NULL);
	return found || has_entry(arg);
}
