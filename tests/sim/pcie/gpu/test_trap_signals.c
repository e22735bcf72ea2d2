/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_trap_signals.c - programs that set handlers of SIGSEGV while pages are closed. */
#include <signal.h>

#include "gpu_kit.h"
#include "sim/pcie/page/page.h"

enum {
	HANDLED = 7,
	PATIENCE = 300, /* seconds */
};

static char *volatile nowhere = (char *)64; /* NOLINT(performance-no-int-to-ptr) */

/*
 * In a child of fork(): another thread of the parent may have held the lock of the
 * address sanitizer's allocator, which an instrumented _exit() takes.
 */
#define IN_CHILD __attribute__((no_sanitize("address")))

IN_CHILD static void end_well(int sig)
{
	(void)sig;
	_exit(HANDLED);
}

IN_CHILD static void end_well_there(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	_exit(info->si_addr == nowhere ? HANDLED : 1);
}

static void crash(int sig)
{
	signal(sig, SIG_DFL); /* and the instruction again */
}

static void crash_by_raise(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

static struct rn_gpu_buffer b;

static int close_pages(void **state)
{
	(void)state;
	b = gpu_kit_alloc(0, 4096);
	gpu_kit_receive(0, b.bar, 5);
	return 0;
}

static int land(void **state)
{
	(void)state;
	gpu_kit_land_all();
	return rn_gpu_free(b.bar);
}

static void test_handler_by_sigaction(void **state)
{
	struct sigaction act = { .sa_handler = end_well }, before;

	(void)state;
	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	assert_int_equal(*(volatile uint64_t *)b.bar, 5);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
}

static void test_handler_by_signal(void **state)
{
	(void)state;
	assert_true(signal(SIGSEGV, end_well) != SIG_ERR);
	assert_int_equal(*(volatile uint64_t *)b.bar, 5);
	assert_true(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
	gpu_kit_receive(0, b.bar, 6);
	assert_int_equal(*(volatile uint64_t *)b.bar, 6);
}

/* How a child ends that calls @prepare and then meets a fault which is its own. */
static int end_of(void (*prepare)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(PATIENCE);
		signal(SIGSEGV, SIG_DFL); /* cmocka's would go on */
		prepare();
		*(volatile char *)nowhere = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void set(void)
{
	struct sigaction act = { .sa_sigaction = end_well_there, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &act, NULL);
}

static void set_and_put_back(void)
{
	struct sigaction act = { .sa_handler = end_well }, before;

	sigaction(SIGSEGV, &act, &before);
	sigaction(SIGSEGV, &before, NULL);
}

static void set_crash(void)
{
	signal(SIGSEGV, crash);
}

static void set_crash_by_raise(void)
{
	signal(SIGSEGV, crash_by_raise);
}

static void assert_killed(int status)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void test_faults_of_the_program(void **state)
{
	int status = end_of(set);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), HANDLED);
	assert_killed(end_of(set_and_put_back));
	assert_killed(end_of(set_crash));
	assert_killed(end_of(set_crash_by_raise));
}

#define T(name) cmocka_unit_test_setup_teardown(name, close_pages, land)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_handler_by_sigaction),
		T(test_handler_by_signal),
		T(test_faults_of_the_program),
	};

	rn_page_calls_link();
	return gpu_kit_run("typical" GPU_KIT_HELD, tests, RN_ARRAY_SIZE(tests));
}
