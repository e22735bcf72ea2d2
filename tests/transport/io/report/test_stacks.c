/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_stacks.c - stacks are taken in the child of a fork, whatever other threads of the
 * parent were doing; and each place that takes stacks again and again is unwound once.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

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

/* ---------------------------------------------------- the moment of a fork */
static atomic_int taker; /* the thread that takes stacks; 0: it has not begun */
static atomic_uint taken;
static unsigned taken_in_fork;

static void *count_stacks(void *unused)
{
	atomic_store(&taker, (int)gettid());
	while (!atomic_load(&is_over)) {
		(void)take(DEPTH);
		atomic_fetch_add(&taken, 1);
	}
	return unused;
}

/* Does the thread sleep, as it does only where it waits for a lock? */
static bool is_taker_asleep(void)
{
	char path[64], text[256] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&taker));
	file = fopen(path, "r");
	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* Called before fork(), behind what the stacks do then: waits until the thread has come
 * to a halt, or goes on.
 */
static void watch_taker(void)
{
	unsigned before = atomic_load(&taken);

	if (!atomic_load(&taker))
		return;
	while (!is_taker_asleep() && atomic_load(&taken) < before + 2)
		sched_yield();
	taken_in_fork = atomic_load(&taken) - before;
}

/* A call that has the lock at that moment ends before, and no other begins. */
static void nobody_takes_stacks_while_a_process_forks(void **state)
{
	pthread_t thread;
	int status;
	pid_t pid;

	(void)state;
	/* What was told first is called last. */
	assert_int_equal(pthread_atfork(watch_taker, NULL, NULL), 0);
	rn_stacks_init();
	assert_int_equal(pthread_create(&thread, NULL, count_stacks, NULL), 0);
	while (!atomic_load(&taken))
		sched_yield();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	atomic_store(&is_over, false);
	atomic_store(&taker, 0);
	assert_in_range(taken_in_fork, 0, 1);
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

/* ------------------------------------------------------------- the same stacks again */
static unsigned unwound; /* number of calls of _Unwind_Backtrace() */

/* Replaces the function of libgcc for this program. */
_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn fn, void *arg)
{
	_Unwind_Reason_Code (*next)(_Unwind_Trace_Fn fn, void *arg);

	*(void **)&next = dlsym(RTLD_NEXT, "_Unwind_Backtrace");
	unwound++;
	return next(fn, arg);
}

/* Takes the stack of its caller, as a verb does. */
__attribute__((noinline)) static void verb(volatile uint32_t *stack)
{
	*stack = rn_stacks_take_again();
}

enum {
	PLACES = 4,
	ROUNDS = 10,
};

/* Calls from several places of one function, which all have the same frame. */
__attribute__((noinline)) static void call_verbs(volatile uint32_t stack[PLACES])
{
	verb(&stack[0]);
	verb(&stack[1]);
	verb(&stack[2]);
	verb(&stack[3]);
}

static void places_in_one_function_are_unwound_once(void **state)
{
	volatile uint32_t first[PLACES], stack[PLACES];

	(void)state;
#ifndef __x86_64__
	skip(); /* no stack is known again */
#endif
	rn_stacks_init();
	for (unsigned round = 0; round < ROUNDS; round++) {
		unwound = 0;
		call_verbs(stack);
		assert_int_equal(unwound, round ? 0 : PLACES);
		for (unsigned i = 0; i < PLACES; i++) {
			first[i] = round ? first[i] : stack[i];
			assert_int_equal(stack[i], first[i]);
		}
	}
	for (unsigned i = 1; i < PLACES; i++)
		assert_int_not_equal(first[i], first[i - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_takes_stacks_while_a_process_forks),
		cmocka_unit_test(a_child_takes_stacks_beside_busy_threads),
		cmocka_unit_test(places_in_one_function_are_unwound_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
