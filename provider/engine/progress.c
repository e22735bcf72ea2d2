/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.c - the loop around the policy: it observes, tells the policy what has
 * happened, and performs what that asks for. In this order: the time, one step of the
 * device (packets in, core, packets out, events), and who makes steps: the program's
 * threads in polls and posts, and the background thread, which is woken. Whose turn it
 * is, when a lease begins and ends, and when a post or an ACK leaves, is policy.h's
 * business.
 *
 * - Packets cannot get lost in a hand-over: switching the sockets on looks at them once
 * more (level-triggered), and switching them off is followed by setting the timer, at
 * whose end they are found.
 * - Timers of the core are looked at only when the socket is dry: a process that was
 * stopped for a while must not send again what has been acknowledged.
 */
#include <errno.h>
#include <sched.h>

#include "engine_internal.h"
#include "rocin/event.h"
#include "rocin/opcode.h"
#include "rocin/qp_types.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "trace_points.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/memory/mem_direct.h"

enum {
	/* Of the processor's counter, which runs at 1 GHz at least: 2 us. */
	NEAR_TICKS = 2000,
	SEND_MAX = 32, /* super-packets out per step */
	/* Steps after which timers are served in spite of packets waiting. */
	NOT_DRY_MAX = 64,
	SMALL = 512, /* bytes: likely a whole message, and another recvmsg() would show */
	MOVES_MAX = 256, /* packets of answers to one batch of packets */
	MOVES_IDLE = 4,	 /* looks in a row at which memory had answered nothing */
	LOOK_AT_DESCRIPTORS = 4096, /* polls; the look takes some microseconds */
	TAKE_MAX = 32,		    /* steps: more than the sockets hold */
};

static_assert((int)RNP_ACK_EVERY_ANSWERED == RN_SUPER_SEGMENTS * RNP_DRAIN_APP,
	      "as much as one step of a poll finds");

#define RETRY_AFTER RN_USEC(200) /* a socket that was full */

/* Of what was sent meanwhile more than one acknowledgement has likely come: a
 * super-packet takes half of this.
 */
#define LONG_AGO RN_USEC(20)

/* ------------------------------------------------------------------- the time */
/* Reading the clock is a third of a poll that finds nothing, and a twentieth of what a
 * post of a stream costs. The processor's counter tells for less whether what the core
 * was told last still serves.
 */
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

/* At most two microseconds ago, and not before what the core was told; tells it. */
static rn_ns nearly_now(struct rnp_engine *e)
{
	if (!is_near(&e->clock))
		rnp_tell_time(e, rnp_engine_now());
	return e->clock.now;
}

rn_ns rnp_clock_poll_time(struct rnp_engine *e)
{
	return e->clock.shows ? rnp_engine_now() : nearly_now(e);
}

rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp)
{
	if (rn_qp_state(qp) == RN_QPS_RTS)
		return nearly_now(e);
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

/* ------------------------------------------------------------------ one step */
/* Is the last of these an acknowledgement, and all others requests? Behind responses it
 * would say that one of them is lost.
 */
static bool has_ack_along(const struct rn_rx *rx, unsigned count)
{
	const struct rn_rx *last = &rx[count - 1];

	if (count < 2 || last->len < RN_BTH_LEN || last->data[0] != RN_RC_ACK)
		return false;
	for (unsigned i = 0; i < count - 1; i++)
		if (rx[i].len < RN_BTH_LEN ||
		    !(rn_opcode_info[rx[i].data[0]].flags & RN_OP_REQUEST))
			return false;
	return true;
}

/* An acknowledgement that comes along with an answer is the last of its super-packet. It
 * counts first: to a program its request is complete before it is answered.
 */
static void take(struct rnp_engine *e, rn_ns now, const struct rn_rx *rx, unsigned count)
{
	if (has_ack_along(rx, count))
		rn_dev_receive(e->dev, now, &rx[--count], 1);
	rn_dev_receive(e->dev, now, rx, count);
}

/* At most @max calls of the wire, whatever comes: rn_net_ops.receive bounds each. Return:
 * how many found packets.
 *
 * @eager: go on after a single small packet. A program that polls wants its completion;
 * whatever else has come it gets with the next poll. But a sender that took in but one
 * acknowledgement at a time would never have room for more than what that one is of.
 */
static unsigned receive(struct rnp_engine *e, rn_ns now, unsigned max, bool eager,
			bool *dry)
{
	const struct rn_net *net = e->wire.net;
	const bool more = eager || now - e->looked_at > LONG_AGO;
	struct rn_rx rx[RN_RX_BATCH];
	unsigned supers = 0;

	e->looked_at = now;
	*dry = false;
	for (unsigned looks = 0; looks < max; looks++) {
		int n = net->ops->receive(net->ctx, rx);

		if (n == -EAGAIN)
			continue;
		if (n <= 0) {
			*dry = true;
			break;
		}
		rn_trace_receive((uint32_t)n, rx[0].len);
		take(e, now, rx, (unsigned)n);
		e->policy.acks.packets += (uint32_t)n;
		supers++;
		if (n == 1 && rx[0].len <= SMALL && !more)
			break;
	}
	return supers;
}

struct collector {
	struct rn_dev *dev;
	rn_ns now;
};

static void memory_done(void *arg, uint64_t tag, enum rn_mem_result result)
{
	const struct collector *c = arg;

	rn_dev_mem_done(c->dev, c->now, tag, result);
}

/* Hand reads and atomics that have ended to the core. Return: how many. */
static unsigned collect(struct rnp_engine *e, rn_ns now)
{
	struct collector c = { .dev = e->dev, .now = now };

	return rnp_pcie_collect(&e->pcie, memory_done, &c);
}

void rnp_pump_events(struct rnp_engine *e)
{
	struct rn_event ev;

	while (rn_dev_event(e->dev, &ev)) {
		rn_trace_event(ev.completion, ev.completion ? 0 : (uint32_t)ev.async);
		e->hooks->on_event(&ev);
	}
}

/* Let the core build packets, and send them. Return: 0, or not all of it is gone. */
static int send_packets(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	int rc = 0;

	if (rnp_tx_batch_is_empty(&e->batch) && !rn_dev_has_packets(e->dev, what))
		return 0;
	/* What has waited may be an answer, so what its QP owes goes along with it. What
	 * others owe is the last packet.
	 */
	if (e->policy.batching.held > 0 && (what & RN_TX_WORK))
		rc = rnp_tx_batch_fill(&e->batch, e->wire.net, now,
				       RN_TX_WORK | RN_TX_ALONG, SEND_MAX);
	if (rc == 0)
		rc = rnp_tx_batch_fill(&e->batch, e->wire.net, now, what, SEND_MAX);
	if (rc == 0 && !gather)
		rc = rnp_tx_batch_flush(&e->batch, e->wire.net);
	return rc;
}

/* Transmit without receiving. @gather: leave the last super-packet open for more. */
static void transmit(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	rnp_tell_time(e, now);
	if (!e->wire.net)
		return;
	e->is_blocked = send_packets(e, now, what, gather) != 0;
	e->is_raw_blocked = !rnp_raw_transmit(&e->raw, now);
	if (what & RN_TX_ACKS || (what & RN_TX_ALONG && !rn_dev_acks_due(e->dev)))
		e->policy.acks.packets = 0;
	rnp_policy_sent(&e->policy, now, what & RN_TX_WORK,
			gather && !rnp_tx_batch_is_empty(&e->batch));
}

/* A moment of an engine, for those who may call back. */
struct moment {
	struct rnp_engine *e;
	rn_ns now;
};

static void peer_holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken)
{
	const struct moment *m = ctx;

	rn_dev_peer_holds(m->e->dev, m->now, &ends->peer, (uint8_t)ends->peer_slot,
			  taken);
}

static void expire(struct rnp_engine *e, rn_ns now, bool dry)
{
	e->not_dry = dry ? 0 : e->not_dry + 1;
	if (!dry && e->not_dry < NOT_DRY_MAX)
		return;
	e->not_dry = 0;
	if (rn_dev_deadline(e->dev) <= now) {
		struct moment moment = { e, now };

		rn_trace_expire((uint64_t)(now - rn_dev_deadline(e->dev)));
		if (e->wire.local)
			rn_local_who_holds(e->wire.local, peer_holds, &moment);
		rn_dev_expire(e->dev, now);
		rnp_icmp_probe_silent(e, now);
	}
	if (rnp_wire_flush_due(&e->wire) <= now)
		rnp_wire_flush(&e->wire);
	if (e->wire.local && rn_local_rest_due(e->wire.local) <= now)
		rn_local_rest(e->wire.local);
}

static bool acks_leave(const struct rnp_engine *e, rn_ns now, enum rnp_acks acks,
		       unsigned found)
{
	const struct rnp_policy *p = &e->policy;
	const struct rn_qp *asked = p->replies.asked;
	bool in_part =
		asked && rnp_policy_acks(p) == RNP_ACKS_HELD && rn_qp_unsent(asked);

	return rnp_policy_acks_leave(p, now, acks, found, rn_dev_is_amid_message(e->dev),
				     in_part);
}

unsigned rnp_pump_step(struct rnp_engine *e, rn_ns now, unsigned drain,
		       enum rnp_acks acks)
{
	unsigned found, what = RN_TX_WORK;
	bool dry;

	rnp_tell_time(e, now);
	if (!e->wire.net) {
		rnp_pump_events(e);
		return 0;
	}
	collect(e, now);
	/* What a timer is about may wait in a socket. */
	if (e->wire.local && rn_dev_deadline(e->dev) <= now)
		rn_local_look_everywhere(e->wire.local);
	found = receive(e, now, drain, acks != RNP_ACKS_IF_DRY, &dry);
	if (e->wire.capture)
		rn_capture_flush(e->wire.capture);
	found += rnp_raw_receive(&e->raw, now, drain);
	expire(e, now, dry);
	if (acks_leave(e, now, acks, found))
		what = RN_TX_ALL;
	else if (e->policy.replies.asked)
		what |= RN_TX_ALONG;
	transmit(e, now, what, false);
	rnp_pump_events(e);
	return found;
}

static rn_ns earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

/* Next time at which somebody must look: timers of the core, a socket that was full, a
 * capture to be written. RN_NEVER: not before a packet comes.
 */
static rn_ns next_deadline(const struct rnp_engine *e, rn_ns now)
{
	rn_ns at = rn_dev_deadline(e->dev);

	if (!e->wire.net)
		return at;
	if (rn_udp_holds(e->wire.udp))
		at = now;
	if (e->is_blocked || e->is_raw_blocked)
		at = earlier(at, now + RETRY_AFTER);
	if (e->wire.local)
		at = earlier(at, rn_local_rest_due(e->wire.local));
	at = earlier(at, rnp_wire_flush_due(&e->wire));
	if (e->wire.fault)
		at = earlier(at, rnp_fault_due(e, now));
	return at;
}

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
		perform(e, rnp_policy_deadline(&e->policy, next_deadline(e, now)));
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
		idle = collect(e, now) > 0 ? 0 : idle + 1;
		if (idle == 0)
			transmit(e, now, RN_TX_WORK, false);
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
		deadline = next_deadline(e, now);
	todo = rnp_policy_polled(p, now, f, deadline);
	perform(e, todo);
	if (todo & RNP_GIVE_SOCKETS) {
		give_sockets(e, now, todo);
		limit_acks(e, now);
		rnp_progress_deadline(e, now);
	}
}

/* @found: packets, so that more are likely on their way. */
static void note_life(struct rnp_engine *e, bool found)
{
	bool is_lively = found || (e->wire.local && rn_local_is_lively(e->wire.local));

	atomic_store_explicit(&e->is_lively, is_lively, memory_order_relaxed);
}

void rnp_engine_yield(struct rnp_engine *e)
{
	if (!atomic_load_explicit(&e->is_lively, memory_order_relaxed))
		sched_yield();
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
	note_life(e, found > 0);
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
	transmit(e, posted->now, RN_TX_WORK | (todo & RNP_ACK_ALONG ? RN_TX_ALONG : 0),
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

	transmit(e, now, RN_TX_ALL, false);
	rnp_pump_events(e);
	rnp_progress_deadline(e, now);
}

void rnp_engine_say_last(struct rnp_engine *e)
{
	/* No more than these: the peer's sockets do not hold what a ring lets through. */
	if (e->wire.local) {
		rn_local_hurry(e->wire.local, true);
		transmit(e, rnp_engine_now(), RN_TX_ACKS, false);
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
		if (collect(e, rnp_engine_now()) == 0)
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

	if (collect(e, now) == 0)
		return;
	transmit(e, now, RN_TX_WORK, false);
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
