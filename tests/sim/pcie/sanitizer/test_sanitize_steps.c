/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_steps.c - single steps: as many as a thread needs, and a SIGTRAP that is
 * not ours.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sanitize_kit.h"
#include "sim/pcie/page/page.h"
#include "sim/pcie/sanitizer/sanitize_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	PAGE = 4096,
	KEY = 0x500,
	MANY = 5000,
};

/* ------------------------------------------------------ a SIGTRAP of the program's */
static void end_with_7(int sig)
{
	_exit(sig == SIGTRAP ? 7 : 8);
}

static void end_with_9(int sig, siginfo_t *info, void *context)
{
	_exit(sig == SIGTRAP && info && context ? 9 : 8);
}

static void send_it(void)
{
	raise(SIGTRAP);
}

static void break_point(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int3");
#endif
}

/* A process that has @theirs in place when the sanitizer begins. */
static int status_of_trap(const struct sigaction *theirs, void (*cause)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		sigaction(SIGTRAP, theirs, NULL);
		rn_page_step_init(NULL);
		cause();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_signals_of_others_are_passed_on(void **state)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	const struct sigaction plain = { .sa_handler = end_with_7 };
	const struct sigaction with_info = { .sa_sigaction = end_with_9,
					     .sa_flags = SA_SIGINFO };
	static void (*const causes[])(void) = { send_it, break_point };
	int status;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(causes); i++) {
		status = status_of_trap(&usual, causes[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
		status = status_of_trap(&plain, causes[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		status = status_of_trap(&with_info, causes[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	}
	/* Only what was sent can be ignored. */
	status = status_of_trap(&ignored, send_it);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = status_of_trap(&ignored, break_point);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

/* ------------------------------------------------------------------ how many */
static struct kit_nic nic;
static volatile uint64_t *word; /* a page, registered */

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_ptr_not_equal(word, MAP_FAILED);
	assert_int_equal(nic.api->region_add(nic.nic, KEY, kit_iova(word), PAGE, 0xf), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_pcie_drain();
	nic.api->region_remove(nic.nic, KEY);
	munmap((void *)word, PAGE);
	kit_detach(&nic);
	return 0;
}

/* Data for word 9 is on its way: the page is closed. */
static void send_word(void)
{
	static uint32_t msg;

	rn_guard_install(); /* cmocka has put handlers before it */
	san_data(&nic, QP, ++msg, (void *)&word[9], 1, 0);
}

/* Is a load of the data seen behind one of other bytes of its page? */
static bool is_seen_behind_another(void)
{
	unsigned long long before = san_occurrences();

	assert_int_equal(word[10], 0);
	assert_int_equal(word[9], 0);
	return san_occurrences() > before;
}

/* However many loads of other bytes come before it. */
static void test_none_is_missed(void **state)
{
	(void)state;
	send_word();
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(word[10], 0);
	assert_true(is_seen_behind_another());
}

/* A load of word 9 by the CPU, which finds a write pending. Returns true if it is taken
 * for one of a loop.
 */
static bool is_of_loop(void)
{
	static const struct rn_tlp write = { .kind = RN_TLP_WRITE,
					     .requester = RN_AGENT_NIC };
	const uintptr_t at = (uintptr_t)&word[9];
	const struct rn_san_read load = { .reader = RN_AGENT_CPU,
					  .addr = at,
					  .len = 1,
					  .stack = 1,
					  .pending = 1U << RN_SAN_CLASS_GIVEN,
					  .by = { [RN_SAN_CLASS_GIVEN] = &write } };
	struct rn_host *h = rn_host_get();
	bool is_it;

	rn_host_lock(h);
	is_it = rn_san_candidate_note(&load, at);
	rn_host_unlock(h);
	return is_it;
}

/* The page was closed again, by a write that came between the fault and the step. */
static void test_to_fault_anew_is_not_to_come_back(void **state)
{
	struct rn_host *h = rn_host_get();

	(void)state;
	assert_false(is_of_loop());
	assert_false(is_of_loop());
	rn_san_candidate_executed();
	rn_host_lock(h);
	rn_san_candidate_ran(rn_page_down((uintptr_t)word));
	rn_host_unlock(h);
	assert_true(is_of_loop());
}

/* Returns how often @text stands in what has been written to @file. */
static unsigned count_text(FILE *file, const char *text)
{
	static char all[4096];
	unsigned n = 0;

	rewind(file);
	all[fread(all, 1, sizeof(all) - 1, file)] = '\0';
	for (const char *at = all; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* A thread that blocks SIGTRAP cannot be stepped, and is told of that at its first load.
 */
static void test_what_cannot_be_stepped_is_said_once(void **state)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	sigset_t trap, mask;

	(void)state;
	assert_non_null(file);
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	assert_int_equal(sigprocmask(SIG_BLOCK, &trap, &mask), 0);
	assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
	for (unsigned i = 0; i < 3; i++) {
		send_word();
		(void)word[10];
		rn_pcie_drain();
	}
	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
	assert_int_equal(count_text(file, "a thread of the program blocks SIGTRAP"), 1);
	close(before);
	fclose(file);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_of_others_are_passed_on),
		cmocka_unit_test_setup_teardown(test_none_is_missed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_to_fault_anew_is_not_to_come_back,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_stepped_is_said_once,
						set_up, tear_down),
	};

#if !defined(__x86_64__)
	return 77; /* no single steps */
#endif
	san_begin("adversarial" SAN_STILL, "all");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
