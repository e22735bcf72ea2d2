/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_guard.h - access the program's memory and survive if it is not there any more.
 *
 * A registered range may have been unmapped, or its file truncated, by the time the
 * device writes to it. The copy then faults, in whichever thread makes progress. A
 * handler of SIGSEGV and SIGBUS ends the copy if the fault lies in the range that this
 * thread has marked; every other signal is passed to the handler that was there before,
 * as the kernel would have delivered it.
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

/* clang knows __builtin_setjmp() only on some machines. It is cheaper than _setjmp(),
 * because the compiler itself saves the registers that it needs.
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
	/* First byte and one past the last byte, rounded to whole pages. */
	uintptr_t lo, hi;
	bool unblocked; /* the thread had the signals blocked: @mask has to be restored */
	sigset_t mask;
};

/* Install the handler, or put it back in front if the program has replaced it. To be
 * called when memory is registered, and now and then.
 *
 * Return: 0; -ENOSPC if the program has replaced the handler too often; or the
 * error of sigaction(). After an error rn_guard_ready() is false, and the caller
 * copies by other means.
 */
int rn_guard_install(void);

bool rn_guard_ready(void);

/* The program has successfully set @act for SIGSEGV or SIGBUS. Put our handler in front
 * of it; or, if the program has put our handler back, forget the newest handler that was
 * found in front. Does nothing while this thread is in a call of sigaction() from here.
 * Called by the library that intercepts such calls; async-signal-safe.
 */
void rn_guard_renew(int sig, const struct sigaction *act);

/* If a library intercepts the program's calls of sigaction() and of functions that change
 * signal masks, register with it. From then on no such call takes our handler away, and a
 * thread that has blocked the signals is noticed at its next access. @first: the handler
 * of this copy of the file is the one that the kernel has; otherwise it is put in front
 * again after each such call. To be called once, not in a signal handler.
 */
void rn_guard_watch(bool first);

/* Called first at every SIGSEGV, in the handler; returns true if the faulting instruction
 * is to run again. One function per copy of this file; it must not fault itself.
 */
typedef bool rn_guard_trap_fn(uintptr_t addr);
void rn_guard_set_trap(rn_guard_trap_fn *fn);

/* For use in a function of type rn_guard_trap_fn: was the faulting access a store?
 * False if the machine does not tell. And the context that the signal handler was
 * given (ucontext_t).
 */
bool rn_guard_is_store(void);
void *rn_guard_context(void);

/* State of one thread; private to the two functions below and mem_guard.c. */
struct rn_guard_thread {
	struct rn_guard *current; /* guard of the access in progress, or NULL */
	uint32_t until_refresh;	  /* accesses until the signal mask is checked again */
	bool blocked;		  /* the thread has blocked one of the signals */
	bool is_setting;	  /* in a call of sigaction() from mem_guard.c */
	bool is_store;		  /* the last fault was caused by a store */
	void *context;		  /* ucontext_t of the last fault */
	/* Position in the chain of older handlers, while one of them runs;
	 * see on_chain().
	 */
	const siginfo_t *chain_info;
	const char *chain_frame;
	void *chain_next;
};

/* Initial-exec, because accessing it in a signal handler must not allocate memory. */
extern __thread struct rn_guard_thread rn_guard_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Check whether the thread has the signals blocked, and if so unblock them for @g. */
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

/* To be called after an access, also after a fault. */
static inline void rn_guard_leave(const struct rn_guard *g)
{
	__asm__ volatile("" ::: "memory");
	rn_guard_thread.current = NULL;
	if (g->unblocked)
		rn_guard_restore_mask(g);
}

#endif /* RN_MEM_GUARD_H */
