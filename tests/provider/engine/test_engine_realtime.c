/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_realtime.c - the background thread of programs in a real-time class.
 *
 * All threads run on one processor. There, a thread of SCHED_FIFO that never sleeps
 * prevents other threads of the same priority from running for ever. The test is skipped
 * if the process may not use such a class.
 */
#include "tests/provider/kit/engine_kit.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	TIMEOUT = 20, /* code for 4 s */
	LOW = 3,
	HIGH = 7,
	POLLS = 1000, /* after fewer polls, the program has taken a lease */
};

static struct kit_end ends[2];

static bool become(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, policy, &param) == 0;
}

static void become_or_skip(int policy, int priority)
{
	if (become(policy, priority))
		return;
	assert_int_equal(errno, EPERM);
	print_message("no right to a real-time class\n");
	skip();
}

static int priority_of(const struct kit_end *k)
{
	struct sched_param param;
	int policy;

	assert_int_equal(pthread_getschedparam(k->e->thread, &policy, &param), 0);
	if (param.sched_priority)
		assert_int_equal(policy, SCHED_RR);
	return param.sched_priority;
}

static uint32_t told(const struct kit_end *k)
{
	return __atomic_load_n(&k->e->stats.page->realtime, __ATOMIC_RELAXED);
}

static void make_ends(void)
{
	kit_environment(0);
	kit_pair(ends, TIMEOUT);
}

static int end_all(void **state)
{
	(void)state;
	assert_true(become(SCHED_OTHER, 0));
	for (unsigned i = 0; i < 2 && ends[i].e; i++)
		kit_close(&ends[i]);
	memset(ends, 0, sizeof(ends));
	return 0;
}

static void thread_is_above_its_creator(void **state)
{
	(void)state;
	become_or_skip(SCHED_RR, LOW);
	make_ends();
	assert_int_equal(priority_of(&ends[0]), LOW + 1);
	assert_int_equal(told(&ends[0]), LOW + 1);
}

static void thread_is_ordinary_in_an_ordinary_program(void **state)
{
	(void)state;
	make_ends();
	assert_int_equal(priority_of(&ends[0]), 0);
	assert_int_equal(told(&ends[0]), 0);
}

/* The thread notices the class of a program when the program polls. */
static void thread_follows_who_polls(void **state)
{
	struct rn_cqe cqe;

	(void)state;
	make_ends();
	become_or_skip(SCHED_RR, LOW);
	for (unsigned i = 0; i < POLLS; i++)
		kit_poll(&ends[0], &cqe);
	assert_int_equal(priority_of(&ends[0]), LOW + 1);
	assert_int_equal(priority_of(&ends[1]), 0);
}

static void highest_priority_has_none_above_it(void **state)
{
	int most = sched_get_priority_max(SCHED_FIFO);

	(void)state;
	become_or_skip(SCHED_FIFO, most);
	make_ends();
	assert_int_equal(priority_of(&ends[0]), most);
}

/* The program reads memory in a loop without calls to the device, as ib_write_lat does.
 */
static void program_that_spins_is_served(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	cpu_set_t one, all;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	become_or_skip(SCHED_FIFO, HIGH);
	make_ends();
	assert_int_equal(pthread_setaffinity_np(b->e->thread, sizeof(one), &one), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (uint8_t i = 1; i <= 100; i++) {
		rn_ns start = rnp_engine_now();

		a->buf[0] = i;
		kit_post_send(a, RN_WR_RDMA_WRITE, 1, (uintptr_t)b->buf + 64);
		while (__atomic_load_n(&b->buf[64], __ATOMIC_ACQUIRE) != i)
			kit_not_forever(start);
		kit_await(a, RN_WC_SUCCESS);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/* ---------------------------------------------------------------- without the right */
static void set_capabilities(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };

	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* If the thread may not have the class, it runs with the inherited one, and this is
 * reported.
 */
static void refusal_is_told(void **state)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[2], has[2];
	struct rlimit none = { 0 }, limit;

	(void)state;
	become_or_skip(SCHED_RR, LOW);
	assert_int_equal(syscall(SYS_capget, &header, had), 0);
	memcpy(has, had, sizeof(has));
	has[0].effective &= ~(1u << CAP_SYS_NICE);
	assert_int_equal(getrlimit(RLIMIT_RTPRIO, &limit), 0);
	none.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_RTPRIO, &none), 0);
	set_capabilities(has);
	make_ends();
	set_capabilities(had);
	assert_int_equal(setrlimit(RLIMIT_RTPRIO, &limit), 0);
	assert_int_equal(priority_of(&ends[0]), LOW);
	assert_int_equal(told(&ends[0]), RN_STATS_REALTIME_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(thread_is_above_its_creator, end_all),
		cmocka_unit_test_teardown(thread_is_ordinary_in_an_ordinary_program,
					  end_all),
		cmocka_unit_test_teardown(thread_follows_who_polls, end_all),
		cmocka_unit_test_teardown(highest_priority_has_none_above_it, end_all),
		cmocka_unit_test_teardown(program_that_spins_is_served, end_all),
		cmocka_unit_test_teardown(refusal_is_told, end_all),
	};

	/* The test itself may run with any policy on a machine. */
	if (!become(SCHED_OTHER, 0))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
