/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_lock.c - the engine lock: one thread has it at a time, and each that waits gets
 * it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "provider/engine/lock/lock.h"

enum {
	THREADS = 4,
	TURNS = 20000,
};

static struct rnp_lock lock;
static unsigned long turns; /* guarded by @lock */
static unsigned inside;

static void take_a_turn(bool yields)
{
	assert_int_equal(inside++, 0);
	turns++;
	if (yields)
		sched_yield(); /* so that others have to wait */
	inside--;
}

static void *take_turns(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < TURNS; i++) {
		if (i % 3 == 0)
			while (!rnp_lock_try(&lock))
				sched_yield();
		else
			rnp_lock_take(&lock);
		take_a_turn(i % 64 == 0);
		rnp_lock_give(&lock);
	}
	return NULL;
}

static void threads_have_it_one_by_one(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	turns = 0;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_turns, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(turns, THREADS * TURNS);
	assert_true(rnp_lock_try(&lock));
	rnp_lock_give(&lock);
}

static void *wait_for_it(void *arg)
{
	unsigned *waits = arg;

	errno = E2BIG;
	__atomic_store_n(waits, 1, __ATOMIC_RELEASE);
	rnp_lock_take(&lock);
	rnp_lock_give(&lock);
	return errno == E2BIG ? arg : NULL; /* the futex has left it alone */
}

static void who_waits_is_woken_and_keeps_errno(void **state)
{
	unsigned waits = 0;
	pthread_t thread;
	void *result;

	(void)state;
	rnp_lock_take(&lock);
	assert_false(rnp_lock_try(&lock));
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &waits), 0);
	while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE) ||
	       atomic_load(&lock.state) != RNP_LOCK_AWAITED)
		sched_yield();
	errno = EDOM;
	rnp_lock_give(&lock);
	assert_int_equal(errno, EDOM);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &waits);
	assert_true(rnp_lock_try(&lock));
	rnp_lock_give(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_it_one_by_one),
		cmocka_unit_test(who_waits_is_woken_and_keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
