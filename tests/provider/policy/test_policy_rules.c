/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_policy_rules.c - the rules of the policy one by one, each with values at its
 * bounds. test_policy.c tests what holds with every program and machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "provider/policy/policy.h"
#include "rocin/net.h"

#define START RN_MSEC(1000)
#define SHORT (rnp_lease_times.lease)
#define LONG (rnp_lease_times.long_lease)
/* polls that are further apart than this have a gap */
#define GAP (rnp_lease_times.lease / 4)
#define STREAK (rnp_lease_times.streak)
#define MOST (rnp_lease_times.streak_max)

/* Names of two queue pairs. The policy compares pointers to queue pairs only, so that
 * these pointers need not point to any.
 */
static const char names[2];
static const struct rn_qp *const qp = (const struct rn_qp *)&names[0];
static const struct rn_qp *const other = (const struct rn_qp *)&names[1];

static struct rnp_policy policy, *const p = &policy;
static rn_ns now;
/* Arguments of the policy that the event loop observes: @core, @counts and @deadline. */
static struct rnp_facts core;
static struct rnp_counts counts;
static rn_ns deadline;
static bool is_in_part; /* only a part of the reply has been sent */

static int setup(void **state)
{
	(void)state;
	policy = (struct rnp_policy){ 0 };
	rnp_policy_init(p);
	now = START;
	core = (struct rnp_facts){ 0 };
	counts = (struct rnp_counts){ 0 };
	deadline = RN_NEVER;
	is_in_part = false;
	return 0;
}

/* A poll, @later after the last event. */
static unsigned poll_after(rn_ns later)
{
	now += later;
	rnp_policy_poll(p);
	return rnp_policy_polled(p, now, core, deadline);
}

static unsigned post_after(rn_ns later, bool is_unacked)
{
	const struct rnp_post post = {
		.count = 1, .bytes = 8, .is_unacked = is_unacked, .is_sending = true
	};

	now += later;
	return rnp_policy_post(p, now, &post);
}

/* The posted request has been sent. */
static void posted(bool is_unacked)
{
	core.is_asked_unacked = is_unacked;
	rnp_policy_posted(p, now, qp, core, counts);
}

/* Polls until the program takes the sockets. Returns the number of polls. */
static unsigned polls_to_take(void)
{
	unsigned polls = 0;

	do {
		assert_int_equal(p->turn, RNP_ARMED);
		assert_true(polls <= MOST);
		polls++;
	} while (!(poll_after(RN_USEC(1)) & RNP_TAKE_SOCKETS));
	assert_int_equal(p->turn, RNP_LEASED);
	return polls;
}

static void take(void)
{
	polls_to_take();
}

/* The lease's timer fires @away after the last poll. @computes: the program has used the
 * processor for all this time; false: not at all. Returns true if the sockets go back to
 * the background thread.
 */
static bool end_lease(rn_ns away, bool computes)
{
	rn_ns polled = p->polling.last - p->lease.begun;
	unsigned todo;

	now = p->polling.last + away;
	rnp_policy_fired(p);
	assert_int_equal(p->timer_at, 0);
	todo = rnp_policy_lease_ends(p, now,
				     p->cpu.at_renewal + polled + (computes ? away : 0));
	if (todo & RNP_GIVE_SOCKETS)
		assert_int_equal(rnp_policy_given(p, now, true), 0);
	return todo & RNP_GIVE_SOCKETS;
}

/* The lease ends, and what waited for a poll is sent. @found: the background thread finds
 * packets that waited.
 */
static void lapse(bool computes, bool found)
{
	assert_true(end_lease(SHORT, computes));
	rnp_policy_sent(p, now, true, false);
	rnp_policy_took_over(p, found);
}

/* The background thread finds a request, and the program posts its reply @later. */
static void reply_after(rn_ns later)
{
	counts.requests++;
	rnp_policy_received(p, now, core.is_amid_message, counts.requests);
	post_after(later, false);
}

static void reply_often(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		reply_after(RN_USEC(10));
}

/* The program replies to requests that it finds in memory, posts one request at a time,
 * and waits for the ACK of the last one.
 */
static void looks_at_memory(void)
{
	reply_often(RNP_REPLIES);
	rnp_policy_poll(p);
	counts.requests++;
	post_after(0, false);
	posted(true);
	rnp_policy_poll(p);
	assert_true(p->replies.sees_memory);
}

/* ------------------------------------------------------------------------- polls */
static void a_streak_of_polls_takes_the_sockets(void **state)
{
	(void)state;
	for (unsigned i = 1; i < STREAK; i++)
		assert_int_equal(poll_after(RN_USEC(1)), 0);
	assert_int_equal(poll_after(RN_USEC(1)),
			 RNP_TAKE_SOCKETS | RNP_ACCOUNT_CPU | RNP_SET_TIMER);
	assert_int_equal(p->turn, RNP_LEASED);
	assert_int_equal(p->timer_at, now + SHORT);
	assert_false(p->lease.is_early);
}

static void posts_count_as_polls_do(void **state)
{
	(void)state;
	for (unsigned i = 1; i < STREAK; i++)
		post_after(RN_USEC(1), false);
	assert_int_equal(polls_to_take(), 1);
}

static void polls_count_less_while_a_cq_is_armed(void **state)
{
	(void)state;
	poll_after(RN_USEC(1));
	assert_int_equal(rnp_policy_cq_armed(p, false), 0);
	assert_int_equal(polls_to_take(), STREAK * RNP_STREAK_EVENTS);
	assert_int_equal(rnp_policy_cq_armed(p, true), 0);
	assert_int_equal(rnp_policy_cq_armed(p, false), RNP_GIVE_SOCKETS);
	rnp_policy_given(p, now, true);
	for (unsigned i = 0; i < 3; i++) {
		poll_after(RN_USEC(1));
		rnp_policy_cq_unarmed(p);
	}
	assert_int_equal(polls_to_take(), STREAK);
}

static void a_forgotten_cq_does_not_make_the_most_more(void **state)
{
	(void)state;
	rnp_policy_cq_armed(p, false);
	p->polling.streak_need = MOST;
	assert_int_equal(polls_to_take(), MOST);
}

static void a_stream_makes_polls_count_again(void **state)
{
	(void)state;
	p->polling.streak_need = MOST;
	for (unsigned i = 1; i < RNP_STREAM; i++)
		post_after(0, false);
	rnp_policy_poll(p);
	assert_int_equal(p->polling.streak_need, MOST);
	assert_int_equal(p->batching.run, RNP_STREAM - 1);
	rnp_policy_poll(p); /* a second poll after the same posts */
	assert_int_equal(p->batching.run, RNP_STREAM - 1);
	for (unsigned i = 0; i < RNP_STREAM; i++)
		post_after(0, false);
	rnp_policy_poll(p);
	assert_int_equal(p->polling.streak_need, STREAK);
	assert_int_equal(p->batching.posts, 0);
}

static void what_a_poll_defers_is_guarded_by_a_lease_or_a_timer(void **state)
{
	(void)state;
	assert_int_equal(rnp_policy_poll(p), RNP_ACKS_NOW);
	take();
	assert_int_equal(rnp_policy_poll(p), RNP_ACKS_IF_DRY);
	lapse(false, false);
	reply_often(RNP_REPLIES);
	assert_int_equal(rnp_policy_poll(p), RNP_ACKS_IF_DRY);
}

/* ------------------------------------------------------------------------- lease */
static void lease_is_renewed_after_three_quarters(void **state)
{
	rn_ns begun;

	(void)state;
	take();
	begun = now;
	while (now < begun + SHORT * 3 / 4 - RN_USEC(10))
		assert_int_equal(poll_after(RN_USEC(10)), 0);
	assert_int_equal(poll_after(RN_USEC(10)),
			 RNP_ACCOUNT_CPU | RNP_SET_TIMER | RNP_REST_SOCKETS);
	assert_int_equal(p->timer_at, now + SHORT);
	assert_int_equal(p->lease.begun, now);
	assert_int_equal(poll_after(RN_USEC(10)), 0);
}

/* Polls without a gap for @duration. Returns all flags that the policy returned. */
static unsigned poll_for(rn_ns duration)
{
	rn_ns until = now + duration;
	unsigned todo = 0;

	while (now < until)
		todo |= poll_after(GAP / 2);
	return todo;
}

static void steady_polling_has_the_long_lease(void **state)
{
	rn_ns set;

	(void)state;
	take();
	assert_false(poll_for(rnp_lease_times.steady - SHORT) & RNP_CHECK_HANDLER);
	assert_int_equal(p->lease.length, SHORT);
	p->polling.streak_need = MOST;
	assert_true(poll_for(2 * SHORT) & RNP_CHECK_HANDLER);
	assert_int_equal(p->lease.length, LONG);
	assert_int_equal(p->polling.streak_need, STREAK);
	assert_false(poll_for(2 * SHORT) & RNP_CHECK_HANDLER);
	/* The long lease is renewed each time that a short lease has passed. */
	while (!(poll_after(GAP / 4) & RNP_SET_TIMER))
		;
	assert_int_equal(p->timer_at, now + LONG);
	set = now;
	while (!(poll_after(GAP / 4) & RNP_SET_TIMER))
		;
	assert_int_equal(now - set, SHORT);
}

static void who_replies_is_steady_later(void **state)
{
	(void)state;
	take();
	p->replies.confidence = 1;
	poll_for(2 * rnp_lease_times.steady - SHORT);
	assert_int_equal(p->lease.length, SHORT);
	poll_for(2 * SHORT);
	assert_int_equal(p->lease.length, LONG);
}

static void a_gap_ends_the_long_lease(void **state)
{
	(void)state;
	take();
	poll_for(2 * rnp_lease_times.steady);
	assert_int_equal(p->lease.length, LONG);
	poll_after(GAP);
	assert_int_equal(p->lease.length, LONG);
	assert_true(poll_after(GAP + 1) & RNP_SET_TIMER);
	assert_int_equal(p->lease.length, SHORT);
	assert_int_equal(p->timer_at, now + SHORT);
	assert_int_equal(p->polling.steady_since, now);
}

static void timer_that_fires_between_two_polls_is_set_again(void **state)
{
	(void)state;
	take();
	assert_false(end_lease(GAP - 1, true));
	assert_int_equal(p->timer_at, p->polling.last + SHORT);
	assert_int_equal(p->turn, RNP_LEASED);
	assert_true(end_lease(GAP, true));
	assert_int_equal(p->turn, RNP_ARMED);
}

static void busy_program_that_let_packets_wait_is_believed_later(void **state)
{
	unsigned need = STREAK;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(polls_to_take(), need);
		lapse(true, true);
		need *= RNP_STREAK_FACTOR;
	}
	assert_int_equal(polls_to_take(), need);
	lapse(true, false); /* no packet waited, so nothing is charged to the program */
	assert_int_equal(polls_to_take(), need);
	lapse(false, true); /* the program slept, so it did not delay the packet */
	assert_int_equal(polls_to_take(), need);
	p->polling.streak_need = MOST;
	lapse(true, true);
	assert_int_equal(p->polling.streak_need, MOST);
}

/* A program is busy if it computed for more than half of the time since its last poll.
 * One that other threads wake sleeps for a part of that time.
 */
static void program_is_busy_if_it_used_half_of_the_time(void **state)
{
	rn_ns polled, away = RN_MSEC(2);

	(void)state;
	for (int more = 0; more < 2; more++) {
		take();
		rnp_policy_account(p, RN_MSEC(77));
		polled = p->polling.last - p->lease.begun;
		now = p->polling.last + away;
		rnp_policy_fired(p);
		rnp_policy_lease_ends(p, now, RN_MSEC(77) + polled + away / 2 + more);
		assert_int_equal(p->lapse.was_busy, more);
		rnp_policy_given(p, now, true);
	}
}

static void sockets_that_cannot_be_given_stay_under_a_timer(void **state)
{
	(void)state;
	take();
	poll_for(2 * rnp_lease_times.steady);
	assert_int_equal(p->lease.length, LONG);
	p->polling.streak = 5;
	rnp_policy_fired(p);
	now += LONG;
	assert_int_equal(rnp_policy_given(p, now, false), RNP_SET_TIMER);
	assert_int_equal(p->turn, RNP_LEASED);
	assert_int_equal(p->timer_at, now + SHORT);
	assert_int_equal(p->lease.begun, now);
	assert_int_equal(p->polling.streak, 0);
}

static void timer_carries_the_deadline_while_the_sockets_are_on(void **state)
{
	(void)state;
	assert_int_equal(rnp_policy_deadline(p, RN_NEVER), 0);
	assert_int_equal(rnp_policy_deadline(p, now + 100), RNP_SET_TIMER);
	assert_int_equal(p->timer_at, now + 100);
	assert_int_equal(rnp_policy_deadline(p, now + 101), 0);
	assert_int_equal(rnp_policy_deadline(p, now + 99), RNP_SET_TIMER);
	assert_int_equal(p->timer_at, now + 99);
	deadline = now + 50;
	assert_int_equal(poll_after(1), RNP_SET_TIMER);
	assert_int_equal(p->timer_at, deadline);
	deadline = RN_NEVER;
	take();
	assert_int_equal(rnp_policy_deadline(p, now + 1), 0);
}

/* -------------------------------------------------------------------------- ACKs */
static void acks_are_held_for_a_while(void **state)
{
	rn_ns since = now;

	(void)state;
	assert_int_equal(rnp_policy_limit_acks(p, now, core.has_acks_due), 0);
	core.has_acks_due = true;
	assert_int_equal(rnp_policy_limit_acks(p, now, core.has_acks_due), RNP_SET_TIMER);
	assert_int_equal(p->timer_at, since + RNP_ACK_HOLD);
	assert_int_equal(rnp_policy_limit_acks(p, now + 10, core.has_acks_due), 0);
	p->timer_at = since + RNP_ACK_HOLD + 1;
	assert_int_equal(rnp_policy_limit_acks(p, now + 10, core.has_acks_due),
			 RNP_SET_TIMER);
	assert_int_equal(p->timer_at, since + RNP_ACK_HOLD);
	p->timer_at = since + 5; /* another timer fires earlier and does the work */
	assert_int_equal(rnp_policy_limit_acks(p, now + 10, core.has_acks_due), 0);
	assert_int_equal(p->timer_at, since + 5);
	core.has_acks_due = false;
	assert_int_equal(rnp_policy_limit_acks(p, now + 10, core.has_acks_due), 0);
	assert_int_equal(p->acks.since, 0);
}

static void acks_that_have_waited_leave(void **state)
{
	(void)state;
	assert_int_equal(rnp_policy_woken(p, now), RNP_ACKS_NOW);
	reply_often(RNP_REPLIES);
	assert_int_equal(rnp_policy_woken(p, now), RNP_ACKS_HELD);
	core.has_acks_due = true;
	rnp_policy_limit_acks(p, now, core.has_acks_due);
	assert_int_equal(rnp_policy_woken(p, now + RNP_ACK_HOLD - 1), RNP_ACKS_HELD);
	assert_int_equal(rnp_policy_woken(p, now + RNP_ACK_HOLD), RNP_ACKS_NOW);
	/* The hold begins anew for the next ACK. */
	assert_int_equal(rnp_policy_woken(p, now + RNP_ACK_HOLD), RNP_ACKS_HELD);
}

static void a_lease_guards_acks_as_well(void **state)
{
	(void)state;
	core.has_acks_due = true;
	rnp_policy_limit_acks(p, now, core.has_acks_due);
	take();
	assert_int_equal(rnp_policy_limit_acks(p, now, core.has_acks_due), 0);
	assert_int_equal(p->acks.since, 0);
}

static bool acks_leave(enum rnp_acks acks, unsigned found)
{
	return rnp_policy_acks_leave(p, now, acks, found, core.is_amid_message,
				     is_in_part);
}

static void acks_leave_when_the_wire_is_dry(void **state)
{
	(void)state;
	assert_true(acks_leave(RNP_ACKS_NOW, 1));
	assert_false(acks_leave(RNP_ACKS_HELD, 0));
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 1));
	core.is_amid_message = true;
	assert_true(acks_leave(RNP_ACKS_HELD, 0));
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 1));
}

static void acks_leave_though_the_wire_never_runs_dry(void **state)
{
	(void)state;
	p->acks.packets = RNP_ACK_EVERY - 1;
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 1));
	p->acks.packets = RNP_ACK_EVERY;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 1));
	reply_often(RNP_REPLIES);
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 1));
	p->acks.packets = RNP_ACK_EVERY_ANSWERED;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 1));
	p->acks.packets = RNP_ACK_EVERY;
	core.is_amid_message = true;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 1));
}

/* While only a part of the reply has left, because the window is full, ACKs wait for the
 * rest of it.
 */
static void acks_wait_for_the_end_of_a_reply(void **state)
{
	(void)state;
	looks_at_memory();
	is_in_part = true;
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 0));
	core.is_amid_message = true;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
	core.is_amid_message = false;
	now += RNP_REPLY_FOR - 1;
	assert_false(acks_leave(RNP_ACKS_IF_DRY, 0));
	now += 1;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
	now -= 1;
	is_in_part = false;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
	is_in_part = true;
	p->replies.confidence = RNP_REPLIES - 1;
	assert_true(acks_leave(RNP_ACKS_IF_DRY, 0));
}

/* ------------------------------------------------------------------------ replies */
static void replies_in_time_are_waited_for(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RNP_REPLIES; i++) {
		assert_int_equal(rnp_policy_acks(p), RNP_ACKS_NOW);
		counts.requests++;
		assert_int_equal(rnp_policy_received(p, now, core.is_amid_message,
						     counts.requests),
				 RNP_LOOK_AGAIN);
		post_after(RNP_REPLY_WITHIN, false);
	}
	assert_int_equal(rnp_policy_acks(p), RNP_ACKS_HELD);
	counts.requests++;
	assert_int_equal(
		rnp_policy_received(p, now, core.is_amid_message, counts.requests), 0);
	post_after(RNP_REPLY_WITHIN + 1, false);
	assert_int_equal(p->replies.confidence, RNP_REPLIES / 2);
	assert_int_equal(rnp_policy_acks(p), RNP_ACKS_NOW);
}

static void confidence_has_an_end(void **state)
{
	(void)state;
	reply_often(RNP_REPLIES_MAX);
	assert_int_equal(p->replies.confidence, RNP_REPLIES_MAX);
	reply_often(3);
	assert_int_equal(p->replies.confidence, RNP_REPLIES_MAX);
}

static void a_post_is_a_reply_once(void **state)
{
	(void)state;
	reply_often(1);
	post_after(RN_USEC(10), false);
	post_after(RN_USEC(10), false);
	assert_int_equal(p->replies.confidence, 1);
}

static void request_without_a_reply_costs_confidence(void **state)
{
	(void)state;
	reply_often(8);
	for (unsigned left = 8; left > 0; left /= 2) {
		assert_int_equal(p->replies.confidence, left);
		counts.requests++;
		rnp_policy_received(p, now, core.is_amid_message, counts.requests);
		/* a second request comes before the reply to the first */
		if (left == 8) {
			counts.requests++;
			rnp_policy_received(p, now, core.is_amid_message,
					    counts.requests);
		}
	}
	assert_int_equal(p->replies.confidence, 0);
}

static void half_a_message_and_an_acknowledgement_have_no_reply(void **state)
{
	(void)state;
	rnp_policy_received(p, now, core.is_amid_message,
			    counts.requests); /* the number of requests has not changed */
	assert_int_equal(p->replies.found_at, 0);
	counts.requests++;
	core.is_amid_message = true;
	rnp_policy_received(p, now, core.is_amid_message, counts.requests);
	assert_int_equal(p->replies.found_at, 0);
	core.is_amid_message = false;
	rnp_policy_look_found(p, now, core.is_amid_message, counts.requests);
	assert_int_equal(p->replies.found_at, now);
}

static void only_memory_shows_what_completes_no_receive(void **state)
{
	(void)state;
	counts.requests++;
	posted(true);
	assert_true(p->replies.sees_memory);
	counts.requests++;
	counts.receives++;
	posted(true);
	assert_false(p->replies.sees_memory);
	posted(true); /* no request has come since the last post */
	assert_false(p->replies.sees_memory);
	counts.requests++;
	posted(true);
	assert_true(p->replies.sees_memory);
}

static void who_waits_for_an_acknowledgement_is_known(void **state)
{
	(void)state;
	p->acks.since = now;
	core.has_acks_due = true;
	posted(true);
	assert_ptr_equal(p->replies.asked, qp);
	assert_int_equal(p->replies.asked_at, now);
	assert_int_equal(p->acks.since, now);
	rnp_policy_forget(p, other);
	assert_ptr_equal(p->replies.asked, qp);
	rnp_policy_forget(p, qp);
	assert_null(p->replies.asked);
	core.has_acks_due = false;
	posted(false);
	assert_null(p->replies.asked);
	assert_int_equal(p->acks.since, 0);
}

static void who_looks_at_memory_has_the_sockets_from_its_first_poll_on(void **state)
{
	(void)state;
	looks_at_memory();
	assert_int_equal(poll_after(RN_USEC(1)),
			 RNP_TAKE_SOCKETS | RNP_ACCOUNT_CPU | RNP_SET_TIMER);
	assert_true(p->lease.is_early);
	assert_int_equal(p->lease.length, LONG);
	assert_int_equal(p->timer_at, now + LONG);
	/* The ACK that the program waited for has come, so that it gives the sockets
	 * back. ACKs that it owes are held until its next reply.
	 */
	core.is_asked_unacked = false;
	assert_int_equal(poll_after(RN_USEC(1)), RNP_GIVE_SOCKETS | RNP_HOLD_ACKS);
	assert_null(p->replies.asked);
}

static void pending_timer_serves_an_early_lease(void **state)
{
	static const struct {
		rn_ns ahead;
		bool serves;
	} of[] = { { 0, false },
		   { RN_MSEC(5) / 2 - 1, false },
		   { RN_MSEC(5) / 2, true },
		   { RN_MSEC(5), true },
		   { RN_MSEC(5) + 1, false } };

	(void)state;
	looks_at_memory();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(of); i++) {
		struct rnp_policy before = policy;

		p->timer_at = now + of[i].ahead;
		assert_int_equal(!(poll_after(0) & RNP_SET_TIMER), of[i].serves);
		assert_int_equal(p->lease.begun, p->timer_at - LONG);
		policy = before;
	}
}

static bool leases_early(void)
{
	struct rnp_policy before = policy;
	bool does = poll_after(0) & RNP_TAKE_SOCKETS && p->lease.is_early;

	policy = before;
	return does;
}

static void an_early_lease_has_its_reasons(void **state)
{
	struct rnp_policy good;

	(void)state;
	looks_at_memory();
	good = policy;
	assert_true(leases_early());
	p->replies.confidence = RNP_REPLIES - 1;
	assert_false(leases_early());
	policy = good;
	p->replies.sees_memory = false;
	assert_false(leases_early());
	policy = good;
	p->replies.asked = NULL;
	assert_false(leases_early());
	policy = good;
	p->batching.run = 2;
	assert_false(leases_early());
	policy = good;
	p->replies.early.left = 1;
	assert_false(leases_early());
}

static void who_stays_away_in_an_early_lease_has_none_for_a_while(void **state)
{
	(void)state;
	looks_at_memory();
	poll_after(RN_USEC(1));
	lapse(true, true);
	assert_int_equal(p->polling.streak_need, STREAK);
	for (unsigned i = 0; i < RNP_EARLY_BACKOFF; i++) {
		assert_false(leases_early());
		post_after(0, false);
		p->batching.posts = 1; /* it has polled between its posts */
	}
	assert_true(leases_early());
}

static void who_sleeps_in_an_early_lease_is_believed(void **state)
{
	(void)state;
	looks_at_memory();
	poll_after(RN_USEC(1));
	lapse(false, true);
	assert_true(leases_early());
	poll_after(RN_USEC(1));
	lapse(true, false); /* no packet waited */
	assert_true(leases_early());
}

static void who_has_something_to_reply_to_does_not_leave(void **state)
{
	(void)state;
	looks_at_memory();
	poll_after(RN_USEC(1));
	core.is_asked_unacked = false;
	core.has_acks_due = true;
	assert_int_equal(poll_after(RN_USEC(1)), 0);
	assert_int_equal(p->turn, RNP_LEASED);
	p->replies.asked = qp;
	/* half of a request, to which there is no reply yet */
	core.is_amid_message = true;
	assert_int_equal(poll_after(RN_USEC(1)), RNP_GIVE_SOCKETS | RNP_HOLD_ACKS);
}

static void who_leaves_with_the_sockets_on_is_served_by_timers(void **state)
{
	(void)state;
	looks_at_memory();
	core.is_asked_unacked = false;
	deadline = now + RN_MSEC(7);
	assert_int_equal(poll_after(RN_USEC(1)), RNP_SET_TIMER);
	assert_int_equal(p->timer_at, deadline);
	assert_true(p->replies.has_left);
}

static void who_polls_on_does_not_look_at_memory(void **state)
{
	(void)state;
	looks_at_memory();
	core.is_asked_unacked = false;
	poll_after(RN_USEC(1));
	assert_int_equal(p->replies.confidence, RNP_REPLIES);
	poll_after(RN_USEC(1));
	assert_int_equal(p->replies.confidence, 0);
	assert_int_equal(p->replies.early.left, RNP_EARLY_BACKOFF);
	assert_false(p->replies.has_left);
	/* If the program posts between the two polls, it does what it was expected to do.
	 */
	setup(NULL);
	looks_at_memory();
	core.is_asked_unacked = false;
	poll_after(RN_USEC(1));
	posted(true);
	poll_after(RN_USEC(1));
	assert_int_equal(p->replies.confidence, RNP_REPLIES);
}

/* -------------------------------------------------------------------------- posts */
/* The program has the sockets, and posts a stream. */
static void streams(void)
{
	take();
	for (unsigned i = 0; i < RNP_STREAM; i++)
		post_after(0, false);
	rnp_policy_poll(p);
	assert_int_equal(p->batching.run, RNP_STREAM);
}

static void first_post_leaves_and_takes_the_ack_along(void **state)
{
	(void)state;
	assert_int_equal(post_after(0, false), RNP_ACK_ALONG);
	take();
	assert_int_equal(post_after(0, false), RNP_ACK_ALONG);
}

static void later_posts_gather_in_a_program_that_polls(void **state)
{
	(void)state;
	/* the background thread has the sockets, so nothing gathers */
	assert_int_equal(post_after(0, true), 0);
	take();
	assert_int_equal(post_after(0, true), RNP_GATHER);
	rnp_policy_sent(p, now, true, true);
	assert_int_equal(post_after(RNP_GATHER_FOR - 1, true), RNP_GATHER);
	rnp_policy_sent(p, now, true, true);
	/* the first post has waited for RNP_GATHER_FOR */
	assert_int_equal(post_after(1, true), 0);
	rnp_policy_sent(p, now, true, false);
	assert_int_equal(p->batching.since, 0);
	assert_int_equal(post_after(0, true), RNP_GATHER);
}

static void posts_gather_for_the_next_poll_only(void **state)
{
	(void)state;
	take();
	assert_int_equal(post_after(RNP_GATHER_POLLED - 1, true), RNP_GATHER);
	assert_int_equal(post_after(1, true), 0);
}

static void posts_of_a_stream_are_held(void **state)
{
	(void)state;
	streams();
	for (unsigned i = 1; i < RN_SUPER_SEGMENTS; i++)
		assert_int_equal(post_after(0, false), RNP_HOLD);
	assert_int_equal(p->batching.held, RN_SUPER_SEGMENTS - 1);
	assert_int_equal(p->batching.held_bytes, 8 * (RN_SUPER_SEGMENTS - 1));
	/* This post makes the held ones a full super-packet, which is sent. */
	assert_int_equal(post_after(0, false), RNP_GATHER | RNP_ACK_ALONG);
	rnp_policy_sent(p, now, true, false);
	assert_int_equal(p->batching.held, 0);
	assert_int_equal(post_after(0, false), RNP_HOLD);
	assert_int_equal(p->batching.held_bytes, 8);
	assert_int_equal(p->batching.since, now);
}

static void packets_that_are_no_work_leave_what_is_held(void **state)
{
	(void)state;
	streams();
	post_after(0, false);
	rnp_policy_sent(p, now, false, true);
	assert_int_equal(p->batching.held, 1);
}

static void posts_are_held_as_long_as_a_super_packet_has_room(void **state)
{
	uint64_t room = RN_SUPER_BYTES - RNP_PACKET_OVERHEAD;
	struct rnp_post post = { .count = 1, .is_sending = true };

	(void)state;
	for (int less = 0; less < 2; less++) {
		streams();
		post.bytes = room - (uint64_t)less;
		assert_int_equal(!!(rnp_policy_post(p, now, &post) & RNP_HOLD), less);
		lapse(false, false);
	}
}

static void posts_of_a_broken_queue_pair_are_not_held(void **state)
{
	const struct rnp_post post = { .count = 1, .bytes = 8 };

	(void)state;
	streams();
	assert_int_equal(rnp_policy_post(p, now, &post), RNP_GATHER | RNP_ACK_ALONG);
}

static void posts_are_held_from_a_run_on(void **state)
{
	(void)state;
	take();
	p->batching.run = RNP_STREAM - 1;
	assert_int_equal(post_after(0, true), RNP_GATHER);
	p->batching.run = RNP_STREAM;
	assert_int_equal(post_after(0, true), RNP_HOLD);
}

static void posts_that_waited_for_a_lease_gather_no_more_for_a_while(void **state)
{
	(void)state;
	streams();
	assert_int_equal(post_after(0, true), RNP_HOLD);
	lapse(false, false); /* the program slept, so the held post has no consequences */
	take();
	assert_int_equal(post_after(0, true), RNP_GATHER);
	rnp_policy_sent(p, now, true, true);
	lapse(true, false);
	take();
	for (unsigned i = 0; i < RNP_GATHER_BACKOFF; i++)
		assert_int_equal(post_after(0, true), 0);
	assert_int_equal(post_after(0, true), RNP_GATHER);
	/* A lease that ends while no post waits has no consequences. */
	rnp_policy_sent(p, now, true, false);
	lapse(true, false);
	take();
	assert_int_equal(post_after(0, true), RNP_HOLD);
}

/* --------------------------------------------------------- the background thread */
static void thread_looks_again_for_a_bounded_time(void **state)
{
	rn_ns begun = now;

	(void)state;
	assert_true(rnp_policy_look(p, now, 0));
	assert_true(rnp_policy_looks_on(p, now + RNP_LOOK_FOR - 1));
	assert_false(rnp_policy_looks_on(p, now + RNP_LOOK_FOR));
	/* Packets that the thread finds prolong the look, up to RNP_LOOK_MAX. */
	while (rnp_policy_looks_on(p, now)) {
		now += RN_USEC(1);
		rnp_policy_look_found(p, now, core.is_amid_message, counts.requests);
	}
	assert_int_equal(now - begun, RNP_LOOK_MAX);
}

static void thread_does_not_look_again_after_a_dear_yield(void **state)
{
	(void)state;
	assert_false(rnp_policy_wants_cpu(p));
	rnp_policy_look(p, now, 0);
	rnp_policy_yield_was_dear(p, now, 0);
	assert_false(rnp_policy_looks_on(p, now));
	assert_true(rnp_policy_wants_cpu(p));
	/* The program has used no processor time, so another program had the processor.
	 * It cannot be asked to yield.
	 */
	for (unsigned i = 0; i < RNP_LOOK_BACKOFF; i++)
		assert_false(rnp_policy_look(p, now += RN_MSEC(1), 0));
	assert_true(rnp_policy_look(p, now, 0));
	assert_true(rnp_policy_looks_on(p, now));
}

static void thread_looks_again_when_the_program_sleeps(void **state)
{
	rn_ns cpu = RN_MSEC(5);

	(void)state;
	rnp_policy_yield_was_dear(p, now, cpu);
	/* A program that uses more than a quarter of the time spins, even on a machine
	 * where other programs run too.
	 */
	cpu += RN_MSEC(1) + 1;
	assert_false(rnp_policy_look(p, now += RN_MSEC(4), cpu));
	cpu += RN_MSEC(1) + 1;
	assert_false(rnp_policy_look(p, now += RN_MSEC(4), cpu));
	cpu += RN_MSEC(1);
	assert_true(rnp_policy_look(p, now += RN_MSEC(4), cpu));
	assert_false(rnp_policy_wants_cpu(p));
}

/* ------------------------------------------------------------------------- linger */
static void linger_keeps_the_sockets(void **state)
{
	(void)state;
	assert_true(rnp_policy_may_linger(p, now));
	assert_int_equal(rnp_policy_linger(p, now),
			 RNP_TAKE_SOCKETS | RNP_ACCOUNT_CPU | RNP_SET_TIMER);
	assert_int_equal(p->timer_at, now + SHORT);
	assert_int_equal(p->lease.length, SHORT);
	/* the program has the sockets already */
	assert_int_equal(rnp_policy_linger(p, now), 0);
	assert_int_equal(rnp_policy_sleeps(p), RNP_GIVE_SOCKETS);
	rnp_policy_given(p, now, true);
	assert_int_equal(rnp_policy_sleeps(p), 0);
	/* The timer that is already set ends the lease in time. */
	assert_int_equal(rnp_policy_linger(p, now + SHORT / 2),
			 RNP_TAKE_SOCKETS | RNP_ACCOUNT_CPU);
}

static void a_linger_is_no_steady_polling(void **state)
{
	(void)state;
	poll_after(0);
	now += 10 * rnp_lease_times.steady;
	rnp_policy_linger(p, now);
	poll_for(2 * SHORT);
	assert_int_equal(p->lease.length, SHORT);
}

static void linger_in_vain_is_left_out_for_a_while(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * RNP_LINGER_MISSES; i++) {
		assert_true(rnp_policy_may_linger(p, now));
		rnp_policy_lingered(p, i % RNP_LINGER_MISSES == 0);
	}
	assert_true(rnp_policy_may_linger(p, now));
	rnp_policy_lingered(p, false);
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned i = 0; i < RNP_LINGER_BACKOFF; i++)
			assert_false(rnp_policy_may_linger(p, now));
		assert_true(rnp_policy_may_linger(p, now));
		rnp_policy_lingered(p, false);
	}
}

/* ------------------------------------------------------------------------ pauses */
static enum rnp_pause pause_after(rn_ns later, bool is_lively)
{
	now += later;
	return rnp_policy_pause(p, now, is_lively);
}

static void a_dear_yield_shows_a_crowd(void **state)
{
	(void)state;
	assert_int_equal(pause_after(0, true), RNP_PAUSE_NONE);
	assert_int_equal(pause_after(0, false), RNP_PAUSE_YIELD);
	rnp_policy_paused(p, now, RNP_PAUSE_DEAR);
	assert_int_equal(pause_after(RN_MSEC(1), false), RNP_PAUSE_YIELD);
	rnp_policy_paused(p, now, RNP_PAUSE_DEAR + 1);
	assert_int_equal(pause_after(0, false), RNP_PAUSE_NAP);
	assert_int_equal(pause_after((RNP_PAUSE_DEAR + 1) * RNP_CROWD_FACTOR - 1, false),
			 RNP_PAUSE_NAP);
	assert_int_equal(pause_after(1, false), RNP_PAUSE_YIELD);
}

static void a_less_dear_pause_does_not_end_a_crowd(void **state)
{
	(void)state;
	rnp_policy_paused(p, now, RN_MSEC(30));
	rnp_policy_paused(p, now, RN_MSEC(2));
	assert_int_equal(pause_after(RN_MSEC(30) * RNP_CROWD_FACTOR - 1, false),
			 RNP_PAUSE_NAP);
	rnp_policy_paused(p, now, RN_MSEC(2));
	assert_int_equal(pause_after(RN_MSEC(2) * RNP_CROWD_FACTOR - 1, false),
			 RNP_PAUSE_NAP);
	assert_int_equal(pause_after(1, false), RNP_PAUSE_YIELD);
}

static void who_may_have_an_answer_spins_in_a_crowd(void **state)
{
	(void)state;
	rnp_policy_paused(p, now, RN_MSEC(30));
	assert_int_equal(pause_after(0, false), RNP_PAUSE_NAP);
	assert_int_equal(pause_after(RN_USEC(5), true), RNP_PAUSE_SPIN);
	assert_int_equal(pause_after(RNP_SPIN_FOR - 1, false), RNP_PAUSE_SPIN);
	assert_int_equal(pause_after(1, false), RNP_PAUSE_NAP);
	post_after(RN_USEC(5), false);
	assert_int_equal(pause_after(RNP_SPIN_FOR - 1, false), RNP_PAUSE_SPIN);
	assert_int_equal(pause_after(1, false), RNP_PAUSE_NAP);
}

static void who_lingers_does_not_in_a_crowd(void **state)
{
	(void)state;
	assert_true(rnp_policy_may_linger(p, now));
	rnp_policy_paused(p, now, RN_MSEC(30));
	assert_false(rnp_policy_may_linger(p, p->crowd.until - 1));
	assert_true(rnp_policy_may_linger(p, p->crowd.until));
}

static void the_background_thread_does_not_look_again_in_a_crowd(void **state)
{
	(void)state;
	assert_true(rnp_policy_look(p, now, 0));
	rnp_policy_paused(p, now, RN_MSEC(30));
	assert_false(rnp_policy_look(p, now, 0));
	now = p->crowd.until;
	assert_true(rnp_policy_look(p, now, 0));
}

/* Performs @polls full polls, and after each as many short ones as it allows, at
 * distances of @each. Returns the number that the last full poll allowed.
 */
static uint32_t poll_shortly_for(unsigned polls, rn_ns each)
{
	uint32_t allowed = 0;
	bool is_all = true;

	while (polls-- > 0) {
		poll_after(each * (1 + allowed));
		allowed = rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, is_all);
		is_all = allowed == p->shorts.most;
	}
	return allowed;
}

static void the_faster_the_polls_the_more_are_short(void **state)
{
	uint32_t allowed = RNP_SHORT_POLLS;

	(void)state;
	take();
	assert_int_equal(poll_shortly_for(20, 10), RNP_SHORT_POLLS);
	for (rn_ns each = 20; each < 2 * RNP_SHORT_FOR; each += each / 3) {
		uint32_t n = poll_shortly_for(20, each);

		assert_true(n <= allowed && each * (1 + n) <= RNP_SHORT_FOR + each);
		allowed = n;
	}
	assert_int_equal(allowed, 0);
	assert_int_equal(poll_shortly_for(20, RNP_SHORT_FOR / 8), 4);
}

static void polls_that_become_slow_are_short_no_more(void **state)
{
	(void)state;
	take();
	poll_shortly_for(20, 10);
	assert_int_equal(poll_shortly_for(1, RNP_SHORT_FOR + 1), RNP_SHORT_POLLS / 2);
	assert_int_equal(poll_shortly_for(8, RNP_SHORT_FOR + 1), 0);
}

static void short_polls_that_ended_early_say_nothing(void **state)
{
	(void)state;
	take();
	poll_after(10);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, false), 0);
	poll_after(10);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, true), 1);
	poll_after(RNP_SHORT_FOR / 2);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, true), 2);
	poll_after(RNP_SHORT_FOR / 2 + 1);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, true), 2);
}

static void polls_are_short_in_a_quiet_lease_only(void **state)
{
	(void)state;
	poll_after(10);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_YIELD, true), 0);
	take();
	assert_true(poll_shortly_for(20, 10) > 0);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_NONE, false), 0);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_SPIN, false), 0);
	assert_int_equal(rnp_policy_short_polls(p, now, RNP_PAUSE_NAP, false), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_streak_of_polls_takes_the_sockets),
		TEST(posts_count_as_polls_do),
		TEST(polls_count_less_while_a_cq_is_armed),
		TEST(a_forgotten_cq_does_not_make_the_most_more),
		TEST(a_stream_makes_polls_count_again),
		TEST(what_a_poll_defers_is_guarded_by_a_lease_or_a_timer),
		TEST(lease_is_renewed_after_three_quarters),
		TEST(steady_polling_has_the_long_lease),
		TEST(who_replies_is_steady_later),
		TEST(a_gap_ends_the_long_lease),
		TEST(timer_that_fires_between_two_polls_is_set_again),
		TEST(busy_program_that_let_packets_wait_is_believed_later),
		TEST(program_is_busy_if_it_used_half_of_the_time),
		TEST(sockets_that_cannot_be_given_stay_under_a_timer),
		TEST(timer_carries_the_deadline_while_the_sockets_are_on),
		TEST(acks_are_held_for_a_while),
		TEST(acks_that_have_waited_leave),
		TEST(a_lease_guards_acks_as_well),
		TEST(acks_leave_when_the_wire_is_dry),
		TEST(acks_leave_though_the_wire_never_runs_dry),
		TEST(acks_wait_for_the_end_of_a_reply),
		TEST(replies_in_time_are_waited_for),
		TEST(confidence_has_an_end),
		TEST(a_post_is_a_reply_once),
		TEST(request_without_a_reply_costs_confidence),
		TEST(half_a_message_and_an_acknowledgement_have_no_reply),
		TEST(only_memory_shows_what_completes_no_receive),
		TEST(who_waits_for_an_acknowledgement_is_known),
		TEST(who_looks_at_memory_has_the_sockets_from_its_first_poll_on),
		TEST(pending_timer_serves_an_early_lease),
		TEST(an_early_lease_has_its_reasons),
		TEST(who_stays_away_in_an_early_lease_has_none_for_a_while),
		TEST(who_sleeps_in_an_early_lease_is_believed),
		TEST(who_has_something_to_reply_to_does_not_leave),
		TEST(who_leaves_with_the_sockets_on_is_served_by_timers),
		TEST(who_polls_on_does_not_look_at_memory),
		TEST(first_post_leaves_and_takes_the_ack_along),
		TEST(later_posts_gather_in_a_program_that_polls),
		TEST(posts_gather_for_the_next_poll_only),
		TEST(posts_of_a_stream_are_held),
		TEST(packets_that_are_no_work_leave_what_is_held),
		TEST(posts_are_held_as_long_as_a_super_packet_has_room),
		TEST(posts_of_a_broken_queue_pair_are_not_held),
		TEST(posts_are_held_from_a_run_on),
		TEST(posts_that_waited_for_a_lease_gather_no_more_for_a_while),
		TEST(thread_looks_again_for_a_bounded_time),
		TEST(thread_does_not_look_again_after_a_dear_yield),
		TEST(thread_looks_again_when_the_program_sleeps),
		TEST(linger_keeps_the_sockets),
		TEST(a_linger_is_no_steady_polling),
		TEST(linger_in_vain_is_left_out_for_a_while),
		TEST(a_dear_yield_shows_a_crowd),
		TEST(a_less_dear_pause_does_not_end_a_crowd),
		TEST(who_may_have_an_answer_spins_in_a_crowd),
		TEST(who_lingers_does_not_in_a_crowd),
		TEST(the_background_thread_does_not_look_again_in_a_crowd),
		TEST(the_faster_the_polls_the_more_are_short),
		TEST(polls_that_become_slow_are_short_no_more),
		TEST(short_polls_that_ended_early_say_nothing),
		TEST(polls_are_short_in_a_quiet_lease_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
