/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_policy.c - properties that the policy has with every program and machine. Models
 * of a program, a machine and a peer, which are drawn from a seed, call the policy in
 * virtual time. test_policy_rules.c tests the rules of the policy one by one, and
 * test_engine_policy.c tests the engine that uses it.
 *
 * - No packet waits for longer than a lease and a wake-up.
 * - A lease ends when the program stops polling. Then whatever waited for its polls
 *   leaves.
 * - While the sockets are in the background thread's poll set, an ACK is held for
 *   RNP_ACK_HOLD and a wake-up at most. It is never held for longer than the ACK delay
 *   that the device advertises.
 * - The background thread looks for packets for a bounded time, then it sleeps.
 * - Short polls delay nothing for longer than full polls may.
 * - A program naps only while the background thread has the sockets, and only briefly.
 * - Without packets and polls the background thread sleeps for ever.
 *
 * usage: test_policy [SEED]. With SEED only that seed is run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "provider/policy/policy.h"
#include "rocin/random.h"

enum {
	SEEDS = 600,
	ACTIONS = 1500,
	WIRE = 4096,	 /* most packets on their way to this end */
	DRAIN_APP = 8,	 /* most packets in one step of a poll */
	DRAIN_MANY = 64, /* most packets in one step of the background thread */
	SPIN = 1000,	 /* the most wake-ups without progress of time */
	POLLS_MAX = 1000,
};

#define LINGER RN_USEC(50)
#define TICK RN_MSEC(4) /* how long a thread that does not yield keeps its processor */
/* retransmission timer of the program's own requests */
#define ACK_TIMEOUT RN_MSEC(8)
#define CA_ACK_DELAY (4096LL << 12) /* in ns; the value that the device advertises */
/* longest time of the calls that the program makes while something is due */
#define CALLS RN_USEC(200)

/* What the program does with its device. */
enum habit {
	POLLS_HARD,
	POLLS_SELDOM,	 /* it computes between its polls */
	SLEEPS,		 /* it sleeps until a completion event */
	LOOKS_AT_MEMORY, /* it polls memory for requests, and replies to them */
	STREAMS,	 /* it posts many requests, then polls many times */
	HABITS,
};

struct program {
	enum habit habit;
	rn_ns think;	     /* longest time that it computes at once */
	rn_ns dies_at;	     /* from this time on it makes no calls */
	bool computes_after; /* after dies_at it computes; false: it sleeps */
	uint32_t replied;    /* value of world.requests at the program's last reply */
	bool waits_for_ack;
	unsigned polls; /* number since its last post */
};

struct machine {
	unsigned cores; /* two, of which the peer uses one; or sixteen */
	bool is_busy;	/* other programs compute on the machine */
	/* number of threads that run for a time slice each when the program yields */
	unsigned hogs;
	rn_ns wake; /* delay from an event to the run of the background thread */
	rn_ns poll; /* duration of a poll */
	rn_ns way;  /* duration of a packet's way in one direction */
};

enum content {
	WRITE,	/* only memory shows it */
	SEND,	/* it completes a receive */
	MIDDLE, /* a packet that is not the last of its message */
	ACK,
};

struct packet {
	rn_ns at;
	enum content content;
};

static struct world {
	struct rn_random random;
	struct machine machine;
	struct program program;
	struct rnp_policy policy;
	rn_ns now;
	rn_ns cpu; /* processor time that the program's thread has used */

	struct packet wire[WIRE]; /* packets on their way to this end, ordered by time */
	unsigned head, tail;
	rn_ns next_burst;

	/* State in the kernel. @listens: the background thread waits for packets in the
	 * sockets.
	 */
	bool listens;
	rn_ns timer; /* 0: not set, or it has fired and was read */

	/* The background thread. */
	rn_ns wakes_at; /* RN_NEVER: it sleeps, and nothing has woken it */
	bool is_running;
	unsigned wakes, wakes_now; /* since the start, and at the present instant */
	/* it has run since the program began to nap, which ends the nap */
	bool calls;

	/* The core. */
	bool has_acks_due, is_amid;
	rn_ns owed_since, armed_since;
	uint32_t requests, received, completions;
	unsigned unacked; /* requests of the program that were sent */
	/* Number of polls that may still be short, and the number that the last full poll
	 * allowed. @is_by_socket: packets in a socket do not show in a ring, so a short
	 * poll does not see them.
	 */
	unsigned shorts, granted;
	bool is_by_socket;
	/* sends that the core has put into the super-packet that is open */
	unsigned unsent;
	unsigned kept;	  /* posts that the core was not asked to send yet */
	rn_ns kept_since; /* time of the first post in @kept or @unsent */
	rn_ns ack_timer;
} w;

static struct rnp_policy *const p = &w.policy;
static uint64_t failing;
static unsigned naps, spins, shorts; /* sums over all seeds */

static bool one_in(uint32_t n)
{
	return rn_random_below(&w.random, n) == 0;
}

static rn_ns up_to(rn_ns most)
{
	return (rn_ns)rn_random_below(&w.random, (uint32_t)most + 1);
}

/* ----------------------------------------------------------------------- the peer */
static void arrive(rn_ns at, enum content content)
{
	unsigned i = w.tail++;

	assert_true(w.tail - w.head < WIRE);
	for (; i > w.head && w.wire[(i - 1) % WIRE].at > at; i--)
		w.wire[i % WIRE] = w.wire[(i - 1) % WIRE];
	w.wire[i % WIRE] = (struct packet){ at, content };
}

/* The peer receives a request. It acknowledges it, unless the ACK is lost. It may send a
 * reply too, at the time of the ACK or later.
 */
static void peer_receives(void)
{
	rn_ns at = w.now + 2 * w.machine.way;
	bool replies = w.program.habit == LOOKS_AT_MEMORY ? !one_in(8) : one_in(8);

	if (!one_in(64))
		arrive(at, ACK);
	if (replies)
		arrive(at + (one_in(2) ? 0 : up_to(RN_USEC(100))),
		       one_in(4) ? SEND : WRITE);
}

/* The peer sends a burst of packets that are no replies. */
static void peer_speaks(void)
{
	unsigned packets = 1 + rn_random_below(&w.random, one_in(8) ? 100 : 4);

	if (w.now < w.next_burst)
		return;
	for (unsigned i = 0; i < packets; i++)
		arrive(w.now + w.machine.way + i * 100,
		       (enum content)rn_random_below(&w.random, ACK));
	arrive(w.now + w.machine.way + packets * 100, one_in(2) ? WRITE : SEND);
	w.next_burst = w.now + up_to(RN_USEC(20) << rn_random_below(&w.random, 8));
}

/* -------------------------------------------------------------------- the machine */
/* Returns true if the background thread may have to wait for a processor that another
 * thread uses.
 */
static bool is_crowded(void)
{
	return w.machine.cores == 2 || w.machine.is_busy;
}

/* Now and then other programs use the processor, for a tick at most. Returns for how
 * long.
 */
static rn_ns others_take(void)
{
	uint32_t seldom = w.machine.cores * (w.machine.is_busy ? 2 : 8);

	return is_crowded() && one_in(seldom) ? up_to(TICK) : 0;
}

static rn_ns longest_wake(void)
{
	return w.machine.wake + (is_crowded() ? TICK : 0);
}

static rn_ns longest_yield(void)
{
	return RN_USEC(1) + (is_crowded() ? TICK : 0);
}

static rn_ns next_event(void)
{
	rn_ns at = w.timer ? w.timer : RN_NEVER;

	if (w.listens && w.head != w.tail && w.wire[w.head % WIRE].at < at)
		at = w.wire[w.head % WIRE].at;
	return at;
}

static void run_background(void);

/* Called when the lock is taken for something other than a poll: short polls end. */
static void end_shorts(void)
{
	w.shorts = w.granted = 0;
}

/* Lets time pass. @computes: the program uses the processor meanwhile. The background
 * thread runs when it is woken.
 */
static void pass(rn_ns duration, bool computes)
{
	rn_ns until = w.now + duration, begun = w.now, event;

	for (;;) {
		event = next_event();
		if (!w.is_running && w.wakes_at == RN_NEVER && event <= until)
			w.wakes_at = (event > w.now ? event : w.now) + w.machine.wake +
				     others_take();
		if (w.is_running || w.wakes_at > until)
			break;
		if (w.wakes_at > w.now) {
			w.now = w.wakes_at;
			w.wakes_now = 0;
		}
		w.wakes_at = RN_NEVER;
		if (++w.wakes_now > SPIN)
			fail_msg("the background thread spins");
		run_background();
	}
	if (until > w.now)
		w.now = until;
	if (computes)
		w.cpu += w.now - begun;
}

/* ----------------------------------------------------------------------- the core */
static struct rnp_facts facts(void)
{
	return (struct rnp_facts){ .has_acks_due = w.has_acks_due,
				   .is_amid_message = w.is_amid,
				   .is_asked_unacked = w.unacked > 0 };
}

/* The longest that a packet may wait: for the end of a lease that was renewed just
 * before, for the end of the look that the background thread is performing, and for a
 * processor, twice.
 */
static rn_ns longest_wait(void)
{
	return p->times.long_lease + p->times.lease + RNP_LOOK_MAX + 2 * longest_wake() +
	       2 * longest_yield() + CALLS;
}

static void check_wait(rn_ns since, rn_ns most, const char *what)
{
	if (w.now - since > most)
		fail_msg("%s waited for %lld ns, %lld at most", what,
			 (long long)(w.now - since), (long long)most);
}

static void take(const struct packet *packet)
{
	check_wait(packet->at, longest_wait(), "a packet");
	if (packet->content == ACK) {
		w.completions += w.unacked > 0;
		w.unacked = 0;
		w.ack_timer = RN_NEVER;
		return;
	}
	p->acks.packets++;
	w.requests++;
	w.is_amid = packet->content == MIDDLE;
	if (packet->content == SEND) {
		w.received++;
		w.completions++;
	}
	if (!w.has_acks_due)
		w.owed_since = w.now;
	w.has_acks_due = true;
}

static void send_acks(void)
{
	rn_ns armed = w.armed_since > w.owed_since ? w.armed_since : w.owed_since;

	p->acks.packets = 0;
	if (!w.has_acks_due)
		return;
	w.has_acks_due = false;
	check_wait(w.owed_since, CA_ACK_DELAY, "an ACK");
	if (w.listens)
		check_wait(armed, RNP_ACK_HOLD + longest_wake() + longest_yield() + CALLS,
			   "an ACK, with the sockets on,");
}

/* Sends all that was posted. @is_open: the super-packet stays open for later posts. */
static void send_work(bool is_open)
{
	if (w.kept + w.unsent > 0)
		check_wait(w.kept_since, longest_wait(), "a post");
	w.unsent += w.kept;
	w.unacked += w.kept;
	w.kept = 0;
	if (w.unacked > 0 && w.ack_timer == RN_NEVER)
		w.ack_timer = w.now + ACK_TIMEOUT;
	if (!is_open && w.unsent > 0) {
		w.unsent = 0;
		peer_receives();
	}
	rnp_policy_sent(p, w.now, true, is_open && w.unsent > 0);
}

static void expire(void)
{
	if (w.ack_timer > w.now)
		return;
	check_wait(w.ack_timer, longest_wait(), "a timeout");
	w.ack_timer = w.now + ACK_TIMEOUT;
	arrive(w.now + 2 * w.machine.way, ACK);
}

static unsigned step(unsigned max, enum rnp_acks acks)
{
	unsigned found = 0;

	while (found < max && w.head != w.tail && w.wire[w.head % WIRE].at <= w.now) {
		take(&w.wire[w.head++ % WIRE]);
		found++;
	}
	expire();
	if (rnp_policy_acks_leave(p, w.now, acks, found, w.is_amid, w.unsent > 0))
		send_acks();
	send_work(false);
	return found;
}

/* ----------------------------------------------------------------------- the loop */
static void perform(unsigned todo)
{
	if (todo & RNP_TAKE_SOCKETS)
		w.listens = false;
	if (todo & RNP_ACCOUNT_CPU)
		rnp_policy_account(p, w.cpu);
	if (todo & RNP_SET_TIMER)
		w.timer = p->timer_at;
}

static void limit_acks(void)
{
	perform(rnp_policy_limit_acks(p, w.now, w.has_acks_due));
}

static unsigned serve_sockets(enum rnp_acks acks)
{
	unsigned found = step(DRAIN_MANY, acks);

	perform(rnp_policy_deadline(p, w.ack_timer));
	return found;
}

/* One time in 50 the kernel cannot add the sockets to the poll set. */
static unsigned give_sockets(unsigned todo)
{
	bool is_on = !one_in(50);

	w.listens = is_on;
	w.armed_since = w.now;
	perform(rnp_policy_given(p, w.now, is_on));
	return serve_sockets(todo & RNP_HOLD_ACKS ? RNP_ACKS_HELD : RNP_ACKS_NOW);
}

/* Called whenever the lock is free. Checks that something will look for packets and send
 * what waits: a lease with a timer, or the background thread.
 */
static void check(void)
{
	assert_int_equal(w.timer, p->timer_at);
	assert_int_equal(w.listens, p->turn == RNP_ARMED);
	if (p->turn == RNP_LEASED) {
		assert_true(w.timer != 0);
		assert_true(w.timer <= w.now + p->times.long_lease);
		return;
	}
	assert_int_equal(w.kept + w.unsent, 0);
	assert_true(w.ack_timer == RN_NEVER || (w.timer && w.timer <= w.ack_timer));
	if (w.has_acks_due && !w.is_running)
		assert_true(w.timer && w.timer <= p->acks.since + RNP_ACK_HOLD);
}

static void act(void);

/* Other threads run. Afterwards the program makes a call, one time in four. */
static void yield(void)
{
	rn_ns before = w.now;

	check();
	pass(200 + up_to(800) + others_take(), w.program.habit != SLEEPS);
	if (w.now - before > RNP_YIELD_DEAR)
		rnp_policy_yield_was_dear(p, w.now, w.cpu);
	if (one_in(4))
		act();
}

static void look_again(void)
{
	rn_ns begun = w.now, called = 0, before;

	if (!rnp_policy_look(p, w.now, w.cpu))
		return;
	while (rnp_policy_looks_on(p, w.now)) {
		before = w.now;
		yield();
		called = w.now - before;
		if (p->turn != RNP_ARMED)
			return;
		if (serve_sockets(RNP_ACKS_NOW) == 0)
			continue;
		rnp_policy_look_found(p, w.now, w.is_amid, w.requests);
	}
	check_wait(begun, RNP_LOOK_MAX + called, "looking again");
}

static void after_packets(void)
{
	if (rnp_policy_received(p, w.now, w.is_amid, w.requests) & RNP_LOOK_AGAIN)
		look_again();
}

static void end_lease(void)
{
	unsigned todo = rnp_policy_lease_ends(p, w.now, w.cpu);
	bool found;

	perform(todo);
	if (!(todo & RNP_GIVE_SOCKETS))
		return;
	found = give_sockets(todo) > 0;
	rnp_policy_took_over(p, found);
	if (found)
		after_packets();
	limit_acks();
}

static void run_background(void)
{
	w.wakes++;
	end_shorts();
	w.is_running = true;
	if (w.timer && w.timer <= w.now) {
		w.timer = 0;
		rnp_policy_fired(p);
	}
	if (p->turn == RNP_ARMED) {
		if (serve_sockets(rnp_policy_woken(p, w.now)) > 0)
			after_packets();
		limit_acks();
	} else if (p->timer_at == 0) {
		end_lease();
	}
	w.is_running = false;
	w.calls = true;
	check();
}

/* -------------------------------------------------------------------- the program */
static void nap(void)
{
	rn_ns until = w.now + RNP_NAP, begun = w.now;
	unsigned todo = rnp_policy_sleeps(p);

	if (todo & RNP_GIVE_SOCKETS && give_sockets(todo) > 0)
		return;
	limit_acks();
	check();
	naps++;
	w.calls = false;
	while (!w.calls && w.now < until) {
		peer_speaks();
		pass(RN_USEC(10), false);
	}
	check_wait(begun, RNP_NAP + RN_USEC(10) + longest_wake() + longest_yield(),
		   "a nap");
	if (w.now > until)
		rnp_policy_paused(p, w.now, w.now - until);
}

static void pause_poll(enum rnp_pause pause)
{
	rn_ns before = w.now;

	switch (pause) {
	case RNP_PAUSE_YIELD:
		pass(200 + w.machine.hogs * up_to(TICK), false);
		rnp_policy_paused(p, w.now, w.now - before);
		break;
	case RNP_PAUSE_NAP:
		nap();
		break;
	case RNP_PAUSE_SPIN:
		spins++;
		break;
	case RNP_PAUSE_NONE:
		break;
	}
}

/* Performs a poll that only looks at the rings, if this is enough now. Returns false if a
 * full poll is needed.
 */
static bool poll_shortly(void)
{
	bool shows = w.head != w.tail && w.wire[w.head % WIRE].at <= w.now;

	if (w.shorts == 0 || (shows && !w.is_by_socket))
		return false;
	w.shorts--;
	shorts++;
	pass(1 + w.machine.poll / 20, true);
	return true;
}

static void allow_shorts(enum rnp_pause pause, bool is_all, unsigned found)
{
	if (found == 0 && !w.has_acks_due && w.kept + w.unsent == 0 &&
	    w.ack_timer > w.now)
		w.granted = rnp_policy_short_polls(p, w.now, pause, is_all);
	w.shorts = w.granted;
	assert_true(w.shorts == 0 || p->turn == RNP_LEASED);
	assert_true(w.shorts <= RNP_SHORT_POLLS);
}

static void poll(void)
{
	enum rnp_pause pause;
	enum rnp_acks acks;
	unsigned todo, found;
	bool is_all;

	if (poll_shortly())
		return;
	is_all = w.shorts == 0 && w.granted == p->shorts.most;
	end_shorts();
	acks = rnp_policy_poll(p);
	found = step(DRAIN_APP, acks);
	pause = rnp_policy_pause(p, w.now, found > 0);
	todo = rnp_policy_polled(p, w.now, facts(), w.ack_timer);
	perform(todo);
	if (todo & RNP_GIVE_SOCKETS) {
		give_sockets(todo);
		limit_acks();
		perform(rnp_policy_deadline(p, w.ack_timer));
	}
	allow_shorts(pause, is_all, found);
	w.program.polls++;
	if (!w.is_running)
		check();
	pass(w.machine.poll, true);
	if (!w.is_running)
		pause_poll(pause);
}

static void post(void)
{
	const struct rnp_post request = { .count = 1,
					  .bytes = 1 + (uint64_t)up_to(2000),
					  .is_unacked = w.unacked > 0,
					  .is_sending = true };
	unsigned todo = rnp_policy_post(p, w.now, &request);
	struct rnp_counts counts;

	end_shorts();
	if (w.kept + w.unsent == 0)
		w.kept_since = w.now;
	w.kept++;
	w.program.polls = 0;
	if (!(todo & RNP_HOLD)) {
		if (todo & RNP_ACK_ALONG)
			send_acks();
		send_work(todo & RNP_GATHER);
		counts = (struct rnp_counts){ w.requests, w.received };
		rnp_policy_posted(p, w.now, (const struct rn_qp *)&w, facts(), counts);
		perform(rnp_policy_deadline(p, w.ack_timer));
	}
	if (!w.is_running)
		check();
	pass(w.machine.poll / 2, true);
}

static void linger(void)
{
	rn_ns until = w.now + LINGER;
	uint32_t before = w.completions;
	bool lingers = rnp_policy_may_linger(p, w.now);
	unsigned todo;

	end_shorts();
	if (lingers) {
		step(DRAIN_APP, RNP_ACKS_NOW);
		perform(rnp_policy_linger(p, w.now));
		while (w.completions == before && w.now < until)
			poll();
		rnp_policy_lingered(p, w.completions != before);
	}
	if (w.completions != before)
		return;
	todo = rnp_policy_sleeps(p);
	if (todo & RNP_GIVE_SOCKETS)
		give_sockets(todo);
	check();
}

static void sleep_until_an_event(void)
{
	rn_ns until = w.now + RN_MSEC(2);
	uint32_t before = w.completions;
	bool lingers = one_in(2);
	unsigned todo;

	end_shorts();
	step(DRAIN_APP, RNP_ACKS_NOW);
	perform(rnp_policy_deadline(p, w.ack_timer));
	todo = rnp_policy_cq_armed(p, lingers);
	if (todo & RNP_GIVE_SOCKETS)
		give_sockets(todo);
	check();
	if (lingers)
		linger();
	while (w.completions == before && w.now < until) {
		peer_speaks();
		pass(RN_USEC(10), false);
	}
	rnp_policy_cq_unarmed(p);
	poll();
}

static void look_at_memory(void)
{
	struct program *g = &w.program;

	if (g->waits_for_ack && w.unacked > 0 && g->polls < POLLS_MAX) {
		poll();
	} else if (g->waits_for_ack) {
		g->waits_for_ack = false;
	} else if (w.requests != g->replied) {
		g->replied = w.requests;
		pass(up_to(g->think / 8), true);
		post();
		g->waits_for_ack = true;
		poll();
	} else {
		pass(RN_USEC(1), true);
		if (one_in(500)) /* it posts without a request to reply to */
			post();
	}
}

/* The program makes one or a few calls, as its habit is. While the background thread
 * yields, the program does not sleep, because the yield is short.
 */
static void act(void)
{
	struct program *g = &w.program;
	enum habit habit = w.is_running && g->habit == SLEEPS ? POLLS_HARD : g->habit;

	if (w.now >= g->dies_at)
		return;
	switch (habit) {
	case POLLS_HARD:
		poll();
		if (one_in(16))
			post();
		break;
	case POLLS_SELDOM:
		poll();
		if (one_in(4))
			post();
		if (!w.is_running)
			pass(up_to(g->think), true);
		break;
	case SLEEPS:
		if (one_in(2))
			post();
		sleep_until_an_event();
		break;
	case LOOKS_AT_MEMORY:
		look_at_memory();
		break;
	case STREAMS:
		for (unsigned i = 1 + rn_random_below(&w.random, 40); i > 0; i--)
			post();
		for (unsigned i = rn_random_below(&w.random, 40); i > 0; i--)
			poll();
		break;
	case HABITS:
		fail();
	}
}

/* ------------------------------------------------------------------------- a seed */
static void make_world(uint64_t seed)
{
	w = (struct world){ .random = rn_random_of(seed, 0),
			    .now = RN_MSEC(1000),
			    .listens = true,
			    .wakes_at = RN_NEVER,
			    .ack_timer = RN_NEVER };
	rnp_policy_init(p);
	w.is_by_socket = seed % 4 == 0;
	w.machine =
		(struct machine){ .cores = one_in(2) ? 2 : 16,
				  .is_busy = one_in(2),
				  .wake = one_in(2) ? RN_USEC(5) : RN_USEC(50),
				  .poll = one_in(2) ? 300 : 1500,
				  .way = RN_USEC(1) << rn_random_below(&w.random, 6) };
	if (w.machine.is_busy && one_in(2))
		w.machine.hogs = 1 + rn_random_below(&w.random, 10);
	w.program = (struct program){
		.habit = (enum habit)rn_random_below(&w.random, HABITS),
		.think = RN_USEC(1) << rn_random_below(&w.random, 13),
		.dies_at = RN_NEVER,
		.computes_after = one_in(2),
	};
	w.next_burst = one_in(3) ? RN_NEVER : w.now;
	if (one_in(3))
		w.program.dies_at = w.now + up_to(RN_MSEC(20));
}

/* The program makes no further calls, and the packets that its peer has sent by now
 * arrive. Afterwards everything must be at rest.
 */
static void check_rest(void)
{
	unsigned wakes;

	w.program.dies_at = w.now;
	pass(RN_MSEC(200), w.program.computes_after);
	assert_int_equal(p->turn, RNP_ARMED);
	assert_true(w.listens);
	assert_int_equal(w.head, w.tail);
	assert_false(w.has_acks_due);
	assert_int_equal(w.unacked + w.unsent + w.kept, 0);
	wakes = w.wakes;
	pass(RN_MSEC(3000), w.program.computes_after);
	assert_int_equal(w.wakes, wakes);
}

static void run_seed(uint64_t seed)
{
	failing = seed;
	make_world(seed);
	for (unsigned i = 0; i < ACTIONS; i++) {
		peer_speaks();
		act();
		if (w.now >= w.program.dies_at)
			pass(up_to(RN_USEC(100)), w.program.computes_after);
	}
	check_rest();
	failing = 0;
}

static void models_of_programs_and_machines(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
	assert_true(naps > SEEDS && spins > SEEDS && shorts > 100 * SEEDS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_of_programs_and_machines),
	};
	int failed;

	if (argc > 1) {
		run_seed(strtoull(argv[1], NULL, 0));
		return 0;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failing)
		print_error("it was this one: test_policy %llu\n",
			    (unsigned long long)failing);
	return failed;
}
