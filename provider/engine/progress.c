/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.c - the loop around the policy: it observes, tells the policy what has
 * happened, and performs what that asks for.
 *
 * Steps are made by the program's threads, in polls and posts, and by the background
 * thread, which is woken. Whose turn it is, when a lease begins and ends, and when a post
 * or an ACK leaves, is policy.h's business.
 *
 * Packets cannot get lost in a hand-over: switching the sockets on looks at them once
 * more (level-triggered), and switching them off is followed by setting the timer, at
 * whose end they are found.
 */
#include "engine_internal.h"

#include <sched.h>

#include "transport/io/memory/mem_direct.h"

enum {
	MOVES_MAX = 256, /* packets of answers to one batch of packets */
	MOVES_IDLE = 4,	 /* looks in a row at which memory had answered nothing */
	LOOK_AT_DESCRIPTORS = 4096, /* polls; the look takes some microseconds */
	TAKE_MAX = 32,		    /* steps: more than the sockets hold */
};

/* ------------------------------------------------------------ what is observed */
static rn_ns cpu_time(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0; /* the thread has ended */
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool owes_acks(const struct rnp_engine *e)
{
	return rnp_has_sockets(e) && rn_dev_acks_due(e->dev);
}

/* ------------------------------------------------------------ what is performed */
static void take_sockets(struct rnp_engine *e)
{
	rnp_background_listen(e, false);
	if (e->wire.local)
		rn_local_awake(e->wire.local);
}

/* This thread polls, and renews the lease. */
static void account_cpu(struct rnp_engine *e)
{
	rnp_realtime_follow(e);
	if (pthread_getcpuclockid(pthread_self(), &e->poller) != 0)
		e->poller = CLOCK_THREAD_CPUTIME_ID;
	rnp_policy_account(&e->policy, cpu_time(e->poller));
}

static void perform_some(struct rnp_engine *e, unsigned todo)
{
	if (todo & RNP_TAKE_SOCKETS)
		take_sockets(e);
	if (todo & RNP_ACCOUNT_CPU)
		account_cpu(e);
	if (todo & RNP_SET_TIMER)
		rnp_background_set_timer(e, e->policy.timer_at);
	if (todo & RNP_REST_SOCKETS)
		rnp_background_rest(e);
	if (todo & RNP_CHECK_HANDLER)
		rn_mem_direct_init();
}

/* All that the policy may ask for but to receive and to look again. Mostly it is nothing.
 */
static inline void perform(struct rnp_engine *e, unsigned todo)
{
	if (todo)
		perform_some(e, todo);
}

void rnp_progress_deadline(struct rnp_engine *e, rn_ns now)
{
	if (e->policy.turn == RNP_ARMED && rnp_has_sockets(e))
		perform(e, rnp_policy_deadline(&e->policy, rnp_pump_deadline(e, now)));
}

static void limit_acks(struct rnp_engine *e, rn_ns now)
{
	perform(e, rnp_policy_limit_acks(&e->policy, now, owes_acks(e)));
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

static void look_everywhere(struct rnp_engine *e)
{
	if (e->wire.local)
		rn_local_look_everywhere(e->wire.local);
	else
		rn_udp_look_everywhere(e->wire.udp);
}

/* One step with the sockets on. Return: super-packets received. */
static unsigned serve_sockets(struct rnp_engine *e, rn_ns now, enum rnp_acks acks)
{
	unsigned found;

	look_everywhere(e);
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
	if (e->policy.turn == RNP_ARMED && e->wire.local &&
	    !rn_local_announce(e->wire.local))
		rnp_background_wake(e);
}

/* RNP_GIVE_SOCKETS: the background thread becomes responsible, and what came in the
 * meantime is found here. Return: super-packets received.
 */
static unsigned give_sockets(struct rnp_engine *e, rn_ns now, unsigned todo)
{
	bool is_on = rnp_background_listen(e, true);
	unsigned found;

	perform(e, rnp_policy_given(&e->policy, now, is_on));
	found = serve_sockets(e, now,
			      todo & RNP_HOLD_ACKS ? RNP_ACKS_HELD : RNP_ACKS_NOW);
	announce(e);
	return found;
}

/* ----------------------------------------------------------------------- a poll */
static void after_poll(struct rnp_engine *e, rn_ns now)
{
	struct rnp_policy *p = &e->policy;
	const struct rn_qp *asked = p->replies.asked;
	struct rnp_facts f = { .is_asked_unacked = asked && rn_qp_unacked(asked) };
	rn_ns deadline = RN_NEVER;
	unsigned todo;

	if (rnp_policy_wants_acks(p, f.is_asked_unacked)) {
		f.owes_acks = owes_acks(e);
		f.is_amid_message = rn_dev_is_amid_message(e->dev);
	}
	if (p->turn == RNP_ARMED)
		deadline = rnp_pump_deadline(e, now);
	todo = rnp_policy_polled(p, now, f, deadline);
	perform(e, todo);
	if (todo & RNP_GIVE_SOCKETS) {
		give_sockets(e, now, todo);
		limit_acks(e, now);
		rnp_progress_deadline(e, now);
	}
}

void rnp_progress_app(struct rnp_engine *e)
{
	rn_ns now = rnp_clock_poll_time(e);
	enum rnp_acks acks = rnp_policy_poll(&e->policy);
	unsigned found;

	if (++e->polls % LOOK_AT_DESCRIPTORS == 0)
		rnp_look_at_descriptors(e);
	if (e->realtime)
		e->poller_at = sched_getcpu();
	found = rnp_pump_step(e, now, RNP_DRAIN_APP, acks);
	rnp_local_note_life(e, found > 0);
	if (rnp_has_sockets(e) && !e->closing)
		after_poll(e, now);
}

bool rnp_engine_poll(struct rnp_engine *e)
{
	if (rnp_engine_forked(e))
		return true;
	if (pthread_mutex_trylock(&e->lock) != 0) {
		atomic_store(&e->is_lively, false);
		return false;
	}
	rnp_progress_app(e);
	pthread_mutex_unlock(&e->lock);
	return true;
}

/* ----------------------------------------------------------------------- a post */
void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp,
		       const struct rnp_posted *posted)
{
	const struct rnp_post post = {
		.count = posted->count,
		.bytes = posted->bytes,
		.is_unacked = rn_qp_unacked(qp),
		.is_sending = rn_qp_state(qp) == RN_QPS_RTS,
	};
	unsigned todo = rnp_policy_post(&e->policy, posted->now, &post);
	int cancel;

	if (todo & RNP_HOLD)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_pump_transmit(e, posted->now,
			  RN_TX_WORK | (todo & RNP_ACK_ALONG ? RN_TX_ALONG : 0),
			  todo & RNP_GATHER);
	rnp_policy_posted(&e->policy, posted->now, qp,
			  (struct rnp_facts){ .owes_acks = owes_acks(e),
					      .is_asked_unacked = rn_qp_unacked(qp) },
			  (struct rnp_counts){ .requests = rn_dev_requests(e->dev),
					       .receives = rn_dev_received(e->dev) });
	rnp_pump_events(e);
	rnp_progress_deadline(e, posted->now);
	pthread_setcancelstate(cancel, NULL);
}

/* -------------------------------------------------------- steps that verbs ask for */
void rnp_engine_kick(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_pump_transmit(e, now, RN_TX_ALL, false);
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
}

void rnp_engine_say_last(struct rnp_engine *e)
{
	/* No more than these: the peer's sockets do not hold what a ring lets through. */
	if (e->wire.local) {
		rn_local_hurry(e->wire.local, true);
		rnp_pump_transmit(e, rnp_engine_now(), RN_TX_ACKS, false);
		rn_local_hurry(e->wire.local, false);
	}
	rnp_engine_kick(e);
}

bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn)
{
	bool ended = false;

	if (!rnp_pcie_is_on(&e->pcie))
		return false;
	for (;;) {
		rnp_pcie_drain(&e->pcie, qpn);
		/* An atomic that has ended lets the next of its QP begin. */
		if (rnp_pump_collect(e, rnp_engine_now()) == 0)
			return ended;
		ended = true;
	}
}

void rnp_engine_take_all(struct rnp_engine *e)
{
	unsigned found = RNP_DRAIN_BACKGROUND;

	if (!rnp_has_sockets(e))
		return;
	look_everywhere(e);
	for (unsigned i = 0; i < TAKE_MAX && found >= RNP_DRAIN_BACKGROUND; i++)
		found = rnp_pump_step(e, rnp_engine_now(), RNP_DRAIN_BACKGROUND,
				      RNP_ACKS_NOW);
	rnp_progress_deadline(e, rnp_engine_now());
}

void rnp_engine_drain(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_pump_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	rnp_progress_deadline(e, now);
}

/* -------------------------------------------------------- the background thread */
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
	if (after - before > RNP_YIELD_DEAR)
		rnp_policy_yield_was_dear(&e->policy, rnp_engine_now(),
					  cpu_time(e->poller));
}

/* After a packet the next is often close behind: a reply to what the program, looking at
 * memory, sends next. Waking up costs tens of microseconds, so look a few times more.
 * Gives up the lock in between.
 */
static void look_again(struct rnp_engine *e, rn_ns now)
{
	struct rnp_policy *p = &e->policy;
	rn_ns cpu = rnp_policy_wants_cpu(p) ? cpu_time(e->poller) : 0;

	/* Nobody gets the processor of a real-time thread that yields. */
	if (e->realtime && sched_getcpu() == e->poller_at)
		return;
	if (!rnp_policy_look(p, now, cpu))
		return;
	while (rnp_policy_looks_on(p, now)) {
		yield(e);
		if (e->closing || !rnp_has_sockets(e) || p->turn != RNP_ARMED)
			return;
		now = rnp_engine_now();
		if (serve_sockets(e, now, RNP_ACKS_NOW) == 0)
			continue;
		rnp_policy_look_found(p, now, rn_dev_is_amid_message(e->dev),
				      rn_dev_requests(e->dev));
	}
}

/* The background thread has received something. */
static void after_packets(struct rnp_engine *e, rn_ns now)
{
	unsigned todo = rnp_policy_received(
		&e->policy, now, rn_dev_is_amid_message(e->dev), rn_dev_requests(e->dev));

	if (todo & RNP_LOOK_AGAIN)
		look_again(e, now);
}

/* The timer has fired during a lease. */
static void end_lease(struct rnp_engine *e, rn_ns now)
{
	unsigned todo = rnp_policy_lease_ends(&e->policy, now, cpu_time(e->poller));
	bool found;

	perform(e, todo);
	if (!(todo & RNP_GIVE_SOCKETS))
		return;
	found = give_sockets(e, now, todo) > 0;
	rnp_policy_took_over(&e->policy, found);
	if (found)
		after_packets(e, now);
	limit_acks(e, now);
}

/* The sockets are the background thread's. */
static void serve(struct rnp_engine *e, rn_ns now)
{
	if (serve_sockets(e, now, rnp_policy_woken(&e->policy, now)) > 0)
		after_packets(e, now);
	limit_acks(e, now);
	if (rnp_has_sockets(e))
		announce(e);
}

void rnp_progress_background(struct rnp_engine *e, bool timer_fired)
{
	struct rnp_policy *p = &e->policy;
	rn_ns now = rnp_engine_now();

	if (timer_fired)
		rnp_policy_fired(p);
	if (!rnp_has_sockets(e))
		return;
	if (p->turn == RNP_ARMED)
		serve(e, now);
	else if (p->timer_at == 0)
		end_lease(e, now);
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

/* ----------------------------------------------------------------------- events */
void rnp_engine_cq_armed(struct rnp_engine *e)
{
	unsigned todo = rnp_policy_cq_armed(&e->policy, e->set.linger_ns != 0);

	if (rnp_has_sockets(e) && todo & RNP_GIVE_SOCKETS)
		give_sockets(e, rnp_engine_now(), todo);
}

void rnp_engine_cq_unarmed(struct rnp_engine *e)
{
	rnp_policy_cq_unarmed(&e->policy);
}

/* The program's thread keeps the sockets for a moment, so that the background thread does
 * not wake for a packet that is awaited here.
 */
static bool begin_linger_locked(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	if (!rnp_has_sockets(e) || e->set.linger_ns == 0 ||
	    !rnp_policy_may_linger(&e->policy))
		return false;
	rnp_pump_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	perform(e, rnp_policy_linger(&e->policy, now));
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
		give_sockets(e, rnp_engine_now(), todo);
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
	end_linger_locked(e, lingers, found);
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel, NULL);
	return found || has_entry(arg);
}
