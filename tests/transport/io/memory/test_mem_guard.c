/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mem_guard.c - faults of others reach who they would have reached without us.
 *
 * Each test runs in a child, since it changes what the process does with its signals.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

static const struct rn_mem_attr attr;
static sigjmp_buf escape;
static int seen_signal, seen_count;
static void *seen_addr;
static struct sigaction replaced;
static char *hole; /* an address where nothing is */

/* Exit status 0 means that the child found all as it should be. */
static int run_child(int (*body)(void))
{
	struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler, if any */
		signal(SIGBUS, SIG_DFL);
		hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define assert_exited_well(status)                        \
	do {                                              \
		assert_true(WIFEXITED(status));           \
		assert_int_equal(WEXITSTATUS(status), 0); \
	} while (0)

static bool device_faults(void)
{
	uint64_t word = 0;

	return rn_mem_direct_ops.write(NULL, (uintptr_t)hole, &word, 8, attr) ==
	       RN_MEM_FAULT;
}

static void touch_hole(void)
{
	*(volatile char *)hole = 1;
}

/* ------------------------------------------------------------------- handlers */
static void jump_out(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	seen_signal = sig;
	seen_addr = info->si_addr;
	seen_count++;
	siglongjmp(escape, 1);
}

static void jump_out_plain(int sig)
{
	seen_signal = sig;
	seen_count++;
	siglongjmp(escape, 1);
}

/* A program's handler that knows nothing of the fault and asks the one before it. */
static void ask_replaced(int sig, siginfo_t *info, void *ctx)
{
	seen_count++;
	if (seen_count > 3)
		_exit(9); /* the two handlers call each other */
	if (replaced.sa_flags & SA_SIGINFO)
		replaced.sa_sigaction(sig, info, ctx);
	else if (replaced.sa_handler == SIG_DFL)
		signal(sig, SIG_DFL);
}

static void set_handler(void (*fn)(int, siginfo_t *, void *), struct sigaction *old)
{
	struct sigaction act = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &act, old);
}

/* ---------------------------------------------------------------------- tests */
static int own_faults_body(void)
{
	set_handler(jump_out, NULL);
	if (rn_guard_install() || !device_faults() || seen_count != 0)
		return 1;
	if (sigsetjmp(escape, 1) == 0) {
		touch_hole();
		return 2;
	}
	if (seen_signal != SIGSEGV || seen_addr != hole || seen_count != 1)
		return 3;
	return device_faults() ? 0 : 4;
}

static void handler_of_the_program_gets_the_programs_faults_only(void **state)
{
	(void)state;
	assert_exited_well(run_child(own_faults_body));
}

static int plain_handler_body(void)
{
	struct sigaction act = { .sa_handler = jump_out_plain,
				 .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGSEGV, &act, NULL);
	if (rn_guard_install())
		return 1;
	if (sigsetjmp(escape, 1) == 0)
		touch_hole();
	if (seen_count != 1 || !device_faults())
		return 2;
	touch_hole(); /* the handler was good for one signal: this kills */
	return 3;
}

static void one_shot_handler_runs_once(void **state)
{
	int status = run_child(plain_handler_body);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static int default_body(void)
{
	if (rn_guard_install() || !device_faults())
		return 1;
	touch_hole();
	return 2;
}

static void default_action_still_kills(void **state)
{
	int status = run_child(default_body);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static int sent_body(void)
{
	if (rn_guard_install())
		return 1;
	kill(getpid(), SIGBUS);
	return 2;
}

static void signal_that_was_sent_still_kills(void **state)
{
	int status = run_child(sent_body);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

static int ignored_body(void)
{
	signal(SIGSEGV, SIG_IGN);
	if (rn_guard_install())
		return 1;
	kill(getpid(), SIGSEGV); /* ignored */
	if (!device_faults())
		return 2;
	touch_hole(); /* a fault cannot be ignored */
	return 3;
}

static void ignored_signal_is_ignored_if_sent_and_kills_if_a_fault(void **state)
{
	int status = run_child(ignored_body);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static int late_handler_body(void)
{
	if (rn_guard_install())
		return 1;
	set_handler(ask_replaced, &replaced); /* ours is behind it now ... */
	if (!device_faults() || seen_count != 1)
		return 2; /* ... and still found */
	seen_count = 0;
	if (rn_guard_install() || !device_faults() || seen_count != 0)
		return 3; /* in front again */
	touch_hole();
	return 4;
}

static void handler_that_replaced_ours_and_calls_it_is_no_endless_loop(void **state)
{
	int status = run_child(late_handler_body);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static int jumping_late_handler_body(void)
{
	if (rn_guard_install())
		return 1;
	for (unsigned round = 1; round <= 20; round++) {
		set_handler(jump_out, NULL);
		if (rn_guard_install())
			return 2;
		if (sigsetjmp(escape, 1) == 0)
			touch_hole();
		if (seen_count != (int)round || !device_faults())
			return 3;
	}
	return 0;
}

static void program_may_set_its_handler_again_and_again(void **state)
{
	(void)state;
	assert_exited_well(run_child(jumping_late_handler_body));
}

static int blocked_body(void)
{
	sigset_t all, after;

	if (rn_guard_install())
		return 1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (unsigned i = 0; i < 5; i++)
		if (!device_faults())
			return 2;
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	return sigismember(&after, SIGSEGV) == 1 ? 0 : 3;
}

/* A thread that blocks the signal of truncated files alone blocks it again afterwards,
 * and is not killed by it meanwhile, whatever has become of SIGSEGV.
 */
static int bus_blocked_body(void)
{
	struct rn_guard_thread thread = { 0 };
	struct rn_guard guard = { 0 };
	sigset_t bus, now;

	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &bus, NULL);
	rn_guard_unblock(&guard, &thread);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	if (sigismember(&now, SIGBUS) || !guard.unblocked || !thread.blocked)
		return 1;
	rn_guard_restore_mask(&guard);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGBUS) && !sigismember(&now, SIGSEGV) ? 0 : 2;
}

static void thread_that_blocks_sigbus_alone_counts_as_one_that_blocks(void **state)
{
	(void)state;
	assert_exited_well(run_child(bus_blocked_body));
}

/* What lies below the frames that are called next. */
static void __attribute__((noinline)) fill_stack(int with)
{
	volatile char room[8192];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)with;
}

/* The kernel knows 64 signals, sigset_t has room for 1024: sigaction() leaves the rest of
 * what it returns as it was.
 */
static void handler_is_known_again_whatever_lay_in_memory(void **state)
{
	(void)state;
	for (int i = 1; i <= 100; i++) {
		set_handler(jump_out, NULL);
		fill_stack(i);
		assert_int_equal(rn_guard_install(), 0);
	}
}

static void thread_that_blocks_the_signals_is_not_killed(void **state)
{
	(void)state;
	assert_exited_well(run_child(blocked_body));
}

static int mask_body(void)
{
	sigset_t before, after;

	if (rn_guard_install())
		return 1;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (unsigned i = 0; i < 100; i++)
		if (!device_faults())
			return 2;
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig < 32; sig++)
		if (sigismember(&before, sig) != sigismember(&after, sig))
			return 3;
	return 0;
}

static void fault_of_the_device_leaves_the_signal_mask_alone(void **state)
{
	(void)state;
	assert_exited_well(run_child(mask_body));
}

static int altstack_body(void)
{
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack), .ss_flags = 0 };
	stack_t now;

#ifdef SS_AUTODISARM
	ss.ss_flags = (int)SS_AUTODISARM;
#endif
	if (sigaltstack(&ss, NULL) || rn_guard_install() || !device_faults())
		return 1;
	if (!device_faults() || sigaltstack(NULL, &now))
		return 2;
	return now.ss_sp == stack && !(now.ss_flags & SS_DISABLE) ? 0 : 3;
}

static void alternate_stack_stays_in_place(void **state)
{
	(void)state;
	assert_exited_well(run_child(altstack_body));
}

/* Without a fault after it, by which the process would end likewise. */
static int ignored_alone_body(void)
{
	signal(SIGSEGV, SIG_IGN);
	if (rn_guard_install())
		return 1;
	kill(getpid(), SIGSEGV);
	return device_faults() ? 0 : 2;
}

static void a_signal_that_is_ignored_ends_nothing(void **state)
{
	(void)state;
	assert_exited_well(run_child(ignored_alone_body));
}

/* Return: 0 if the touch of @at under a guard of the first page of two was ours, or what
 * the program's handler has said by exit().
 */
static __attribute__((noinline)) int touch_guarded(const char *guarded, char *at)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return 0;
	}
	rn_guard_enter(&g, (uintptr_t)guarded, 4096);
	*(volatile char *)at = 1;
	rn_guard_leave(&g);
	return 1;
}

static void exit_well(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	(void)info;
	(void)ctx;
	_exit(0);
}

static int beside_body(void)
{
	char *pages = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_handler(exit_well, NULL);
	if (rn_guard_install() || touch_guarded(pages, pages + 4095))
		return 1;
	touch_guarded(pages, pages + 4096); /* of the program, in the middle of a copy */
	return 2;
}

static void a_fault_behind_the_guarded_range_is_the_programs(void **state)
{
	(void)state;
	assert_exited_well(run_child(beside_body));
}

static void count(int sig, siginfo_t *info, void *ctx)
{
	sigset_t mask;

	(void)info;
	(void)ctx;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	seen_count += sigismember(&mask, sig) ? 1 : 100;
}

/* @at is touched behind a signal that somebody sent. Return: as touch_guarded(). */
static __attribute__((noinline)) int interrupted_touch(char *at)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return seen_count == 1 ? 0 : 3;
	}
	/* All addresses: what was sent brings numbers of its sender in their place. */
	rn_guard_enter(&g, 0, (size_t)-8192);
	kill(getpid(), SIGSEGV);
	if (seen_count == 1)
		*(volatile char *)at = 1;
	rn_guard_leave(&g);
	return 4;
}

static int interrupted_body(void)
{
	set_handler(count, NULL);
	if (rn_guard_install())
		return 1;
	return interrupted_touch(hole);
}

/* With the signal blocked meanwhile, and the copy goes on under its guard. */
static void a_signal_sent_during_a_copy_reaches_the_program(void **state)
{
	(void)state;
	assert_exited_well(run_child(interrupted_body));
}

static bool open_page(uintptr_t addr)
{
	errno = EDOM;
	return mprotect((void *)(addr & ~(uintptr_t)4095), 4096,
			PROT_READ | PROT_WRITE) == 0;
}

static int errno_body(void)
{
	if (rn_guard_install())
		return 1;
	rn_guard_set_trap(open_page);
	errno = ENOTTY;
	touch_hole();
	return errno == ENOTTY ? 0 : 2;
}

static void a_fault_leaves_errno_alone(void **state)
{
	(void)state;
	assert_exited_well(run_child(errno_body));
}

/* ---- Where somebody sees the program's calls of sigaction(): the test does ---- */

static bool tells_behind; /* of what has been set */
static const struct rn_signal_watch *front;

rn_signal_watch_fn rocin_watch_signals;
int __real_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
int __wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

__attribute__((visibility("default"))) bool
rocin_watch_signals(const struct rn_signal_watch *watch)
{
	front = watch;
	return true;
}

int __wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int rc;

	if (front && !front->is_own() && front->take_action(sig, act, old))
		return 0;
	rc = __real_sigaction(sig, act, old);
	if (rc == 0 && act && tells_behind)
		rn_guard_renew(sig, act);
	return rc;
}

static void jump_out_by_2(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	(void)info;
	(void)ctx;
	siglongjmp(escape, 2);
}

/* Return: 1 if jump_out() had a fault of the program, 2 if jump_out_by_2(). */
static int who_answers(void)
{
	int who = sigsetjmp(escape, 1);

	if (who == 0)
		touch_hole();
	return who;
}

static int told_behind_body(void)
{
	tells_behind = true;
	if (rn_guard_install())
		return 1;
	set_handler(jump_out_by_2, NULL);
	if (!device_faults() || who_answers() != 2)
		return 2;
	set_handler(jump_out, &replaced);
	if (!device_faults() || who_answers() != 1)
		return 3;
	/* It puts back what it was told of: ours, and what was behind that. */
	sigaction(SIGSEGV, &replaced, NULL);
	if (!device_faults() || who_answers() != 2)
		return 4;
	return 0;
}

static void who_sets_a_handler_is_asked_until_it_puts_ours_back(void **state)
{
	(void)state;
	assert_exited_well(run_child(told_behind_body));
}

static int seen_in_front_body(void)
{
	struct sigaction now;

	rn_guard_watch(true);
	if (!front || rn_guard_install())
		return 1;
	set_handler(jump_out_by_2, NULL);
	set_handler(jump_out, &replaced);
	if (replaced.sa_sigaction != jump_out_by_2)
		return 2;
	/* However often ours is looked after, as it is now and then. */
	for (unsigned i = 0; i < 3; i++) {
		if (rn_guard_install() || sigaction(SIGSEGV, NULL, &now))
			return 3;
		if (now.sa_sigaction != jump_out)
			return 4;
		if (!device_faults() || who_answers() != 1)
			return 5;
	}
	return 0;
}

static void the_program_is_told_of_its_own_handlers(void **state)
{
	(void)state;
	assert_exited_well(run_child(seen_in_front_body));
}

/* As jump_out(), for one signal. */
static void set_once(struct sigaction *old)
{
	struct sigaction act = { .sa_sigaction = jump_out,
				 .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND) };

	sigaction(SIGSEGV, &act, old);
}

static bool is_default_now(void)
{
	struct sigaction now;

	return sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static int once_again_body(void)
{
	struct sigaction old;

	rn_guard_watch(true);
	if (!front || rn_guard_install())
		return 1;
	for (int round = 1; round <= 3; round++) {
		set_once(NULL);
		if (is_default_now() || who_answers() != 1 || seen_count != round)
			return 2;
		if (!is_default_now() || !device_faults())
			return 3;
	}
	/* Who sets it again is told what was in force, which is not what is now. */
	set_once(&old);
	if (old.sa_handler != SIG_DFL || is_default_now())
		return 4;
	set_once(&old);
	return old.sa_sigaction == jump_out ? 0 : 5;
}

static void a_one_shot_handler_that_is_set_again_runs_again(void **state)
{
	(void)state;
	assert_exited_well(run_child(once_again_body));
}

static int once_behind_body(void)
{
	set_once(NULL);
	if (rn_guard_install() || who_answers() != 1)
		return 1;
	set_handler(jump_out_by_2, &replaced); /* it is told of ours */
	if (rn_guard_install() || who_answers() != 2)
		return 2;
	rn_guard_watch(true);
	sigaction(SIGSEGV, &replaced, NULL);
	return is_default_now() ? 0 : 3;
}

/* Without us it would have been told of the default action. */
static void a_one_shot_handler_that_ran_does_not_come_back_with_ours(void **state)
{
	(void)state;
	assert_exited_well(run_child(once_behind_body));
}

/* As who starts programs does: the child shares our memory, and not our signals. */
static int vfork_body(void)
{
	int status = 0;
	pid_t pid;

	rn_guard_watch(true);
	if (!front || rn_guard_install())
		return 1;
	set_handler(jump_out, NULL);
	pid = vfork();
	if (pid == 0) {
		sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 2;
	return !is_default_now() && who_answers() == 1 && device_faults() ? 0 : 3;
}

static void a_vfork_child_leaves_the_handlers_of_its_parent_alone(void **state)
{
	(void)state;
	assert_exited_well(run_child(vfork_body));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handler_of_the_program_gets_the_programs_faults_only),
		cmocka_unit_test(one_shot_handler_runs_once),
		cmocka_unit_test(default_action_still_kills),
		cmocka_unit_test(signal_that_was_sent_still_kills),
		cmocka_unit_test(ignored_signal_is_ignored_if_sent_and_kills_if_a_fault),
		cmocka_unit_test(
			handler_that_replaced_ours_and_calls_it_is_no_endless_loop),
		cmocka_unit_test(program_may_set_its_handler_again_and_again),
		cmocka_unit_test(handler_is_known_again_whatever_lay_in_memory),
		cmocka_unit_test(thread_that_blocks_the_signals_is_not_killed),
		cmocka_unit_test(
			thread_that_blocks_sigbus_alone_counts_as_one_that_blocks),
		cmocka_unit_test(fault_of_the_device_leaves_the_signal_mask_alone),
		cmocka_unit_test(alternate_stack_stays_in_place),
		cmocka_unit_test(a_signal_that_is_ignored_ends_nothing),
		cmocka_unit_test(a_fault_behind_the_guarded_range_is_the_programs),
		cmocka_unit_test(a_signal_sent_during_a_copy_reaches_the_program),
		cmocka_unit_test(a_fault_leaves_errno_alone),
		cmocka_unit_test(who_sets_a_handler_is_asked_until_it_puts_ours_back),
		cmocka_unit_test(the_program_is_told_of_its_own_handlers),
		cmocka_unit_test(a_one_shot_handler_that_is_set_again_runs_again),
		cmocka_unit_test(
			a_one_shot_handler_that_ran_does_not_come_back_with_ours),
		cmocka_unit_test(a_vfork_child_leaves_the_handlers_of_its_parent_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
