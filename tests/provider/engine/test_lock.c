/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_lock.c - the engine lock: one thread has it at a time, and each that waits gets
 * it. And the lock of an object: with the promise of one thread it locks nothing, and a
 * broken promise ends the process.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/engine/lock/use_lock.h"

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

/* ------------------------------------------------ errno where the futex fails */
static _Atomic int sleeper; /* the thread that waits */
static _Atomic unsigned signals;

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals, 1);
}

static void *sleep_for_it(void *arg)
{
	atomic_store(&sleeper, (int)gettid());
	return wait_for_it(arg);
}

/* Does the thread sleep in the futex? It waits for nothing else. */
static bool is_asleep(void)
{
	char path[64], text[256] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&sleeper));
	file = fopen(path, "r");
	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* The handler lets no call go on. */
static void who_is_interrupted_waits_on_and_keeps_errno(void **state)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;
	unsigned waits = 0;
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	rnp_lock_take(&lock);
	assert_int_equal(pthread_create(&thread, NULL, sleep_for_it, &waits), 0);
	while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE) ||
	       atomic_load(&lock.state) != RNP_LOCK_AWAITED || !is_asleep())
		sched_yield();
	assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
	while (!atomic_load(&signals))
		sched_yield();
	rnp_lock_give(&lock);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &waits);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* A lock that nobody can have: the kernel refuses its address. */
static void who_wakes_nobody_keeps_errno(void **state)
{
	(void)state;
	errno = EDOM;
	rnp_lock_wake((struct rnp_lock *)(UINTPTR_MAX & ~(uintptr_t)63));
	assert_int_equal(errno, EDOM);
}

/* ------------------------------------------------- the lock of an object */
static struct rnp_use_lock shared, single = { .is_single = true };

static void *use_in_turn(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < TURNS; i++) {
		rnp_use_lock_take(&shared);
		take_a_turn(i % 64 == 0);
		rnp_use_lock_give(&shared);
	}
	return NULL;
}

static void an_object_without_a_promise_is_used_one_by_one(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	turns = 0;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use_in_turn, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(turns, THREADS * TURNS);
}

static sigjmp_buf back;

static void on_abort(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void a_broken_promise_ends_the_process(void **state)
{
	struct sigaction action = { .sa_handler = on_abort }, before;
	volatile bool ended = false;

	(void)state;
	rnp_use_lock_take(&single);
	rnp_use_lock_give(&single);
	rnp_use_lock_take(&single);
	assert_false(rnp_use_lock_try(&single));
	sigaction(SIGABRT, &action, &before);
	if (sigsetjmp(back, 1) == 0)
		rnp_use_lock_take(&single);
	else
		ended = true;
	sigaction(SIGABRT, &before, NULL);
	assert_true(ended);
	rnp_use_lock_give(&single);
	assert_true(rnp_use_lock_try(&single));
	rnp_use_lock_give(&single);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_it_one_by_one),
		cmocka_unit_test(who_waits_is_woken_and_keeps_errno),
		cmocka_unit_test(who_is_interrupted_waits_on_and_keeps_errno),
		cmocka_unit_test(who_wakes_nobody_keeps_errno),
		cmocka_unit_test(an_object_without_a_promise_is_used_one_by_one),
		cmocka_unit_test(a_broken_promise_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
