/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_guard.h - touch the program's memory and survive that it is gone.
 *
 * A registered range may have been unmapped, or its file truncated, by the time the
 * device writes to it. The copy then faults, in whatever thread makes progress. A handler
 * for SIGSEGV and SIGBUS ends the copy if the fault lies in the range that this thread
 * has marked; every other signal goes to the handler that was there before, as the kernel
 * would have delivered it.
 *
 * Use, in a function of its own:
 *
 *	struct rn_guard g;
 *
 *	if (RN_GUARD_FAULTED(&g)) {
 *		rn_guard_leave(&g);
 *		return RN_MEM_FAULT;
 *	}
 *	rn_guard_enter(&g, addr, len);
 *	... touch [addr, addr + len) ...
 *	rn_guard_leave(&g);
 *
 * A local variable that is changed after RN_GUARD_FAULTED() has no defined value in the
 * branch of the fault. Guards do not nest.
 *
 * Threads: any. A thread that has blocked the two signals gets them unblocked for the
 * time of the access: the kernel kills a process whose fault cannot be delivered.
 */
#ifndef RN_MEM_GUARD_H
#define RN_MEM_GUARD_H

#include <signal.h>

#include "rocin/types.h"

/* clang knows __builtin_setjmp() on some machines only. It is cheaper than _setjmp() by
 * the saving of registers that the compiler then does itself.
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
	uintptr_t lo, hi; /* first byte and one past the last, rounded out to pages */
	bool unblocked; /* the thread had the signals blocked: @mask is to be restored */
	sigset_t mask;
};

/* Put the handler in place, or put it back in front if the program has replaced it since.
 * Call when memory is registered, and now and then.
 *
 * Return: 0; -ENOSPC if the program has replaced the handler too often, or what
 *	   sigaction() failed with: rn_guard_ready() is false then, and the caller copies
 * by other means.
 */
int rn_guard_install(void);

bool rn_guard_ready(void);

/* The program has set @act for SIGSEGV or SIGBUS and succeeded: be in front of it, or, if
 * it has put our handler back, forget the newest that was found in front. Does nothing
 * while this thread is within a call of sigaction() from here. For who sees such calls;
 * async-signal-safe.
 */
void rn_guard_renew(int sig, const struct sigaction *act);

/* Let whoever sees the program's calls of sigaction() and of what changes signal masks,
 * if anybody does, tell of them: from now on no such call takes the handler away, and a
 * thread that has blocked the signals is known at its next access. @first: the handler of
 * this copy of the file is to be the one that the kernel has; else it is put in front
 * again behind each such call. To be called once, not in a signal handler.
 */
void rn_guard_watch(bool first);

/* Asked first at every SIGSEGV, in the handler: true if the instruction at fault shall
 * run again. One per copy of this file; it must not fault itself.
 */
typedef bool rn_guard_trap_fn(uintptr_t addr);
void rn_guard_set_trap(rn_guard_trap_fn *fn);

/* In that function: was the access at fault a store? false where the machine does not
 * tell. And the context that the handler was given (ucontext_t), to be gone on with.
 */
bool rn_guard_is_store(void);
void *rn_guard_context(void);

/* What one thread is doing; private to the two functions below and mem_guard.c. */
struct rn_guard_thread {
	struct rn_guard *current; /* accesses under way, or NULL */
	uint32_t until_refresh;	  /* accesses until the signal mask is looked at again */
	bool blocked;		  /* the thread has blocked one of the signals */
	bool is_setting;	  /* it is in sigaction(), called from mem_guard.c */
	bool is_store;		  /* the access that met the last fault */
	void *context;		  /* of its handler */
	/* Chain of older handlers, while one of them runs; see on_chain(). */
	const siginfo_t *chain_info;
	const char *chain_frame;
	void *chain_next;
};

/* Initial-exec: reading it in a signal handler must not allocate. */
extern __thread struct rn_guard_thread rn_guard_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Look whether the thread has the signals blocked, and unblock them for @g if so. */
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

/* Also after a fault. */
static inline void rn_guard_leave(const struct rn_guard *g)
{
	__asm__ volatile("" ::: "memory");
	rn_guard_thread.current = NULL;
	if (g->unblocked)
		rn_guard_restore_mask(g);
}

#endif /* RN_MEM_GUARD_H */
