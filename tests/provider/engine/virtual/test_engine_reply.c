/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_reply.c - an acknowledgement waits for the program's reply and is sent
 * together with it; which thread has the sockets meanwhile. In virtual time.
 */
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "tests/provider/kit/virtual_kit.h"

enum {
	/* code for 4 s, so that no packet is acknowledged because it was repeated */
	TIMEOUT = 20,
	TRIPS = 200,
	MUCH = 16, /* number of answers after which the device waits for the next one */
	AT = 64,   /* offset in the buffer at which a byte arrives */
};

/* maximum time for which an acknowledgement waits for an answer */
#define HOLD_AT_MOST RN_USEC(100)

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	virtual_pair(ends, TIMEOUT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	virtual_close_pair(ends);
	return 0;
}

static void write_byte(struct kit_end *from, const struct kit_end *to, uint8_t value)
{
	from->buf[0] = value;
	kit_post_send(from, RN_WR_RDMA_WRITE, 1, (uintptr_t)to->buf + AT);
}

static bool owes(const struct kit_end *k)
{
	return rn_dev_acks_due(rnp_engine_dev(k->e));
}

static struct rnp_policy *policy(struct kit_end *k)
{
	return &k->e->policy;
}

/* ---------------------------------------------------------------- acknowledgements */
static void answer_takes_the_acknowledgement_along(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		unsigned supers, packets;

		policy(b)->replies.confidence = MUCH;
		write_byte(a, b, (uint8_t)i);
		virtual_await_byte(b, AT, (uint8_t)i);
		assert_true(owes(b));
		supers = virtual_end(b)->supers;
		packets = virtual_end(b)->packets;
		write_byte(b, a, (uint8_t)i);
		assert_false(owes(b));
		assert_int_equal(virtual_end(b)->supers, supers + 1);
		assert_int_equal(virtual_end(b)->packets, packets + 2);
		virtual_await(a, RN_WC_SUCCESS);
		virtual_await_byte(a, AT, (uint8_t)i);
		virtual_await(b, RN_WC_SUCCESS);
	}
}

static void await_completion(struct kit_end *k, enum rn_wc_opcode opcode)
{
	struct rn_cqe cqe = virtual_await(k, RN_WC_SUCCESS);

	assert_int_equal(cqe.ctl >> 8 & 0xff, opcode);
}

/* Hardware acknowledges a message before a program can answer it; so must the device
 * here.
 */
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

/* After four answers in time, the device waits for the next one. */
static void program_that_answers_is_waited_for(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	assert_int_equal(policy(b)->replies.confidence, 0);
	for (unsigned i = 1; i <= 4; i++) {
		assert_int_equal(rnp_policy_acks(policy(b)), RNP_ACKS_NOW);
		write_byte(a, b, (uint8_t)i);
		virtual_await_byte(b, AT, (uint8_t)i);
		write_byte(b, a, (uint8_t)i);
		virtual_await(a, RN_WC_SUCCESS);
		/* The background thread processes the completions of the program. */
		virtual_run(RN_USEC(300));
		assert_int_equal(policy(b)->replies.confidence, i);
	}
	assert_int_equal(rnp_policy_acks(policy(b)), RNP_ACKS_HELD);
}

static void acknowledgement_leaves_though_no_answer_comes(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	policy(b)->replies.confidence = MUCH;
	for (unsigned i = 1; i <= TRIPS; i++) {
		rn_ns came;

		write_byte(a, b, (uint8_t)i);
		virtual_await_byte(b, AT, (uint8_t)i);
		came = virtual_now();
		virtual_await(a, RN_WC_SUCCESS);
		assert_true(virtual_now() - came < HOLD_AT_MOST);
	}
	/* The device does not wait for the program any more. */
	assert_int_equal(policy(b)->replies.confidence, 0);
}

/* A post to another queue pair counts as an answer, but its packet does not carry this
 * queue pair's acknowledgement.
 */
static void acknowledgement_of_another_queue_pair_leaves_soon(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		rn_ns came;

		policy(b)->replies.confidence = MUCH;
		write_byte(a, b, (uint8_t)i);
		virtual_await_byte(b, AT, (uint8_t)i);
		came = virtual_now();
		policy(b)->replies.found_at = 0;
		virtual_await(a, RN_WC_SUCCESS);
		assert_true(virtual_now() - came < HOLD_AT_MOST);
	}
}

/* The last poll of a program finds a message. The background thread, which continues,
 * finds no packet any more.
 */
static void last_poll_does_not_leave_an_acknowledgement_behind(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		rn_ns came;

		policy(b)->replies.confidence = i % 2 ? MUCH : 0;
		write_byte(a, b, (uint8_t)i);
		virtual_compute(virtual_machine.wire);
		assert_int_equal(policy(b)->turn, RNP_ARMED);
		came = virtual_now();
		rnp_engine_poll(b->e);
		assert_int_equal(b->buf[AT], (uint8_t)i);
		virtual_await(a, RN_WC_SUCCESS);
		assert_true(virtual_now() - came < HOLD_AT_MOST);
		virtual_run(RN_MSEC(10)); /* until a lease has ended */
	}
}

/* The program has read memory before, so that its polls count little until it posts a
 * stream.
 */
static void stream_is_believed_at_once(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_policy *p = policy(a);

	(void)state;
	p->polling.streak_need = p->times.streak_max;
	for (unsigned posts = 1; posts <= 8; posts *= 8) {
		for (unsigned i = 0; i < posts; i++)
			kit_post_send(a, RN_WR_RDMA_WRITE, 1, (uintptr_t)ends[1].buf);
		rnp_engine_poll(a->e);
		assert_int_equal(p->polling.streak_need,
				 posts < 8 ? p->times.streak_max : p->times.streak);
	}
	for (unsigned i = 0; i < 9; i++)
		virtual_await(a, RN_WC_SUCCESS);
}

/* A CQ is armed, but no thread waits for its event; the program polls another CQ. */
static void a_forgotten_cq_does_not_keep_the_sockets(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_policy *p = policy(a);
	uint32_t polls = 0;

	(void)state;
	rnp_engine_cq_armed(a->e);
	p->polling.streak_need = p->times.streak_max;
	while (p->turn == RNP_ARMED && polls <= p->times.streak_max) {
		rnp_engine_poll(a->e);
		polls++;
	}
	assert_int_equal(polls, p->times.streak_max);
	rnp_engine_cq_unarmed(a->e);
}

/* ------------------------------------------------- who has the sockets meanwhile */
/* End 1 posts, as a program that answers, and polls once, so that it has the sockets. End
 * 0 has not received the message yet.
 */
static void post_and_poll(uint8_t value)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	policy(b)->replies.confidence = MUCH;
	policy(b)->replies.early.left = 0;
	write_byte(b, a, value);
	policy(b)->replies.sees_memory = true; /* as if the program had answered */
	rnp_engine_poll(b->e);
	assert_int_equal(policy(b)->turn, RNP_LEASED);
	assert_true(policy(b)->lease.is_early);
	assert_false(virtual_end(b)->listens);
	assert_int_equal(virtual_waiting(a), 1);
}

/* End 1 polls until its post is acknowledged, and then stops. */
static void poll_until_acknowledged(void)
{
	struct kit_end *b = &ends[1];
	rn_ns start = virtual_now();

	do {
		virtual_run(VIRTUAL_POLL);
		rnp_engine_poll(b->e);
		assert_true(virtual_now() - start < VIRTUAL_WAIT);
	} while (rn_qp_unacked(b->qp));
}

static void sockets_go_back_with_an_acknowledgement_alone(void **state)
{
	struct kit_end *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		post_and_poll((uint8_t)i);
		poll_until_acknowledged();
		assert_false(owes(b));
		assert_int_equal(policy(b)->turn, RNP_ARMED);
		assert_true(virtual_end(b)->listens);
		virtual_await(b, RN_WC_SUCCESS);
		/* the background thread has the sockets again */
		virtual_run(RN_MSEC(10));
		assert_int_equal(policy(b)->turn, RNP_ARMED);
	}
}

static void sockets_stay_with_who_has_an_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= TRIPS; i++) {
		post_and_poll((uint8_t)i);
		policy(a)->replies.confidence = MUCH;
		virtual_await_byte(a, AT, (uint8_t)i);
		write_byte(a, b, (uint8_t)i);
		poll_until_acknowledged();
		assert_true(owes(b));
		assert_int_equal(policy(b)->turn, RNP_LEASED);
		virtual_await(a, RN_WC_SUCCESS);
		virtual_await(b, RN_WC_SUCCESS);
		assert_int_equal(b->buf[AT], (uint8_t)i);
		virtual_run(RN_MSEC(10));
		assert_int_equal(policy(b)->turn, RNP_ARMED);
	}
}

/* The program has a lease, in which it collects its posts. It would lose the lease with
 * each acknowledgement.
 */
static void who_posts_many_between_polls_does_not_leave(void **state)
{
	struct kit_end *b = &ends[1];
	struct rnp_policy *p = policy(b);

	(void)state;
	post_and_poll(1);
	assert_true(virtual_would_lease_early(b));
	p->batching.run = 2;
	assert_false(virtual_would_lease_early(b));
	virtual_await(b, RN_WC_SUCCESS);
	p->batching.run = 2;
	p->replies.asked = b->qp; /* all of whose requests are acknowledged */
	assert_false(virtual_would_leave(b));
	p->batching.run = 1;
	assert_true(virtual_would_leave(b));
}

/* The program stops polling before the acknowledgement has come, and computes. The
 * acknowledgement is found at the end of the lease. For some time, the program gets no
 * such lease again.
 */
static void who_stops_polling_is_believed_no_more(void **state)
{
	struct kit_end *b = &ends[1];
	struct rnp_policy *p = policy(b);

	(void)state;
	post_and_poll(1);
	virtual_run(RN_MSEC(10));
	assert_false(rn_qp_unacked(b->qp));
	assert_true(p->replies.early.left > 0);
	p->replies.asked = b->qp;
	assert_false(virtual_would_lease_early(b));
	p->replies.early.left = 0;
	assert_true(virtual_would_lease_early(b));
	p->replies.asked = NULL;
	virtual_await(b, RN_WC_SUCCESS);
}

/* The program slept, or got no processor. This does not show what it will do next. */
static void who_sleeps_is_believed(void **state)
{
	struct kit_end *b = &ends[1];

	(void)state;
	post_and_poll(1);
	virtual_machine.spins = false;
	virtual_run(RN_MSEC(10));
	assert_false(rn_qp_unacked(b->qp));
	assert_int_equal(policy(b)->replies.early.left, 0);
	virtual_await(b, RN_WC_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answer_takes_the_acknowledgement_along),
		TEST(short_answer_comes_behind_the_completion),
		TEST(long_answer_comes_behind_the_completion),
		TEST(program_that_answers_is_waited_for),
		TEST(acknowledgement_leaves_though_no_answer_comes),
		TEST(acknowledgement_of_another_queue_pair_leaves_soon),
		TEST(last_poll_does_not_leave_an_acknowledgement_behind),
		TEST(stream_is_believed_at_once),
		TEST(a_forgotten_cq_does_not_keep_the_sockets),
		TEST(sockets_go_back_with_an_acknowledgement_alone),
		TEST(sockets_stay_with_who_has_an_answer),
		TEST(who_posts_many_between_polls_does_not_leave),
		TEST(who_stops_polling_is_believed_no_more),
		TEST(who_sleeps_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
