/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_clock.c - the time that the engine passes to the core with posts and polls.
 */
#include "rocin/queue_pair.h"
#include "tests/provider/kit/engine_kit.h"

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	kit_environment(0);
	kit_pair(ends, 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_close_pair(ends);
	return 0;
}

/* The time of a post must not be earlier than a time that the core already knows, and
 * must be less than two microseconds old.
 */
static void time_of_a_post_is_nearly_now(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns told = 0;

	(void)state;
	rnp_engine_lock(a->e);
	for (unsigned i = 0; i < 10000; i++) {
		rn_ns before = rnp_engine_now(), at;

		if (i % 100 == 0) {
			rnp_engine_kick(a->e);
			told = a->e->clock.now;
			assert_true(told >= before);
			assert_true(rnp_engine_recv_time(a->e, a->qp) == told);
		}
		at = rnp_engine_send_time(a->e, a->qp);
		assert_true(at >= told);
		assert_true(before - at <= RN_USEC(2));
		told = at;
	}
	rnp_engine_unlock(a->e);
}

/* A request that is flushed at once has the exact time. */
static void time_of_a_post_to_a_dead_queue_pair_is_now(void **state)
{
	struct rn_qp_attr attr = { .state = RN_QPS_ERR };
	struct kit_end *a = &ends[0];
	rn_ns before;

	(void)state;
	rnp_engine_lock(a->e);
	assert_int_equal(rn_qp_modify(rnp_engine_dev(a->e), a->qp, rnp_engine_now(),
				      &attr, RN_ATTR_STATE),
			 0);
	for (unsigned i = 0; i < 1000; i++) {
		before = rnp_engine_now();
		assert_true(rnp_engine_send_time(a->e, a->qp) >= before);
		before = rnp_engine_now();
		assert_true(rnp_engine_recv_time(a->e, a->qp) >= before);
	}
	rnp_engine_unlock(a->e);
}

static void time_of_a_poll_is_nearly_now(void **state)
{
	struct kit_end *a = &ends[0];
	unsigned old = 0;
	rn_ns told = 0;

	(void)state;
	rnp_engine_lock(a->e);
	for (unsigned i = 0; i < 10000; i++) {
		rn_ns before = rnp_engine_now(), at = rnp_clock_poll_time(a->e);

		assert_true(at >= told);
		assert_true(before - at <= RN_USEC(2));
		old += at < before;
		told = at;
	}
	rnp_engine_unlock(a->e);
#ifdef __x86_64__
	/* otherwise the engine would not have saved a reading of the clock */
	assert_true(old > 0);
#endif
}

static void who_reads_times_of_completions_gets_the_time_of_the_poll(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	rnp_engine_lock(b->e);
	rnp_engine_keep_exact_time(b->e);
	rnp_engine_unlock(b->e);
	for (unsigned i = 0; i < 200; i++) {
		struct rn_cqe cqe;
		rn_ns before;

		kit_post_recv(b);
		/* otherwise the background thread would be first */
		rnp_engine_lock(b->e);
		kit_post_send(a, RN_WR_SEND, 8, 0);
		before = rnp_engine_now();
		rnp_progress_poll(b->e);
		rnp_engine_unlock(b->e);
		while (!kit_poll(b, &cqe))
			;
		assert_true((rn_ns)cqe.timestamp_ns >= before);
		kit_await(a, RN_WC_SUCCESS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(time_of_a_post_is_nearly_now, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			time_of_a_post_to_a_dead_queue_pair_is_now, setup, teardown),
		cmocka_unit_test_setup_teardown(time_of_a_poll_is_nearly_now, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			who_reads_times_of_completions_gets_the_time_of_the_poll, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
