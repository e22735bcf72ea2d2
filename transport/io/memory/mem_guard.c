/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_guard.c - handles SIGSEGV and SIGBUS, in front of the program's own handlers.
 *
 * The handler does not jump. It changes the interrupted context so that the thread
 * continues in land(), and returns. So the kernel restores the signal mask and the
 * alternate stack (SS_AUTODISARM) before the guarded function is left.
 *
 * "Our handler" is the one in this file. Handlers that the program has set form a chain,
 * newest first. A handler of the program that replaced our handler usually passes signals
 * on to it: on_chain() notices that and calls the next older one, so no two handlers call
 * each other for ever.
 *
 * If a library intercepts the program's calls of sigaction() (mem_guard.h), our handler
 * stays the one that the kernel knows: what the program sets is put behind it, and is
 * reported when the program asks. Without such a library, our handler is put back in
 * front only from time to time (rn_guard_install()). To check before each access whether
 * it is still there would cost 0.25 us of system call for each signal and as much for
 * the mask, while an access takes 0.02 us; by process_vm_writev() an access takes 0.6 to
 * 1.5 us.
 */
#include "mem_guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	/* number of different handlers of the program that can be recorded */
	CHAIN_MAX = 64,
	KERNEL_MASK = _NSIG / 8, /* bytes of a signal mask */
	/* Number of accesses between two reads of the signal mask; a read takes 0.2 us.
	 */
	REFRESH_EVERY = 1024,
};

struct chained {
	struct sigaction act;
	/* next older handler of the program; NULL: behind it is only the default action
	 */
	struct chained *older;
	/* value of @newest of the signal before this entry last became the newest */
	_Atomic(struct chained *) before;
	_Atomic bool spent;    /* the handler has SA_RESETHAND and has run once */
	_Atomic bool complete; /* @act and @older are valid */
};

struct guarded_signal {
	int sig;
	_Atomic unsigned count; /* entries of pool in use */
	struct chained pool[CHAIN_MAX];
	/* The newest handler of the program. Threads that set a handler write this;
	 * signal handlers read it in any thread. @act and @older of an entry are
	 * complete before @newest points to it, and do not change afterwards.
	 */
	_Atomic(struct chained *) newest;
};

static struct guarded_signal signals[] = { { .sig = SIGSEGV }, { .sig = SIGBUS } };
static atomic_flag installing = ATOMIC_FLAG_INIT;
static _Atomic bool ready;
static _Atomic pid_t owner; /* the process that has installed the handlers */
static _Atomic(rn_guard_trap_fn *) trap;

__thread struct rn_guard_thread rn_guard_thread;

static struct guarded_signal *find_signal(int sig)
{
	return &signals[sig == SIGBUS];
}

/* Set the kernel's action for @sig. While rn_guard_thread.is_setting is true, a library
 * that intercepts sigaction() knows that the call does not come from the program. Return:
 * as sigaction().
 */
static int set_action(int sig, const struct sigaction *act)
{
	struct rn_guard_thread *t = &rn_guard_thread;
	bool outer = t->is_setting;
	int rc;

	t->is_setting = true;
	rc = sigaction(sig, act, NULL);
	t->is_setting = outer;
	return rc;
}

/* ------------------------------------ continuing behind the guarded access */
static _Noreturn void __attribute__((no_sanitize("thread"))) land(void)
{
	RN_GUARD_JUMP(rn_guard_thread.current);
}

/* Make the interrupted thread continue in land() as if it had called that function. */
static bool redirect(ucontext_t *uc)
{
#if defined(__x86_64__)
	greg_t *reg = uc->uc_mcontext.gregs;

	reg[REG_RIP] = (greg_t)(uintptr_t)land;
	reg[REG_RSP] = ((reg[REG_RSP] - 128) & ~(greg_t)15) - 8;
	/* Clears the direction flag, which has to be clear at the start of a function. */
	reg[REG_EFL] &= ~(greg_t)0x400;
	return true;
#elif defined(__aarch64__)
	uc->uc_mcontext.pc = (uintptr_t)land;
	uc->uc_mcontext.sp &= ~(uintptr_t)15;
	return true;
#else
	(void)uc;
	return false;
#endif
}

/* Bits of an address by which the processor finds memory. On arm64 it ignores the top
 * byte of an address, which programs may use as a tag, and the kernel reports the address
 * of a fault without it.
 */
#if defined(__aarch64__)
#define ADDRESS_BITS (((uintptr_t)1 << 56) - 1)
#else
#define ADDRESS_BITS UINTPTR_MAX
#endif

static bool is_guarded(const struct rn_guard *g, const siginfo_t *info)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	/* @info->si_code <= 0: the signal was sent by kill() or the like, and is not a
	 * fault
	 */
	if (!g || info->si_code <= 0)
		return false;
	/* For a non-canonical address the kernel reports SI_KERNEL and no address. */
	return info->si_code == SI_KERNEL ||
	       ((at - g->lo) & ADDRESS_BITS) < g->hi - g->lo;
}

/* ------------------------------------------------- handlers of the program */
static void take_default(int sig, siginfo_t *info)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	long tid = syscall(SYS_gettid);

	set_action(sig, &dfl);
	if (info->si_code > 0)
		/* the instruction faults again, with the default action in force now */
		return;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, sig, info) < 0)
		syscall(SYS_tgkill, getpid(), tid, sig);
}

/* Handle the signal as the kernel would if the action @c->act were in force. */
static void deliver_signal(struct chained *c, int sig, siginfo_t *info, void *ctx)
{
	const struct sigaction *act = &c->act;
	sigset_t mask = act->sa_mask;

	if (act->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN ||
	    (act->sa_flags & (int)SA_RESETHAND && atomic_exchange(&c->spent, true))) {
		take_default(sig, info);
		return;
	}

	if (!(act->sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	/* the old mask comes back when the signal handler returns */
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (act->sa_flags & SA_SIGINFO)
		act->sa_sigaction(sig, info, ctx);
	else
		act->sa_handler(sig);
}

/* Return: true if a handler of the program, which this file has called, passes the
 * signal on to this file's handler: siginfo is the same, and the stack is deeper. (If
 * that handler had jumped out, a new signal would have another siginfo, or a frame that
 * is not deeper.)
 */
static bool on_chain(const struct rn_guard_thread *t, const siginfo_t *info,
		     const char *here)
{
	return t->chain_info == info && here < t->chain_frame;
}

static void pass_on(int sig, siginfo_t *info, void *ctx)
{
	struct rn_guard_thread *t = &rn_guard_thread;
	struct rn_guard_thread outer = *t;
	const char *here = __builtin_frame_address(0);
	struct chained *c = on_chain(t, info, here)
				    ? t->chain_next
				    : atomic_load(&find_signal(sig)->newest);

	if (!c) {
		take_default(sig, info);
		return;
	}
	t->chain_info = info;
	t->chain_frame = here;
	t->chain_next = c->older;
	/* the guard ends now, because the program's handler may never return */
	t->current = NULL;
	deliver_signal(c, sig, info, ctx);
	*t = outer;
}

static bool was_store(const ucontext_t *uc)
{
#if defined(__x86_64__)
	/* Bit 1 of the page-fault error code is set if the access was a write. */
	return (uc->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
	(void)uc;
	return false;
#endif
}

bool rn_guard_is_store(void)
{
	return rn_guard_thread.is_store;
}

void *rn_guard_context(void)
{
	return rn_guard_thread.context;
}

static bool is_trapped(int sig, const siginfo_t *info, ucontext_t *uc)
{
	rn_guard_trap_fn *fn = atomic_load_explicit(&trap, memory_order_acquire);

	if (!fn || sig != SIGSEGV || info->si_code <= 0)
		return false;
	rn_guard_thread.is_store = was_store(uc);
	rn_guard_thread.context = uc;
	return fn((uintptr_t)info->si_addr);
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	int saved = errno;

	if (is_trapped(sig, info, ctx)) {
		; /* the faulting instruction runs again */
	} else if (is_guarded(rn_guard_thread.current, info)) {
		if (!redirect(ctx))
			land();
	} else {
		pass_on(sig, info, ctx);
	}
	errno = saved;
}

/* -------------------------------------------------- installing the handler */
static bool is_ours(const struct sigaction *act)
{
	return act->sa_flags & SA_SIGINFO && act->sa_sigaction == on_fault;
}

/* Compare two actions. Of the masks, only the bytes that the kernel uses are compared,
 * because sigaction() does not write the rest.
 */
static bool is_same_action(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
	       memcmp(&a->sa_mask, &b->sa_mask, KERNEL_MASK) == 0;
}

static unsigned known_entries(struct guarded_signal *s)
{
	unsigned count = atomic_load(&s->count);

	return count < CHAIN_MAX ? count : CHAIN_MAX;
}

/* Find the entry for the action @act, or add one. An action may get two entries if two
 * threads add it at the same time, or a signal handler interrupts this function. Return:
 * the entry; NULL if there is none and none is free.
 */
static struct chained *remember(struct guarded_signal *s, const struct sigaction *act)
{
	struct chained *c;
	unsigned i;

	for (i = 0; i < known_entries(s); i++)
		if (atomic_load(&s->pool[i].complete) &&
		    is_same_action(&s->pool[i].act, act))
			return &s->pool[i];
	i = i < CHAIN_MAX ? atomic_fetch_add(&s->count, 1) : CHAIN_MAX;
	if (i >= CHAIN_MAX)
		return NULL;
	c = &s->pool[i];
	c->act = *act;
	c->older = atomic_load(&s->newest);
	atomic_store(&c->complete, true);
	return c;
}

/* Read the action that the kernel has for @sig; a library that intercepts sigaction()
 * would report another one. Return: 0; or -1 with errno.
 */
static int get_action(int sig, struct sigaction *found)
{
	struct rn_guard_thread *t = &rn_guard_thread;
	bool outer = t->is_setting;
	int rc;

	t->is_setting = true;
	rc = sigaction(sig, NULL, found);
	t->is_setting = outer;
	return rc;
}

static int install_one(struct guarded_signal *s)
{
	struct sigaction ours = { .sa_sigaction = on_fault,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction found;
	struct chained *c;

	if (get_action(s->sig, &found) < 0)
		return -errno;
	if (is_ours(&found))
		return 0;
	c = remember(s, &found);
	if (!c)
		return -ENOSPC;
	atomic_store(&c->spent, false);
	if (c != atomic_load(&s->newest))
		atomic_store(&c->before, atomic_load(&s->newest));
	atomic_store(&s->newest, c);
	return set_action(s->sig, &ours) < 0 ? -errno : 0;
}

int rn_guard_install(void)
{
	int err = 0;

	/* A flag, not a mutex: in the child of a fork by another thread, a mutex could
	 * be locked for ever.
	 */
	if (atomic_flag_test_and_set(&installing))
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(signals) && !err; i++)
		err = install_one(&signals[i]);
	atomic_store(&owner, getpid());
	atomic_store(&ready, err == 0);
	atomic_flag_clear(&installing);
	return err;
}

/* ------------------------------------------ calls of sigaction() by the program */
/* Write to @old the action of @c as sigaction() would report it if this file had no
 * handler. @is_spent: the action had SA_RESETHAND and has run, so the kernel would have
 * reset it.
 */
static void show_action(const struct chained *c, bool is_spent, struct sigaction *old)
{
	*old = c->act;
	if (is_spent)
		old->sa_handler = SIG_DFL;
}

/* Return: true if the kernel calls the handler of this file first, in front of the
 * program's. False in a child process, which may share the memory (vfork) and has no
 * device.
 */
static bool is_in_front(const struct guarded_signal *s)
{
	return !rn_guard_thread.is_setting && atomic_load(&ready) &&
	       atomic_load(&s->newest) && atomic_load(&owner) == getpid();
}

static bool take_action(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct guarded_signal *s = find_signal(sig);
	struct chained *c, *was;
	bool is_spent;

	if (!is_in_front(s))
		return false;
	was = atomic_load(&s->newest);
	/* The program had got this file's handler from sigaction() before its calls were
	 * intercepted, and restores it now. So the handler of the program that was the
	 * newest before becomes the newest again.
	 */
	if (act && is_ours(act)) {
		c = atomic_load(&was->before) ? atomic_load(&was->before) : was;
	} else {
		c = act ? remember(s, act) : was;
	}
	/* All entries are in use, so the kernel calls the program's handler in place of
	 * this file's. From now on copies are made by system calls, which are slow.
	 */
	if (!c) {
		atomic_store(&ready, false);
		return false;
	}
	is_spent = atomic_load(&c->spent);
	if (act) {
		/* A handler with SA_RESETHAND that is set again can run again. But if
		 * the program sets this file's handler, the program's handler behind
		 * that stays marked as spent.
		 */
		if (!is_ours(act))
			atomic_store(&c->spent, false);
		was = atomic_exchange(&s->newest, c);
	}
	if (old)
		show_action(was, was == c ? is_spent : atomic_load(&was->spent), old);
	return true;
}

static bool is_own(void)
{
	return rn_guard_thread.is_setting;
}

static void mask_changed(void)
{
	rn_guard_thread.until_refresh = 0;
}

/* Only one copy of this file in a process may have @first = true. With two, the handler
 * of one copy would be behind that of the other.
 */
void rn_guard_watch(bool first)
{
	static const struct rn_signal_watch front = { .take_action = take_action,
						      .is_own = is_own,
						      .mask_changed = mask_changed };
	static const struct rn_signal_watch behind = { .renew = rn_guard_renew,
						       .is_own = is_own,
						       .mask_changed = mask_changed };
	void *at = dlsym(RTLD_DEFAULT, RN_SIGNAL_WATCH_SYMBOL);
	rn_signal_watch_fn *watch;

	if (!at)
		return;
	/* ISO C has no cast from an object pointer to a function pointer. */
	memcpy(&watch, &at, sizeof(watch));
	(void)watch(first ? &front : &behind);
}

void rn_guard_renew(int sig, const struct sigaction *act)
{
	struct guarded_signal *s = find_signal(sig);
	struct chained *newest = atomic_load(&s->newest);
	struct chained *before = newest ? atomic_load(&newest->before) : NULL;
	int saved = errno;

	if (!newest || rn_guard_thread.is_setting)
		return;
	if (!is_ours(act))
		(void)rn_guard_install();
	else if (before)
		atomic_store(&s->newest, before);
	errno = saved;
}

void rn_guard_set_trap(rn_guard_trap_fn *fn)
{
	atomic_store_explicit(&trap, fn, memory_order_release);
}

bool rn_guard_ready(void)
{
	return atomic_load_explicit(&ready, memory_order_relaxed);
}

/* ------------------------------------------------ signal mask of the thread */
void rn_guard_unblock(struct rn_guard *g, struct rn_guard_thread *t)
{
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGSEGV);
	sigaddset(&both, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &both, &g->mask);
	t->blocked = sigismember(&g->mask, SIGSEGV) || sigismember(&g->mask, SIGBUS);
	g->unblocked = t->blocked;
	t->until_refresh = REFRESH_EVERY;
}

void rn_guard_restore_mask(const struct rn_guard *g)
{
	pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}
