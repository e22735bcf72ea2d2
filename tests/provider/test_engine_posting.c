/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_posting.c - the acknowledgement that goes along with the program's answer,
 * and waits for it.
 */
#include "engine_kit.h"

#include <sched.h>

#include "rocin/net.h"

enum {
	TIMEOUT = 20, /* 4 s, so that nothing is acknowledged because it came again */
	TRIPS = 200,
	MUCH = 16, /* answers: the next is waited for */
};

static struct kit_end ends[2];

/* What end 1 transmits. */
static struct rn_net net;
static const struct rn_net *net_below;
static unsigned supers, packets;

static int count_transmit(void *ctx, const struct rn_super *super)
{
	supers++;
	packets += super->count;
	return net_below->ops->transmit(ctx, super);
}

static int setup(void **state)
{
	static struct rn_net_ops ops;

	(void)state;
	kit_environment(0);
	kit_pair(ends, TIMEOUT);
	rnp_engine_lock(ends[1].e);
	net_below = ends[1].e->wire.net;
	ops = *net_below->ops;
	ops.transmit = count_transmit;
	net = *net_below;
	net.ops = &ops;
	ends[1].e->wire.net = &net;
	supers = packets = 0;
	rnp_engine_unlock(ends[1].e);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_close_pair(ends);
	return 0;
}

/* As a program does that looks at memory. */
static void await_byte(struct kit_end *k, uint8_t value)
{
	rn_ns start = rnp_engine_now();

	while (__atomic_load_n(&k->buf[64], __ATOMIC_ACQUIRE) != value) {
		sched_yield();
		kit_not_forever(start);
	}
}

static void write_byte(struct kit_end *from, const struct kit_end *to, uint8_t value)
{
	from->buf[0] = value;
	kit_post_send(from, RN_WR_RDMA_WRITE, 1, (uintptr_t)to->buf + 64);
}

static void set_answered(struct kit_end *k, uint32_t answered)
{
	rnp_engine_lock(k->e);
	k->e->progress.answered = answered;
	rnp_engine_unlock(k->e);
}

static uint32_t answered(struct kit_end *k)
{
	uint32_t n;

	rnp_engine_lock(k->e);
	n = k->e->progress.answered;
	rnp_engine_unlock(k->e);
	return n;
}

static bool owes(struct kit_end *k)
{
	bool due;

	rnp_engine_lock(k->e);
	due = rn_dev_acks_due(rnp_engine_dev(k->e));
	rnp_engine_unlock(k->e);
	return due;
}

/* Whether the acknowledgement was still owed when the answer was posted depends on who
 * got the processor; when it was, it does not leave on its own.
 */
static void answer_takes_the_acknowledgement_along(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned along = 0;

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		unsigned before, sent;
		bool owed;

		set_answered(b, MUCH);
		write_byte(a, b, (uint8_t)i);
		await_byte(b, (uint8_t)i);
		rnp_engine_lock(b->e);
		owed = rn_dev_acks_due(rnp_engine_dev(b->e));
		before = supers;
		sent = packets;
		rnp_engine_unlock(b->e);
		write_byte(b, a, (uint8_t)i);
		if (owed && !owes(b) && packets == sent + 2 && supers == before + 1)
			along++;
		kit_await(a, RN_WC_SUCCESS);
		await_byte(a, (uint8_t)i);
		kit_await(b, RN_WC_SUCCESS);
	}
	print_message("%u of %u along\n", along, (unsigned)TRIPS);
	assert_true(along > 0);
}

static void await_completion(struct kit_end *k, enum rn_wc_opcode opcode)
{
	struct rn_cqe cqe = kit_await(k, RN_WC_SUCCESS);

	assert_int_equal(cqe.ctl >> 8 & 0xff, opcode);
}

/* As on hardware, which acknowledges before a program can answer. */
static void answer_comes_behind_the_completion(uint32_t len)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	for (unsigned i = 1; i <= TRIPS; i++) {
		kit_post_recv(a);
		kit_post_recv(b);
		kit_post_send(a, RN_WR_SEND, 64, 0);
		await_completion(b, RN_WC_RECV);
		kit_post_send(b, RN_WR_SEND, len, 0);
		await_completion(a, RN_WC_SEND);
		await_completion(a, RN_WC_RECV);
		await_completion(b, RN_WC_SEND);
	}
}

static void short_answer_comes_behind_the_completion(void **state)
{
	(void)state;
	answer_comes_behind_the_completion(64);
}

static void long_answer_comes_behind_the_completion(void **state)
{
	(void)state;
	answer_comes_behind_the_completion(10000);
}

static void program_that_answers_is_waited_for(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start = rnp_engine_now();

	(void)state;
	assert_int_equal(answered(b), 0);
	for (unsigned i = 1; answered(b) < 4; i++) {
		write_byte(a, b, (uint8_t)i);
		await_byte(b, (uint8_t)i);
		write_byte(b, a, (uint8_t)i);
		kit_await(a, RN_WC_SUCCESS);
		kit_await(b, RN_WC_SUCCESS);
		kit_not_forever(start);
	}
}

static void acknowledgement_leaves_though_no_answer_comes(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	set_answered(b, MUCH);
	for (unsigned i = 1; i <= TRIPS; i++) {
		write_byte(a, b, (uint8_t)i);
		kit_await(a, RN_WC_SUCCESS);
	}
	/* The program is not waited for any more. */
	assert_int_equal(answered(b), 0);
}

/* A post to another queue pair is an answer, and takes nothing of this one along. */
static void acknowledgement_of_another_queue_pair_leaves_soon(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		set_answered(b, MUCH);
		write_byte(a, b, (uint8_t)i);
		await_byte(b, (uint8_t)i);
		rnp_engine_lock(b->e);
		b->e->progress.found_at = 0;
		rnp_engine_unlock(b->e);
		kit_await(a, RN_WC_SUCCESS);
	}
}

/* The last poll of a program finds a message; the background thread, whose turn it is,
 * finds nothing any more.
 */
static void last_poll_does_not_leave_an_acknowledgement_behind(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start = rnp_engine_now();

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		rnp_engine_lock(b->e);
		b->e->progress.answered = i % 2 ? MUCH : 0;
		write_byte(a, b, (uint8_t)i);
		if (b->e->progress.turn == RNP_ARMED)
			rnp_progress_app(b->e);
		rnp_engine_unlock(b->e);
		kit_await(a, RN_WC_SUCCESS);
		assert_int_equal(b->buf[64], (uint8_t)i);
	}
	assert_true(rnp_engine_now() - start <
		    RN_MSEC(4000)); /* nothing was sent again */
}

/* It has looked at memory, so that its polls count little: until it posts a stream. */
static void stream_is_believed_at_once(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_progress *p = &a->e->progress;

	(void)state;
	rnp_engine_lock(a->e);
	p->streak_need = p->times.streak_max;
	for (unsigned posts = 1; posts <= 8; posts *= 8) {
		for (unsigned i = 0; i < posts; i++)
			kit_post_send_locked(a, RN_WR_RDMA_WRITE, 1,
					     (uintptr_t)ends[1].buf);
		rnp_progress_app(a->e);
		assert_int_equal(p->streak_need,
				 posts < 8 ? p->times.streak_max : p->times.streak);
	}
	rnp_engine_unlock(a->e);
	for (unsigned i = 0; i < 9; i++)
		kit_await(a, RN_WC_SUCCESS);
}

/* Nobody waits for an event of the CQ that is armed; another one is polled. */
static void a_forgotten_cq_does_not_keep_the_sockets(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_progress *p = &a->e->progress;
	uint32_t polls = 0;

	(void)state;
	rnp_engine_lock(a->e);
	rnp_engine_cq_armed(a->e);
	p->streak_need = p->times.streak_max;
	while (p->turn == RNP_ARMED && polls <= p->times.streak_max) {
		rnp_progress_app(a->e);
		polls++;
	}
	assert_int_equal(polls, p->times.streak_max);
	rnp_engine_cq_unarmed(a->e);
	rnp_engine_unlock(a->e);
}

/* ------------------------------------------------- who has the sockets meanwhile */
/* End 1 posts as one that answers, and polls until the sockets are its own; end 0 has not
 * received that, and its lock is held.
 */
static void post_and_poll(uint8_t value)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_progress *p = &b->e->progress;
	rn_ns start = rnp_engine_now();
	bool has_it = false;

	rnp_engine_lock(a->e);
	set_answered(b, MUCH);
	write_byte(b, a, value);
	while (!has_it) {
		rnp_engine_lock(b->e);
		p->sees_memory = true; /* as if it had answered */
		rnp_progress_app(b->e);
		has_it = p->turn == RNP_LEASED && p->is_early;
		rnp_engine_unlock(b->e);
		kit_not_forever(start);
	}
}

/* End 1 polls until its post is acknowledged, and no longer. Return: has it got an answer
 * as well, which it owes an acknowledgement?
 */
static bool poll_until_acknowledged(enum rnp_turn *turn)
{
	struct kit_end *b = &ends[1];
	rn_ns start = rnp_engine_now();
	bool done = false, owed = false;

	while (!done) {
		rnp_engine_lock(b->e);
		rnp_progress_app(b->e);
		done = !rn_qp_unacked(b->qp);
		owed = rn_dev_acks_due(rnp_engine_dev(b->e));
		*turn = b->e->progress.turn;
		rnp_engine_unlock(b->e);
		kit_not_forever(start);
	}
	return owed;
}

static void sockets_go_back_with_an_acknowledgement_alone(void **state)
{
	enum rnp_turn turn;

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		post_and_poll((uint8_t)i);
		rnp_engine_unlock(ends[0].e);
		assert_false(poll_until_acknowledged(&turn));
		assert_int_equal(turn, RNP_ARMED);
		kit_await(&ends[1], RN_WC_SUCCESS);
	}
}

static void sockets_stay_with_who_has_an_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned stay = 0;
	enum rnp_turn turn;

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		post_and_poll((uint8_t)i);
		a->e->progress.answered = MUCH;
		rnp_engine_unlock(a->e);
		await_byte(a, (uint8_t)i);
		write_byte(a, b, (uint8_t)i);
		if (poll_until_acknowledged(&turn))
			stay += turn == RNP_LEASED;
		else
			assert_int_equal(turn, RNP_ARMED);
		kit_await(a, RN_WC_SUCCESS);
		kit_await(b, RN_WC_SUCCESS);
		assert_int_equal(b->buf[64], (uint8_t)i);
	}
	print_message("%u of %u stay\n", stay, (unsigned)TRIPS);
	assert_true(stay > 0);
}

/* It has gathered them by a lease, which it would lose with each acknowledgement. */
static void who_posts_many_between_polls_does_not_leave(void **state)
{
	struct rnp_engine *e = ends[1].e;

	(void)state;
	post_and_poll(1);
	rnp_engine_lock(e);
	assert_true(rnp_answers_may_lease(&e->progress));
	e->progress.run = 2;
	assert_false(rnp_answers_may_lease(&e->progress));
	rnp_engine_unlock(e);
	rnp_engine_unlock(ends[0].e);
	kit_await(&ends[1], RN_WC_SUCCESS);
	rnp_engine_lock(e);
	e->progress.run = 2;
	e->progress.asked = ends[1].qp; /* of which all is acknowledged */
	assert_false(rnp_answers_leaves(e));
	e->progress.run = 1;
	e->progress.asked = ends[1].qp;
	assert_true(rnp_answers_leaves(e));
	rnp_engine_unlock(e);
}

/* Polling ends before the acknowledgement has come: it is found when the lease is over,
 * and there is no such lease for a while.
 */
static void who_stops_polling_is_believed_no_more(void **state)
{
	struct rnp_engine *e = ends[1].e;
	rn_ns start = rnp_engine_now();
	bool is_believed = true;

	(void)state;
	/* Unless the lease is over before the peer has got to it. */
	for (uint8_t i = 1; is_believed; i++) {
		bool waits = true;

		post_and_poll(i);
		rnp_engine_lock(e);
		e->progress.poller_cpu = -RN_MSEC(100000); /* it has worked since */
		rnp_engine_unlock(e);
		rnp_engine_unlock(ends[0].e);
		while (waits) {
			rnp_engine_lock(e);
			waits = rn_qp_unacked(ends[1].qp);
			is_believed = e->progress.early_ban == 0;
			rnp_engine_unlock(e);
			sched_yield();
			kit_not_forever(start);
		}
		kit_await(&ends[1], RN_WC_SUCCESS);
	}
	rnp_engine_lock(e);
	e->progress.asked = ends[1].qp;
	assert_false(rnp_answers_may_lease(&e->progress));
	e->progress.early_ban = 0;
	assert_true(rnp_answers_may_lease(&e->progress));
	e->progress.asked = NULL;
	rnp_engine_unlock(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answer_takes_the_acknowledgement_along,
						setup, teardown),
		cmocka_unit_test_setup_teardown(short_answer_comes_behind_the_completion,
						setup, teardown),
		cmocka_unit_test_setup_teardown(long_answer_comes_behind_the_completion,
						setup, teardown),
		cmocka_unit_test_setup_teardown(program_that_answers_is_waited_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			acknowledgement_leaves_though_no_answer_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(
			acknowledgement_of_another_queue_pair_leaves_soon, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			last_poll_does_not_leave_an_acknowledgement_behind, setup,
			teardown),
		cmocka_unit_test_setup_teardown(stream_is_believed_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_forgotten_cq_does_not_keep_the_sockets,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			sockets_go_back_with_an_acknowledgement_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(sockets_stay_with_who_has_an_answer,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			who_posts_many_between_polls_does_not_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(who_stops_polling_is_believed_no_more,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
