/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_answers.c - long messages between programs that look at memory: the
 * acknowledgement waits for the end of the answer, and for nothing in the middle. How the
 * background thread looks again after a packet.
 *
 * End 1 makes its steps when the test says so: its lock is held.
 */
#include <unistd.h>

#include "engine_kit.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum {
	TIMEOUT = 20, /* 4 s, so that nothing is acknowledged because it came again */
	MUCH = 16,    /* answers: the next is waited for */
	LEN = 32 << 10,
	AT = KIT_BUF - LEN, /* where in the buffer it arrives */
	READS = 100,
	SLOW_MS = 2,
};

static struct kit_end ends[2];

/* ------------------------------------------------------------- a yield that is dear */
static _Atomic bool is_slow;
static _Atomic unsigned yields; /* of the thread of end 1 */

int __real_sched_yield(void);
int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	const struct timespec pause = { .tv_nsec = SLOW_MS * 1000000 };

	if (!pthread_equal(pthread_self(), ends[1].e->thread))
		return __real_sched_yield();
	yields++;
	return is_slow ? nanosleep(&pause, NULL) : __real_sched_yield();
}

/* -------------------------------------------------------------------------- the pair */
static int setup(void **state)
{
	(void)state;
	kit_environment(0);
	kit_pair(ends, TIMEOUT);
	is_slow = false;
	yields = 0;
	return 0;
}

/* A message does not fit into the window of either. */
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
	kit_close_pair(ends);
	return 0;
}

static void write_to(struct kit_end *from, const struct kit_end *to, uint8_t value)
{
	from->buf[LEN - 1] = value;
	if (from == &ends[1])
		kit_post_send_locked(from, RN_WR_RDMA_WRITE, LEN,
				     (uintptr_t)to->buf + AT);
	else
		kit_post_send(from, RN_WR_RDMA_WRITE, LEN, (uintptr_t)to->buf + AT);
}

static bool has_come(const struct kit_end *k, uint8_t value)
{
	return __atomic_load_n(&k->buf[KIT_BUF - 1], __ATOMIC_ACQUIRE) == value;
}

static bool owes(const struct kit_end *k)
{
	return rn_dev_acks_due(rnp_engine_dev(k->e));
}

/* As far as the core is concerned: no completion is waited for. */
static bool is_amid(const struct kit_end *k)
{
	return rn_dev_is_amid_message(rnp_engine_dev(k->e));
}

/* Steps of end 1 until the message has come; what is not the end of it is acknowledged.
 */
static void receive(enum rnp_acks acks, uint8_t value)
{
	struct kit_end *b = &ends[1];
	rn_ns start = rnp_engine_now();

	while (!has_come(b, value)) {
		rnp_pump_step(b->e, rnp_engine_now(), RNP_DRAIN_BACKGROUND, acks);
		if (acks == RNP_ACKS_HELD && is_amid(b))
			assert_false(owes(b));
		kit_not_forever(start);
	}
}

/* End 1 has message @value and owes its acknowledgement, which waits for an answer. */
static void hold_an_ack(enum rnp_acks acks, uint8_t value)
{
	struct kit_end *b = &ends[1];

	b->e->progress.answered = MUCH;
	/* Where the background thread finds all completions, posts are never polled for
	 * and look like a stream, which gathers.
	 */
	b->e->progress.run = 1;
	write_to(&ends[0], b, value);
	receive(acks, value);
	assert_true(owes(b));
}

/* ---------------------------------------------------------------------------- answers */
static void end_of_a_long_message_is_acknowledged_with_the_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	const uint64_t *sent = &b->e->stats.page->counter[RN_STAT_TX_PACKETS];

	(void)state;
	for (uint8_t i = 1; i < 20; i++) {
		uint64_t before;

		rnp_engine_lock(b->e);
		hold_an_ack(i % 2 ? RNP_ACKS_HELD : RNP_ACKS_IF_DRY, i);
		before = *sent;
		write_to(b, a, i);
		assert_false(owes(b));
		assert_int_equal(*sent - before, LEN / 1024 + 1);
		rnp_engine_unlock(b->e);
		kit_await(a, RN_WC_SUCCESS);
		kit_await(b, RN_WC_SUCCESS);
	}
}

static void answer_is_followed_to_its_end_by_the_acknowledgement(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e);
	hold_an_ack(RNP_ACKS_HELD, 1);
	write_to(b, a, 1);
	while (rn_qp_unsent(b->qp)) {
		assert_true(owes(b));
		b->e->progress.asked_at = rnp_engine_now(); /* however busy it is here */
		rnp_pump_step(b->e, rnp_engine_now(), RNP_DRAIN_APP, RNP_ACKS_IF_DRY);
		kit_not_forever(start);
	}
	assert_false(owes(b));
	rnp_engine_unlock(b->e);
	kit_await(a, RN_WC_SUCCESS);
	kit_await(b, RN_WC_SUCCESS);
}

/* The window stays shut, as nobody receives at the other end. */
static void answer_in_part_is_not_waited_for_for_ever(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e);
	hold_an_ack(RNP_ACKS_HELD, 1);
	rnp_engine_lock(a->e);
	write_to(b, a, 1);
	while (owes(b)) {
		rnp_pump_step(b->e, rnp_engine_now(), RNP_DRAIN_APP, RNP_ACKS_IF_DRY);
		kit_not_forever(start);
	}
	assert_true(rn_qp_unsent(b->qp));
	rnp_engine_unlock(a->e);
	rnp_engine_unlock(b->e);
	kit_await_both(a, b);
	kit_await(b, RN_WC_SUCCESS);
}

/* What it polled for is there, and the rest of the answer is not: the program goes. */
static void sockets_go_back_in_the_middle_of_an_answer(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_progress *p = &b->e->progress;
	rn_ns start = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e);
	p->answered = MUCH;
	p->sees_memory = true;
	p->run = 1;
	write_to(a, b, 1);
	while (!is_amid(b) || !owes(b)) { /* found something: too early to acknowledge */
		rnp_pump_step(b->e, rnp_engine_now(), 1, RNP_ACKS_IF_DRY);
		kit_not_forever(start);
	}
	p->asked = b->qp; /* of which all is acknowledged */
	assert_true(rnp_answers_leaves(b->e));
	receive(RNP_ACKS_HELD, 1);
	assert_true(owes(b));
	p->asked = b->qp;
	assert_false(rnp_answers_leaves(b->e));
	rnp_engine_unlock(b->e);
	kit_await_both(a, b); /* the steps were ours, so is what is owed */
}

/* Only the end of a message has an answer. */
static void long_message_is_answered_once(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_progress *p = &b->e->progress;
	rn_ns start = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e);
	p->answered = MUCH;
	write_to(a, b, 1);
	while (!has_come(b, 1)) {
		rnp_pump_step(b->e, rnp_engine_now(), 1, RNP_ACKS_HELD);
		if (is_amid(b))
			rnp_answers_expect(b->e, rnp_engine_now());
		kit_not_forever(start);
	}
	assert_int_equal(p->found_at, 0);
	rnp_answers_expect(b->e, rnp_engine_now());
	assert_true(p->found_at != 0);
	assert_int_equal(p->answered, MUCH);
	rnp_engine_unlock(b->e);
	kit_await_both(a, b);
}

/* What acknowledges the program's own message asks it for nothing. */
static void acknowledgement_is_not_answered(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rnp_progress *p = &b->e->progress;
	rn_ns start = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e);
	write_to(b, a, 1);
	while (rn_qp_unacked(b->qp)) {
		rnp_pump_step(b->e, rnp_engine_now(), 1, RNP_ACKS_HELD);
		kit_not_forever(start);
	}
	rnp_answers_expect(b->e, rnp_engine_now());
	assert_int_equal(p->found_at, 0);
	write_to(a, b, 1);
	receive(RNP_ACKS_HELD, 1);
	rnp_answers_expect(b->e, rnp_engine_now());
	assert_true(p->found_at != 0);
	rnp_engine_unlock(b->e);
	kit_await_both(a, b);
	kit_await(b, RN_WC_SUCCESS);
}

/* ------------------------------------------------------------------------- look again */
static void ask_for_bytes(void)
{
	for (unsigned i = 0; i < READS; i++) {
		kit_post_send(&ends[0], RN_WR_RDMA_READ, 64, (uintptr_t)ends[1].buf);
		kit_await(&ends[0], RN_WC_SUCCESS);
	}
}

static void thread_looks_again_after_a_packet(void **state)
{
	struct rnp_engine *e = ends[1].e;

	(void)state;
	for (rn_ns start = rnp_engine_now(); yields < READS; kit_not_forever(start)) {
		rnp_engine_lock(e);
		e->progress.look_ban = 0; /* the machine may be busy */
		rnp_engine_unlock(e);
		ask_for_bytes();
	}
}

/* Behind somebody who computes, or looks at memory: being woken is faster. */
static void thread_does_not_look_again_where_it_gets_no_processor(void **state)
{
	(void)state;
	rnp_engine_lock(ends[1].e);
	ends[1].e->progress.poller = CLOCK_MONOTONIC; /* never sleeps */
	rnp_engine_unlock(ends[1].e);
	is_slow = true;
	ask_for_bytes();
	assert_in_range(yields, 0, READS / 10); /* one, and where it lost the processor */
}

/* The clock of a thread that never sleeps, unless it is told a time far ahead. */
static bool looks_at(struct rnp_progress *p, rn_ns ahead)
{
	bool looks;

	usleep(1000);
	rnp_engine_lock(ends[1].e);
	p->poller = CLOCK_MONOTONIC;
	looks = rnp_poller_lets_look(p, rnp_engine_now() + ahead);
	rnp_engine_unlock(ends[1].e);
	return looks;
}

static void ban(struct rnp_progress *p)
{
	rnp_engine_lock(ends[1].e);
	p->poller = CLOCK_MONOTONIC;
	rnp_poller_ban(p, rnp_engine_now());
	rnp_engine_unlock(ends[1].e);
}

/* A program that looked at memory sleeps now. */
static void thread_looks_again_when_the_program_sleeps(void **state)
{
	struct rnp_progress *p = &ends[1].e->progress;

	(void)state;
	ban(p);
	assert_false(looks_at(p, 0));
	assert_false(looks_at(p, 0));
	assert_true(looks_at(p, RN_MSEC(10000)));
	assert_true(looks_at(p, RN_MSEC(10000)));

	/* It was somebody else who had the processor, whom nobody can ask. */
	ban(p);
	for (unsigned i = 1; i < 4; i++)
		assert_false(looks_at(p, RN_MSEC(10000) * i));
}

/* Its last post is acknowledged: as far as that goes, it polls no more. */
static void is_to_stop(struct rnp_progress *p)
{
	p->answered = MUCH;
	p->sees_memory = true;
	p->run = 1;
	p->early_ban = 0;
	p->asked = ends[0].qp;
}

/* Its completions are what it waits for, and come with the next poll. */
static void who_polls_on_does_not_look_at_memory(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_progress *p = &a->e->progress;
	uint32_t after_one, after_two, after_post;

	(void)state;
	rnp_engine_lock(a->e);
	is_to_stop(p);
	rnp_progress_app(a->e);
	after_one = p->answered;
	rnp_progress_app(a->e);
	after_two = p->answered;

	is_to_stop(p);
	rnp_progress_app(a->e);
	rnp_answers_posted(a->e, a->qp);
	rnp_progress_app(a->e);
	after_post = p->answered;
	rnp_engine_unlock(a->e);
	assert_int_equal(after_one, MUCH);
	assert_int_equal(after_two, 0);
	assert_int_equal(after_post, MUCH);
}

/* Between two posts of end 1 comes one message. */
static bool sees_memory_after(enum rn_wr_opcode opcode)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	bool sees;

	for (unsigned i = 0; i < 2; i++) {
		kit_post_recv(b);
		kit_post_send(a, opcode, 8, (uintptr_t)b->buf);
		kit_await(a, RN_WC_SUCCESS);
		if (opcode == RN_WR_SEND)
			kit_await(b, RN_WC_SUCCESS);
		kit_post_send(b, RN_WR_RDMA_WRITE, 8, (uintptr_t)a->buf);
		kit_await(b, RN_WC_SUCCESS);
	}
	rnp_engine_lock(b->e);
	sees = b->e->progress.sees_memory;
	rnp_engine_unlock(b->e);
	return sees;
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
	kit_await(b, RN_WC_SUCCESS);
	rnp_engine_lock(b->e);
	assert_false(b->e->progress.sees_memory);
	rnp_engine_unlock(b->e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			end_of_a_long_message_is_acknowledged_with_the_answer, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			answer_is_followed_to_its_end_by_the_acknowledgement,
			setup_narrow, teardown),
		cmocka_unit_test_setup_teardown(answer_in_part_is_not_waited_for_for_ever,
						setup_narrow, teardown),
		cmocka_unit_test_setup_teardown(
			sockets_go_back_in_the_middle_of_an_answer, setup_narrow,
			teardown),
		cmocka_unit_test_setup_teardown(long_message_is_answered_once,
						setup_narrow, teardown),
		cmocka_unit_test_setup_teardown(acknowledgement_is_not_answered, setup,
						teardown),
		cmocka_unit_test_setup_teardown(thread_looks_again_after_a_packet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			thread_does_not_look_again_where_it_gets_no_processor, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			thread_looks_again_when_the_program_sleeps, setup, teardown),
		cmocka_unit_test_setup_teardown(who_polls_on_does_not_look_at_memory,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			who_has_completions_does_not_look_at_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(who_only_reads_does_not_look_at_memory,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
