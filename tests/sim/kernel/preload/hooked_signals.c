/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooked_signals.c - who watches handlers and masks of signals hears of every change. */
#include "hooked.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "transport/io/memory/mem_guard.h"

/* Old programs use them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
	SIGBUS_BIT = 1 << (SIGBUS - 1), /* of sigblock() */
};

static unsigned masks, asked, renewed; /* calls of the watch */
static bool takes, is_own;	       /* what it answers */
static struct sigaction taken;	       /* what it has taken in the kernel's place */
static struct sigaction renewal;       /* what it was told of last */
static int renewed_sig;

static bool take_action(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction before = taken;

	(void)sig;
	asked++;
	if (takes && act)
		taken = *act;
	if (takes && old)
		*old = before;
	return takes;
}

static bool say_own(void)
{
	return is_own;
}

static void renew(int sig, const struct sigaction *act)
{
	renewed++;
	renewed_sig = sig;
	renewal = *act;
}

static void mask_changed(void)
{
	masks++;
}

static void start(void)
{
	static const struct rn_signal_watch watch = { take_action, say_own, renew,
						      mask_changed };
	const struct sigaction none = { .sa_handler = SIG_DFL };
	rn_signal_watch_fn *begin =
		(__typeof__(begin))dlsym(RTLD_DEFAULT, RN_SIGNAL_WATCH_SYMBOL);

	CHECK(begin);
	CHECK(begin(&watch));
	takes = is_own = false;
	taken = none;
	/* A sanitizer has handlers. */
	CHECK(!sigaction(SIGSEGV, &none, NULL));
	CHECK(!sigaction(SIGBUS, &none, NULL));
	masks = asked = renewed = 0;
}

/* -------------------------------------------------------------------------- masks */
#define TELLS(times, call)                         \
	do {                                       \
		unsigned before_ = masks;          \
                                                   \
		CHECK(call);                       \
		CHECK(masks - before_ == (times)); \
	} while (0)

static bool is_blocked(int sig)
{
	sigset_t set;

	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &set));
	return sigismember(&set, sig);
}

static void every_change_of_the_mask_is_told(void)
{
	sigset_t set, old;

	start();
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	TELLS(1, !sigprocmask(SIG_BLOCK, &set, &old));
	TELLS(1, !sigprocmask(SIG_SETMASK, &old, NULL));
	TELLS(1, !pthread_sigmask(SIG_BLOCK, &set, &old));
	TELLS(1, !pthread_sigmask(SIG_SETMASK, &old, NULL));
	TELLS(1, !(sigblock(SIGBUS_BIT) & SIGBUS_BIT));
	CHECK(is_blocked(SIGBUS));
	TELLS(1, sigsetmask(0) & SIGBUS_BIT);
	CHECK(!is_blocked(SIGBUS));
	TELLS(1, !sighold(SIGSEGV));
	CHECK(is_blocked(SIGSEGV));
	TELLS(1, !sigrelse(SIGSEGV));
	CHECK(!is_blocked(SIGSEGV));
	TELLS(1, sigset(SIGSEGV, SIG_HOLD) == SIG_DFL);
	CHECK(is_blocked(SIGSEGV));
	TELLS(1, sigset(SIGSEGV, SIG_DFL) == SIG_HOLD);
	CHECK(!is_blocked(SIGSEGV));
}

static void a_look_at_the_mask_is_not(void)
{
	sigset_t set;

	start();
	TELLS(0, !sigprocmask(SIG_BLOCK, NULL, &set));
	TELLS(0, !pthread_sigmask(SIG_SETMASK, NULL, &set));
}

/* What longjmp() is with _FORTIFY_SOURCE. */
_Noreturn void __longjmp_chk(struct __jmp_buf_tag env[1], int val);

static void (*const jumps[])(struct __jmp_buf_tag env[1], int val) = {
	siglongjmp,
	longjmp,
	_longjmp,
	__longjmp_chk,
};

/* Any may be called: whether a mask was saved is known of the place alone. */
static void so_is_a_jump_to_where_another_mask_was(void)
{
	volatile unsigned before, i;
	sigset_t set, old;
	sigjmp_buf env;
	int jumped;

	start();
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	for (i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		jumped = sigsetjmp(env, 1);
		if (!jumped) {
			CHECK(!sigprocmask(SIG_BLOCK, &set, &old));
			before = masks;
			jumps[i](env, 7);
		}
		CHECK(jumped == 7);
		CHECK(!is_blocked(SIGSEGV));
		CHECK(masks - before == 1);
	}
}

static ucontext_t here, there;
static volatile unsigned masks_there;

static void be_there(void)
{
	masks_there = masks;
}

/* Whoever comes back may be in another thread than before. */
static void so_is_a_change_of_the_context_before_and_after(void)
{
	static char stack[256 * 1024];
	volatile unsigned before;
	volatile bool was_here = false;

	start();
	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, be_there, 0);
	before = masks;
	CHECK(!swapcontext(&here, &there));
	CHECK(masks_there - before == 1);
	CHECK(masks - before == 2);

	before = masks;
	CHECK(!getcontext(&here));
	if (!was_here) {
		was_here = true;
		setcontext(&here);
	}
	CHECK(masks - before == 1);
}

/* ----------------------------------------------------------------------- handlers */
/* Of what the program does since the last call. */
static void check_told(unsigned asks, unsigned renewals)
{
	CHECK(asked == asks);
	CHECK(renewed == renewals);
	asked = renewed = 0;
}

#ifndef __SANITIZE_THREAD__
static void one(int sig)
{
	(void)sig;
}

static void two(int sig)
{
	(void)sig;
}

static void who_watches_may_take_the_handler_of_a_fault(void)
{
	struct sigaction act = { .sa_handler = one }, now, *volatile same = &act;

	start();
	takes = true;
	CHECK(!sigaction(SIGSEGV, &act, &now));
	CHECK(now.sa_handler == SIG_DFL);
	check_told(1, 1);
	CHECK(renewed_sig == SIGSEGV && renewal.sa_handler == one);
	/* Where the old one goes may be where the new one was. */
	act.sa_handler = two;
	CHECK(!sigaction(SIGBUS, &act, same));
	CHECK(act.sa_handler == one);
	check_told(1, 1);
	CHECK(renewed_sig == SIGBUS && renewal.sa_handler == two);
	CHECK(!sigaction(SIGSEGV, NULL, &now));
	CHECK(now.sa_handler == two);
	check_told(1, 0);
	/* The kernel has heard of none. */
	takes = false;
	CHECK(!sigaction(SIGSEGV, NULL, &now));
	CHECK(now.sa_handler == SIG_DFL);
}

static void what_it_does_not_take_the_kernel_gets(void)
{
	struct sigaction act = { .sa_handler = one }, now;

	start();
	CHECK(!sigaction(SIGBUS, &act, NULL));
	check_told(1, 1);
	CHECK(!sigaction(SIGBUS, NULL, &now));
	CHECK(now.sa_handler == one);
	check_told(1, 0);
	is_own = true; /* its own calls are not told to others */
	act.sa_handler = SIG_DFL;
	CHECK(!sigaction(SIGBUS, &act, &now));
	CHECK(now.sa_handler == one);
	check_told(1, 0);
}

static void other_signals_are_the_programs(void)
{
	struct sigaction act = { .sa_handler = one }, now;

	start();
	takes = true;
	CHECK(!sigaction(SIGUSR1, &act, NULL));
	CHECK(signal(SIGUSR1, two) == one);
	CHECK(sysv_signal(SIGUSR1, one) == two);
	CHECK(sigset(SIGUSR1, two) == one);
	CHECK(!sigignore(SIGUSR1));
	CHECK(!sigaction(SIGUSR1, NULL, &now));
	CHECK(now.sa_handler == SIG_IGN);
	check_told(0, 0);
}

/* Each as its manual says: restarting, or once and not blocked, or plain. */
static void every_way_to_set_a_handler_comes_here(void)
{
	const unsigned looked_at = (unsigned)SA_RESTART | SA_RESETHAND | SA_NODEFER;

	start();
	takes = true;
	CHECK(signal(SIGSEGV, one) == SIG_DFL);
	check_told(1, 1);
	CHECK(taken.sa_handler == one && sigismember(&taken.sa_mask, SIGSEGV));
	CHECK(((unsigned)taken.sa_flags & looked_at) == SA_RESTART);
	CHECK(ssignal(SIGSEGV, two) == one);
	check_told(1, 1);
	CHECK(sysv_signal(SIGSEGV, one) == two);
	check_told(1, 1);
	CHECK(taken.sa_handler == one && !sigismember(&taken.sa_mask, SIGSEGV));
	CHECK(((unsigned)taken.sa_flags & looked_at) ==
	      ((unsigned)SA_RESETHAND | SA_NODEFER));
	CHECK(sigset(SIGSEGV, two) == one);
	check_told(1, 1);
	CHECK(taken.sa_handler == two && sigismember(&taken.sa_mask, SIGSEGV));
	CHECK(((unsigned)taken.sa_flags & looked_at) == 0);
	CHECK(sigset(SIGSEGV, SIG_HOLD) == two);
	check_told(1, 0);
	CHECK(sigset(SIGSEGV, SIG_HOLD) == SIG_HOLD);
	check_told(1, 0);
	CHECK(!sigrelse(SIGSEGV));
	CHECK(!sigignore(SIGSEGV));
	check_told(1, 1);
	CHECK(taken.sa_handler == SIG_IGN);
}

#endif

/* -------------------------------------------------------------------- who watches */
/* They stay, so this is the last check. */
static void so_many_may_watch_and_nobody_twice(void)
{
	static const struct rn_signal_watch idle[RN_SIGNAL_WATCHES];
	rn_signal_watch_fn *begin =
		(__typeof__(begin))dlsym(RTLD_DEFAULT, RN_SIGNAL_WATCH_SYMBOL);
	struct sigaction act = { .sa_handler = SIG_DFL };

	start();
	for (unsigned i = 1; i < RN_SIGNAL_WATCHES; i++) {
		CHECK(begin(&idle[i]));
		CHECK(begin(&idle[i]));
	}
	CHECK(!begin(&idle[0]));
	start(); /* which is among them */
	/* They want to hear of nothing. */
	CHECK(!sigaction(SIGSEGV, &act, NULL));
	check_told(1, 1);
	TELLS(1, !sigrelse(SIGSEGV));
}

const struct check signal_checks[] = {
	{ "every_change_of_the_mask_is_told", every_change_of_the_mask_is_told },
	{ "a_look_at_the_mask_is_not", a_look_at_the_mask_is_not },
	{ "so_is_a_jump_to_where_another_mask_was",
	  so_is_a_jump_to_where_another_mask_was },
	{ "so_is_a_change_of_the_context_before_and_after",
	  so_is_a_change_of_the_context_before_and_after },
#ifndef __SANITIZE_THREAD__ /* which sets handlers of its own in their place */
	{ "who_watches_may_take_the_handler_of_a_fault",
	  who_watches_may_take_the_handler_of_a_fault },
	{ "what_it_does_not_take_the_kernel_gets",
	  what_it_does_not_take_the_kernel_gets },
	{ "other_signals_are_the_programs", other_signals_are_the_programs },
	{ "every_way_to_set_a_handler_comes_here",
	  every_way_to_set_a_handler_comes_here },
#endif
	{ "so_many_may_watch_and_nobody_twice", so_many_may_watch_and_nobody_twice },
	{ NULL, NULL },
};
