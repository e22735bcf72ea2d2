/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_guard.h - accesses memory of the program, and survives if it is unmapped.
 *
 * A registered range may have been unmapped, or its file truncated, by the time the
 * device writes to it. The copy then faults, in whichever thread makes progress. A
 * handler of SIGSEGV and SIGBUS ends the copy if the fault lies in the range that this
 * thread has marked. It passes every other signal to the program's handler, as the
 * kernel would have delivered it.
 *
 * Use, in a function of its own:
 *
 *   struct rn_guard g;
 *
 *   if (RN_GUARD_FAULTED(&g)) {
 *           rn_guard_leave(&g);
 *           return RN_MEM_FAULT;
 *   }
 *   rn_guard_enter(&g, addr, len);
 *   ... access [addr, addr + len) ...
 *   rn_guard_leave(&g);
 *
 * A local variable that is changed after RN_GUARD_FAULTED() has an undefined value in the
 * branch taken after a fault. Guards do not nest.
 *
 * Threads: any. If a thread has blocked the two signals, they are unblocked during the
 * access: the kernel kills a process whose fault cannot be delivered.
 */
#ifndef RN_MEM_GUARD_H
#define RN_MEM_GUARD_H

#include <signal.h>

#include "rocin/types.h"

/* RN_GUARD_FAULTED() uses __builtin_setjmp(), which is cheaper than _setjmp(),
 * because the compiler saves only the registers that it needs. clang has it only on
 * some machines.
 */
#if defined(__x86_64__) || !defined(__clang__)
typedef void *rn_guard_jmp[5];
#define RN_GUARD_FAULTED(g) (__builtin_setjmp((g)->jmp) != 0)
#define RN_GUARD_JUMP(g) __builtin_longjmp((g)->jmp, 1)
#else
#include <setjmp.h>
typedef jmp_buf rn_guard_jmp;
#define RN_GUARD_FAULTED(g) ((g)->unblocked = false, _setjmp((g)->jmp) != 0)
#define RN_GUARD_JUMP(g) _longjmp((g)->jmp, 1)
#endif

struct rn_guard {
	rn_guard_jmp jmp;
	/* The range in which an access may fault, in whole pages. @lo: address of its
	 * first byte; @hi: address behind its last.
	 */
	uintptr_t lo, hi;
	/* the thread had the signals blocked; rn_guard_leave() restores @mask */
	bool unblocked;
	sigset_t mask;
};

/* Install the handler, or put it back in front if the program has replaced it. Called
 * when memory is registered, and from time to time.
 *
 * Return: 0; -ENOSPC if the program has set more different handlers than can be recorded;
 * or the error of sigaction(). After an error rn_guard_ready() is false, and the caller
 * copies by system calls instead.
 */
int rn_guard_install(void);

bool rn_guard_ready(void);

/* Called by the library that intercepts sigaction(), when the program has just set @act
 * for SIGSEGV or SIGBUS: puts the handler of mem_guard.c in front of it. If @act is that
 * handler itself, which the program has restored, forgets the newest of the program's
 * handlers instead. Does nothing while mem_guard.c itself calls sigaction() in this
 * thread. Async-signal-safe.
 */
void rn_guard_renew(int sig, const struct sigaction *act);

/* Register with the library that intercepts the program's calls of sigaction() and of
 * functions that change signal masks, if there is one. From then on no such call removes
 * the handler of mem_guard.c, and a thread that blocks the signals is noticed at its
 * next access. @first: the kernel always calls the handler of this copy of mem_guard.c;
 * false: this copy puts its handler in front again after each call of the program.
 * Called once, not in a signal handler.
 */
void rn_guard_watch(bool first);

/* A function that the handler calls first at each SIGSEGV, with the faulting address. It
 * returns true if the faulting instruction is to run again. Each copy of mem_guard.c in
 * the process can have one. The function itself must not fault.
 */
typedef bool rn_guard_trap_fn(uintptr_t addr);
void rn_guard_set_trap(rn_guard_trap_fn *fn);

/* For use in a function of type rn_guard_trap_fn. rn_guard_is_store() returns true if
 * the faulting access was a store, on machines that report that. rn_guard_context()
 * returns the ucontext_t of the signal handler.
 */
bool rn_guard_is_store(void);
void *rn_guard_context(void);

/* State of one thread; private to the two functions below and mem_guard.c. */
struct rn_guard_thread {
	struct rn_guard *current; /* guard of the access in progress, or NULL */
	/* number of further accesses before the signal mask is read again */
	uint32_t until_refresh;
	bool blocked; /* the thread has blocked one of the signals */
	/* mem_guard.c calls sigaction() in this thread now */
	bool is_setting;
	bool is_store; /* the last fault was caused by a store */
	void *context; /* ucontext_t of the last fault */
	/* While one of the program's handlers runs: its siginfo and stack frame, by
	 * which a nested call is recognised; see on_chain() in mem_guard.c.
	 */
	const siginfo_t *chain_info;
	const char *chain_frame;
	void *chain_next;
};

/* The TLS model is initial-exec, because accessing the variable in a signal handler must
 * not allocate memory.
 */
extern __thread struct rn_guard_thread rn_guard_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Read the thread's signal mask and unblock SIGSEGV and SIGBUS. If one of them was
 * blocked, @g keeps the old mask for rn_guard_restore_mask().
 */
void rn_guard_unblock(struct rn_guard *g, struct rn_guard_thread *t);
void rn_guard_restore_mask(const struct rn_guard *g);

static inline void rn_guard_enter(struct rn_guard *g, uintptr_t addr, size_t len)
{
	struct rn_guard_thread *t = &rn_guard_thread;

	g->lo = addr & ~(uintptr_t)4095;
	g->hi = (addr + len + 4095) & ~(uintptr_t)4095;
	g->unblocked = false;
	if (t->blocked || t->until_refresh-- == 0)
		rn_guard_unblock(g, t);
	t->current = g;
	__asm__ volatile("" ::: "memory");
}

/* End the guarded access. Called after a fault, too. */
static inline void rn_guard_leave(const struct rn_guard *g)
{
	__asm__ volatile("" ::: "memory");
	rn_guard_thread.current = NULL;
	if (g->unblocked)
		rn_guard_restore_mask(g);
}

/* ------------------------------------------- the program's own signal handlers */
/* mem_guard.c and librocin-gpu install signal handlers that have to stay in front of
 * those of the program. The preloaded library that intercepts the program's calls
 * (sim/kernel) tells them when the program is about to set a handler. They register with
 * it when they are loaded.
 *
 * The library exports a function of type rn_signal_watch_fn under the name
 * RN_SIGNAL_WATCH_SYMBOL.
 */

#define RN_SIGNAL_WATCH_SYMBOL "rocin_watch_signals"

enum {
	/* maximum number of registrations; the plugin and librocin-gpu make them */
	RN_SIGNAL_WATCHES = 4,
};

/* Functions of the code that has registered. The library calls them in the thread of the
 * program that makes the call. They are async-signal-safe, and each may be NULL.
 */
struct rn_signal_watch {
	/* Called when the program calls sigaction() or a similar function. Return: true
	 * if this function has done what the program asked for, so that the kernel must
	 * not get the call.
	 */
	bool (*take_action)(int sig, const struct sigaction *act, struct sigaction *old);
	/* Return: true if the current call is made by the registered code itself, not by
	 * the program.
	 */
	bool (*is_own)(void);
	/* Called after the program has successfully set @act for the signal @sig. */
	void (*renew)(int sig, const struct sigaction *act);
	/* Called when the signal mask of this thread may have changed, or is about to
	 * change.
	 */
	void (*mask_changed)(void);
};

/* Register @watch, which must exist until the process ends. Return: false if
 * RN_SIGNAL_WATCHES are registered already.
 */
typedef bool rn_signal_watch_fn(const struct rn_signal_watch *watch);

#endif /* RN_MEM_GUARD_H */
