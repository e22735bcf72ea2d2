/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_stacks.c - stacks are taken in the child of a fork, whatever other threads of the
 * parent were doing.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/io/report/stacks.h"

enum {
	FORKS = 300, /* so many that one of them meets a thread that holds the lock */
	DEPTH = 8,
};

static atomic_bool is_over;

/* Takes stacks of all depths, none of them known from the place of its call. */
__attribute__((noinline)) static uint32_t take(unsigned depth)
{
	uint32_t stack = depth ? take(depth - 1) : 0;

	return rn_stacks_take() ^ stack;
}

static void *take_stacks(void *unused)
{
	while (!atomic_load(&is_over))
		(void)take(DEPTH);
	return unused;
}

static void a_child_takes_stacks_beside_busy_threads(void **state)
{
	pthread_t thread;

	(void)state;
	rn_stacks_init();
	rn_stacks_init(); /* of another report; it does no harm */
	assert_int_equal(pthread_create(&thread, NULL, take_stacks, NULL), 0);
	for (unsigned i = 0; i < FORKS; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			(void)take(DEPTH);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_takes_stacks_beside_busy_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
