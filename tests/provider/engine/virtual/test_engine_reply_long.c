/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_reply_long.c - long messages between programs that read memory: the
 * acknowledgement waits for the end of the reply only, and packets in the middle of a
 * message do not wait. Also tests how the background thread polls again after a packet.
 * In virtual time.
 *
 * If the background thread of end 1 must not run, the test itself must let virtual time
 * pass.
 */
#include "tests/provider/kit/virtual_kit.h"

#include <stdlib.h>

#include "rocin/queue_pair.h"
#include "rocin/transport.h"

enum {
	/* code for 4 s, so that no packet is acknowledged because it was repeated */
	TIMEOUT = 20,
	/* number of answers after which the device waits for the next one */
	MUCH = 16,
	LEN = 32 << 10,
	AT = KIT_BUF - LEN, /* offset in the buffer at which the message arrives */
	READS = 100,
};

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	virtual_pair(ends, TIMEOUT);
	return 0;
}

/* Both windows are smaller than a message. */
static int setup_narrow(void **state)
{
	int rc;

	setenv("ROCIN_WINDOW", "8192:4096:8192", 1);
	rc = setup(state);
	unsetenv("ROCIN_WINDOW");
	return rc;
}

static int teardown(void **state)
{
	(void)state;
	virtual_close_pair(ends);
	return 0;
}

static void write_to(struct kit_end *from, const struct kit_end *to, uint8_t value)
{
	from->buf[LEN - 1] = value;
	kit_post_send(from, RN_WR_RDMA_WRITE, LEN, (uintptr_t)to->buf + AT);
}

static bool has_come(const struct kit_end *k, uint8_t value)
{
	return k->buf[KIT_BUF - 1] == value;
}

static bool owes(const struct kit_end *k)
{
	return rn_dev_acks_due(rnp_engine_dev(k->e));
}

/* Returns true if the core is in the middle of a message, so that no completion is due
 * yet.
 */
static bool is_amid(const struct kit_end *k)
{
	return rn_dev_is_amid_message(rnp_engine_dev(k->e));
}

/* Lets time pass for end 0; then end 1 makes one step. */
static void step(unsigned drain, enum rnp_acks acks)
{
	struct kit_end *b = &ends[1];

	virtual_run(VIRTUAL_POLL);
	rnp_engine_lock(b->e);
	rnp_engine_step(b->e, virtual_now(), drain, acks);
	rnp_engine_unlock(b->e);
}

/* Makes steps of end 1 until the message has come. Packets before its last one must be
 * acknowledged.
 */
static void receive(enum rnp_acks acks, uint8_t value)
{
	struct kit_end *b = &ends[1];
	rn_ns start = virtual_now();

	while (!has_come(b, value)) {
		step(RNP_DRAIN_BACKGROUND, acks);
		if (acks == RNP_ACKS_HELD && is_amid(b))
			assert_false(owes(b));
		assert_true(virtual_now() - start < VIRTUAL_WAIT);
	}
}

/* Lets end 1 receive message @value, so that it must acknowledge the message and waits
 * for an answer. Its background thread does not run until let_go().
 */
static void hold_an_ack(enum rnp_acks acks, uint8_t value)
{
	struct kit_end *b = &ends[1];

	virtual_end(b)->is_stopped = true;
	b->e->policy.replies.confidence = MUCH;
	/* If the background thread finds all completions, the program never polls for its
	 * posts. They would then look like a stream, whose posts are collected.
	 */
	b->e->policy.batching.run = 1;
	write_to(&ends[0], b, value);
	receive(acks, value);
	assert_true(owes(b));
}

static void let_go(void)
{
	virtual_end(&ends[1])->is_stopped = false;
}

/* Tells the policy of @k that its background thread has received the last packet. */
static void expect_reply(const struct kit_end *k)
{
	const struct rn_dev *dev = rnp_engine_dev(k->e);

	rnp_policy_received(&k->e->policy, virtual_now(), rn_dev_is_amid_message(dev),
			    rn_dev_requests(dev));
}

/* ---------------------------------------------------------------------------- answers */
static void end_of_a_long_message_is_acknowledged_with_the_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (uint8_t i = 1; i < 20; i++) {
		unsigned before;

		hold_an_ack(i % 2 ? RNP_ACKS_HELD : RNP_ACKS_IF_DRY, i);
		before = virtual_end(b)->packets;
		write_to(b, a, i);
		assert_false(owes(b));
		assert_int_equal(virtual_end(b)->packets - before, LEN / 1024 + 1);
		let_go();
		virtual_await(a, RN_WC_SUCCESS);
		virtual_await(b, RN_WC_SUCCESS);
	}
}

static void answer_is_followed_to_its_end_by_the_acknowledgement(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start;

	(void)state;
	hold_an_ack(RNP_ACKS_HELD, 1);
	start = virtual_now();
	write_to(b, a, 1);
	while (rn_qp_unsent(b->qp)) {
		assert_true(owes(b));
		step(RNP_DRAIN_APP, RNP_ACKS_IF_DRY);
	}
	assert_false(owes(b));
	/* the engine did not stop waiting for the answer */
	assert_true(virtual_now() - start < RN_USEC(500));
	let_go();
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(b, RN_WC_SUCCESS);
}

/* While an earlier post of a program is not acknowledged, its posts are no answers. */
static void stream_both_ways_is_not_acknowledged_with_each_post(void **state)
{
	enum {
		MESSAGES = 8
	};
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned before;

	(void)state;
	virtual_end(a)->is_stopped = virtual_end(b)->is_stopped = true;
	b->e->policy.replies.confidence = MUCH;
	kit_post_send(b, RN_WR_RDMA_WRITE, 8, (uintptr_t)a->buf);
	before = virtual_end(b)->packets;
	for (uint8_t i = 1; i <= MESSAGES; i++) {
		a->buf[0] = i;
		kit_post_send(a, RN_WR_RDMA_WRITE, 1, (uintptr_t)b->buf + KIT_BUF - 1);
		receive(RNP_ACKS_HELD, i);
		assert_true(owes(b));
		kit_post_send(b, RN_WR_RDMA_WRITE, 8, (uintptr_t)a->buf + 64);
	}
	step(1, RNP_ACKS_NOW);
	assert_false(owes(b));
	assert_in_range(virtual_end(b)->packets - before, MESSAGES, MESSAGES + 1);
	virtual_end(a)->is_stopped = false;
	let_go();
	for (unsigned i = 0; i < MESSAGES; i++)
		virtual_await(a, RN_WC_SUCCESS);
	for (unsigned i = 0; i <= MESSAGES; i++)
		virtual_await(b, RN_WC_SUCCESS);
}

/* The window stays closed, because the other end does not receive. */
static void answer_in_part_is_not_waited_for_for_ever(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start;

	(void)state;
	hold_an_ack(RNP_ACKS_HELD, 1);
	virtual_end(a)->is_stopped = true;
	start = virtual_now();
	write_to(b, a, 1);
	while (owes(b))
		step(RNP_DRAIN_APP, RNP_ACKS_IF_DRY);
	assert_in_range(virtual_now() - start, RN_USEC(400), RN_USEC(600));
	assert_true(rn_qp_unsent(b->qp));
	virtual_end(a)->is_stopped = false;
	let_go();
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(b, RN_WC_SUCCESS);
}

/* The completion for which the program has polled is there, but the rest of the answer is
 * not: the program stops polling.
 */
static void sockets_go_back_in_the_middle_of_an_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_policy *p = &b->e->policy;

	(void)state;
	virtual_end(b)->is_stopped = true;
	p->replies.confidence = MUCH;
	p->replies.sees_memory = true;
	p->batching.run = 1;
	write_to(a, b, 1);
	/* a packet was found, but it is too early to acknowledge it */
	while (!is_amid(b) || !owes(b))
		step(1, RNP_ACKS_IF_DRY);
	p->replies.asked = b->qp; /* all of whose requests are acknowledged */
	assert_true(virtual_would_leave(b));
	p->replies.asked = NULL;
	receive(RNP_ACKS_HELD, 1);
	assert_true(owes(b));
	p->replies.asked = b->qp;
	assert_false(virtual_would_leave(b));
	p->replies.asked = NULL;
	step(1, RNP_ACKS_NOW);
	let_go();
	virtual_await(a, RN_WC_SUCCESS);
}

/* Only the last packet of a message can have an answer. */
static void long_message_is_answered_once(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_policy *p = &b->e->policy;

	(void)state;
	virtual_end(b)->is_stopped = true;
	p->replies.confidence = MUCH;
	write_to(a, b, 1);
	while (!has_come(b, 1)) {
		step(1, RNP_ACKS_HELD);
		if (is_amid(b))
			expect_reply(b);
	}
	assert_int_equal(p->replies.found_at, 0);
	expect_reply(b);
	assert_true(p->replies.found_at != 0);
	assert_int_equal(p->replies.confidence, MUCH);
	step(1, RNP_ACKS_NOW);
	let_go();
	virtual_await(a, RN_WC_SUCCESS);
}

/* A packet that only acknowledges the program's own message needs no answer. */
static void acknowledgement_is_not_answered(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_policy *p = &b->e->policy;

	(void)state;
	virtual_end(b)->is_stopped = true;
	write_to(b, a, 1);
	while (rn_qp_unacked(b->qp))
		step(1, RNP_ACKS_HELD);
	expect_reply(b);
	assert_int_equal(p->replies.found_at, 0);
	write_to(a, b, 1);
	receive(RNP_ACKS_HELD, 1);
	expect_reply(b);
	assert_true(p->replies.found_at != 0);
	step(1, RNP_ACKS_NOW);
	let_go();
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(b, RN_WC_SUCCESS);
}

/* ------------------------------------------------------------------------- polling again
 * after a packet
 */
/* Sends READs of a program that does not poll at the other end. */
static void ask_for_bytes(void)
{
	for (unsigned i = 0; i < READS; i++) {
		kit_post_send(&ends[0], RN_WR_RDMA_READ, 64, (uintptr_t)ends[1].buf);
		virtual_await(&ends[0], RN_WC_SUCCESS);
	}
}

static void thread_looks_again_after_a_packet(void **state)
{
	(void)state;
	ask_for_bytes();
	assert_true(virtual_end(&ends[1])->yields >= READS);
}

/* The first of two requests wakes the thread, which still polls when the second one
 * comes.
 */
static void packet_close_behind_another_is_found_without_a_wake_up(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 1; i <= READS; i++) {
		virtual_machine.wire = RN_USEC(2);
		kit_post_send(a, RN_WR_RDMA_WRITE, 8, (uintptr_t)b->buf);
		virtual_machine.wire = virtual_machine.wake + RN_USEC(10);
		kit_post_send(a, RN_WR_RDMA_WRITE, 8, (uintptr_t)b->buf);
		virtual_run(RN_MSEC(1));
		assert_int_equal(virtual_end(b)->wakes, i);
		virtual_await(a, RN_WC_SUCCESS);
		virtual_await(a, RN_WC_SUCCESS);
		virtual_run(RN_MSEC(10));
	}
}

/* If another thread computes or reads memory on this processor, sleeping until the next
 * wake-up is faster than yielding.
 */
static void thread_does_not_look_again_where_it_gets_no_processor(void **state)
{
	(void)state;
	virtual_machine.yield = RN_MSEC(2);
	ask_for_bytes();
	assert_in_range(virtual_end(&ends[1])->yields, 1, READS / 10);
	assert_true(virtual_end(&ends[1])->wakes >= READS - READS / 10);
}

static bool looks_after(struct rnp_policy *p, rn_ns pause, bool spins)
{
	virtual_machine.spins = spins;
	virtual_run(pause);
	return rnp_policy_look(p, virtual_now(), virtual_cpu());
}

static void ban(struct rnp_policy *p)
{
	rnp_policy_yield_was_dear(p, virtual_now(), virtual_cpu());
}

/* A program that has read memory sleeps now. */
static void thread_looks_again_when_the_program_sleeps(void **state)
{
	struct rnp_policy *p = &ends[1].e->policy;

	(void)state;
	ban(p);
	assert_false(looks_after(p, RN_MSEC(1), true));
	assert_false(looks_after(p, RN_MSEC(1), true));
	assert_true(looks_after(p, RN_MSEC(10), false));
	assert_true(looks_after(p, RN_MSEC(10), false));

	/* Another process had the processor, whose behaviour is unknown. */
	ban(p);
	for (unsigned i = 1; i < 4; i++)
		assert_false(looks_after(p, RN_MSEC(10), false));
}

/* The last post of the program is acknowledged: for this reason alone, it would count as
 * not polling any more.
 */
static void is_to_stop(struct rnp_policy *p)
{
	p->replies.confidence = MUCH;
	p->replies.sees_memory = true;
	p->batching.run = 1;
	p->replies.early.left = 0;
	p->replies.asked = ends[0].qp;
}

/* The program waits for its completions, which come with the next poll. */
static void who_polls_on_does_not_look_at_memory(void **state)
{
	const struct rnp_counts counts = { 0 };
	struct kit_end *a = &ends[0];
	struct rnp_policy *p = &a->e->policy;

	(void)state;
	is_to_stop(p);
	rnp_engine_poll(a->e);
	assert_int_equal(p->replies.confidence, MUCH);
	rnp_engine_poll(a->e);
	assert_int_equal(p->replies.confidence, 0);
	p->replies.confidence = MUCH;
	p->replies.asked = a->qp;
	/* nor does it get another such lease at once */
	assert_false(virtual_would_lease_early(a));

	is_to_stop(p);
	rnp_engine_poll(a->e);
	rnp_policy_posted(p, virtual_now(), a->qp, virtual_facts(a), counts);
	rnp_engine_poll(a->e);
	assert_int_equal(p->replies.confidence, MUCH);
}

/* One message comes between two posts of end 1. */
static bool sees_memory_after(enum rn_wr_opcode opcode)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	for (unsigned i = 0; i < 2; i++) {
		kit_post_recv(b);
		kit_post_send(a, opcode, 8, (uintptr_t)b->buf);
		virtual_await(a, RN_WC_SUCCESS);
		if (opcode == RN_WR_SEND)
			virtual_await(b, RN_WC_SUCCESS);
		kit_post_send(b, RN_WR_RDMA_WRITE, 8, (uintptr_t)a->buf);
		virtual_await(b, RN_WC_SUCCESS);
	}
	return b->e->policy.replies.sees_memory;
}

static void who_has_completions_does_not_look_at_memory(void **state)
{
	(void)state;
	assert_true(sees_memory_after(RN_WR_RDMA_WRITE));
	assert_false(sees_memory_after(RN_WR_SEND));
	assert_true(sees_memory_after(RN_WR_RDMA_WRITE));
}

static void who_only_reads_does_not_look_at_memory(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	assert_true(sees_memory_after(RN_WR_RDMA_WRITE));
	kit_post_send(b, RN_WR_RDMA_READ, 8, (uintptr_t)a->buf);
	virtual_await(b, RN_WC_SUCCESS);
	assert_false(b->e->policy.replies.sees_memory);
}

#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(end_of_a_long_message_is_acknowledged_with_the_answer, setup),
		TEST(answer_is_followed_to_its_end_by_the_acknowledgement, setup_narrow),
		TEST(stream_both_ways_is_not_acknowledged_with_each_post, setup),
		TEST(answer_in_part_is_not_waited_for_for_ever, setup_narrow),
		TEST(sockets_go_back_in_the_middle_of_an_answer, setup_narrow),
		TEST(long_message_is_answered_once, setup_narrow),
		TEST(acknowledgement_is_not_answered, setup),
		TEST(thread_looks_again_after_a_packet, setup),
		TEST(packet_close_behind_another_is_found_without_a_wake_up, setup),
		TEST(thread_does_not_look_again_where_it_gets_no_processor, setup),
		TEST(thread_looks_again_when_the_program_sleeps, setup),
		TEST(who_polls_on_does_not_look_at_memory, setup),
		TEST(who_has_completions_does_not_look_at_memory, setup),
		TEST(who_only_reads_does_not_look_at_memory, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
