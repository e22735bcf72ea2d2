/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bench_end.c - how long a measurement may be stuck, on a machine that is busy. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/bench/bench.h"

enum {
	OTHERS = 4,
	ENOUGH_NS = 20 * 1000000,
};

static atomic_bool is_over;

static void *use_the_processor(void *arg)
{
	while (!atomic_load(&is_over))
		;
	return arg;
}

/* Keeps this thread and four others on one processor until it has waited for it. */
static void wait_for_the_processor(void)
{
	uint64_t begun = rn_bench_run_delay_ns();
	cpu_set_t all, one;
	pthread_t other[OTHERS];
	size_t cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_create(&other[i], NULL, use_the_processor, NULL),
				 0);
	while (rn_bench_run_delay_ns() - begun < ENOUGH_NS)
		;
	atomic_store(&is_over, true);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(other[i], NULL);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* The meter is told that its time ended before the epoch of CLOCK_MONOTONIC, so that only
 * the run delay can prolong it: by more time than any machine has been up.
 */
static void the_run_delay_does_not_count(void **state)
{
	static struct rn_bench_shared shared;
	struct rn_bench_end end = { .shared = &shared };
	struct rn_bench_meter m = { .end = &end, .give_up_ns = 1 };

	(void)state;
	m.delay_ns = rn_bench_run_delay_ns() - (UINT64_MAX / 2);
	assert_int_equal(rn_bench_meter_patience(&m), 0);
	assert_true(m.give_up_ns > UINT64_MAX / 2);
	assert_false(atomic_load(&shared.failed));
	m.give_up_ns = 1;
	assert_int_equal(rn_bench_meter_patience(&m), -1);
	assert_true(atomic_load(&shared.failed));
	assert_string_equal(shared.sentence[0], "nothing has moved for ten seconds");
}

static void a_thread_that_waits_for_a_processor_has_a_run_delay(void **state)
{
	(void)state;
	if (access("/proc/thread-self/schedstat", R_OK))
		skip();
	wait_for_the_processor();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_run_delay_does_not_count),
		cmocka_unit_test(a_thread_that_waits_for_a_processor_has_a_run_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
