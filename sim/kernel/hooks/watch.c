/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.c - replaces libc functions by which a program could disturb the device: those
 * that set signal handlers and masks, and those that close descriptors.
 *
 * The device may access memory that the program has unmapped. It then gets SIGSEGV, which
 * it handles. If the program replaced the handler or blocked the signal, the next SIGSEGV
 * would kill the program. So these hooks first call the parts of the device that have
 * such a handler (mem_guard.h). These store the program's handler, and call it after
 * their own. Two cases are not covered: system calls that a program makes without libc,
 * and handlers whose sa_mask blocks these signals while they run.
 *
 * Descriptors of the device (own_fd.h) stay open, even if the program closes descriptors
 * that it has not opened: close() of such a descriptor fails with EBADF, as if it were
 * not open; dup2() onto it fails with EBUSY; close_range() leaves it open. A fork() child
 * closes its copies.
 */
/* with this, the inline longjmp() of libc would replace the hook */
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <ucontext.h>
#include <unistd.h>

#include "next.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_guard.h"

/* Parts of the device that have registered because they need to learn of the program's
 * signal handlers (mem_guard.h). An entry is complete before it is stored here, and is
 * never removed.
 */
static _Atomic(const struct rn_signal_watch *) watches[RN_SIGNAL_WATCHES];

RNK_EXPORT bool rocin_watch_signals(const struct rn_signal_watch *watch);

RNK_EXPORT bool rocin_watch_signals(const struct rn_signal_watch *watch)
{
	for (unsigned i = 0; i < RN_SIGNAL_WATCHES; i++) {
		const struct rn_signal_watch *found = NULL;

		if (atomic_compare_exchange_strong(&watches[i], &found, watch) ||
		    found == watch)
			return true;
	}
	return false;
}

static const struct rn_signal_watch *watch_at(unsigned i)
{
	if (i >= RN_SIGNAL_WATCHES)
		return NULL;
	return atomic_load_explicit(&watches[i], memory_order_acquire);
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS;
}

static bool taken(int sig, const struct sigaction *act, struct sigaction *old)
{
	const struct rn_signal_watch *w;

	for (unsigned i = 0; (w = watch_at(i)); i++)
		if (w->take_action && w->take_action(sig, act, old))
			return true;
	return false;
}

static void tell(int sig, const struct sigaction *act)
{
	const struct rn_signal_watch *w;

	for (unsigned i = 0; (w = watch_at(i)); i++)
		if (w->is_own && w->is_own())
			return;
	for (unsigned i = 0; (w = watch_at(i)); i++)
		if (w->renew)
			w->renew(sig, act);
}

static void mask_changed(void)
{
	const struct rn_signal_watch *w;

	for (unsigned i = 0; (w = watch_at(i)); i++)
		if (w->mask_changed)
			w->mask_changed();
}

/* The functions below are deprecated, but old programs use them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* libc's headers declare these functions with parameter names that are reserved.
 *
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
 */

/* --------------------------------------------------------------- signal handlers */
RNK_EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction set = { 0 };
	int rc;

	if (!is_fault(sig))
		return NEXT(sigaction)(sig, act, old);
	if (act)
		/* @act is copied, because @old may point to the same struct */
		set = *act;
	rc = taken(sig, act ? &set : NULL, old) ? 0 : NEXT(sigaction)(sig, act, old);
	if (rc == 0 && act)
		tell(sig, &set);
	return rc;
}

/* Implements the variants of signal() by sigaction(). @flags: flags for sigaction(),
 * which differ between the BSD and the System V variant.
 */
static sighandler_t set_handler(int sig, sighandler_t handler, unsigned flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = (int)flags };
	struct sigaction old;

	sigemptyset(&act.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&act.sa_mask, sig);
	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

RNK_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	if (!is_fault(sig))
		return NEXT(signal)(sig, handler);
	return set_handler(sig, handler, SA_RESTART);
}

RNK_EXPORT sighandler_t bsd_signal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

RNK_EXPORT sighandler_t ssignal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

RNK_EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	if (!is_fault(sig))
		return NEXT(__sysv_signal)(sig, handler);
	return set_handler(sig, handler, (unsigned)SA_RESETHAND | SA_NODEFER);
}

RNK_EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return __sysv_signal(sig, handler);
}

/* -------------------------------------------------------------------- signal masks */
RNK_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int rc = NEXT(sigprocmask)(how, set, old);

	if (set)
		mask_changed();
	return rc;
}

RNK_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int rc = NEXT(pthread_sigmask)(how, set, old);

	if (set)
		mask_changed();
	return rc;
}

RNK_EXPORT int sigblock(int mask)
{
	int old = NEXT(sigblock)(mask);

	mask_changed();
	return old;
}

RNK_EXPORT int sigsetmask(int mask)
{
	int old = NEXT(sigsetmask)(mask);

	mask_changed();
	return old;
}

RNK_EXPORT int sighold(int sig)
{
	int rc = NEXT(sighold)(sig);

	mask_changed();
	return rc;
}

RNK_EXPORT int sigrelse(int sig)
{
	int rc = NEXT(sigrelse)(sig);

	mask_changed();
	return rc;
}

/* Blocks a signal (SIG_HOLD), or sets its handler and unblocks it. */
RNK_EXPORT sighandler_t sigset(int sig, sighandler_t handler)
{
	sighandler_t found;
	sigset_t only, before;

	if (!is_fault(sig))
		return NEXT(sigset)(sig, handler);
	sigemptyset(&only);
	sigaddset(&only, sig);
	if (handler == SIG_HOLD) {
		struct sigaction act;

		if (sigaction(sig, NULL, &act) || sigprocmask(SIG_BLOCK, &only, &before))
			return SIG_ERR;
		return sigismember(&before, sig) ? SIG_HOLD : act.sa_handler;
	}
	found = set_handler(sig, handler, 0);
	if (found == SIG_ERR || sigprocmask(SIG_UNBLOCK, &only, &before))
		return SIG_ERR;
	return sigismember(&before, sig) ? SIG_HOLD : found;
}

RNK_EXPORT int sigignore(int sig)
{
	if (!is_fault(sig))
		return NEXT(sigignore)(sig);
	return set_handler(sig, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

/* The functions below jump out of the current function and, if setjmp() has saved the
 * signal mask, restore it. Whether it was saved cannot be told from the name of the
 * function that the program calls: the function setjmp() saves the mask, the macro
 * setjmp() does not. So the mask is taken to change.
 */
RNK_EXPORT void siglongjmp(sigjmp_buf env, int val)
{
	mask_changed();
	NEXT(siglongjmp)(env, val);
	__builtin_unreachable();
}

RNK_EXPORT void longjmp(struct __jmp_buf_tag env[1], int val)
{
	mask_changed();
	NEXT(longjmp)(env, val);
	__builtin_unreachable();
}

RNK_EXPORT void _longjmp(struct __jmp_buf_tag env[1], int val)
{
	mask_changed();
	NEXT(_longjmp)(env, val);
	__builtin_unreachable();
}

RNK_EXPORT void __longjmp_chk(struct __jmp_buf_tag env[1], int val)
{
	mask_changed();
	NEXT(__longjmp_chk)(env, val);
	__builtin_unreachable();
}

RNK_EXPORT int setcontext(const ucontext_t *ctx)
{
	mask_changed();
	return NEXT(setcontext)(ctx);
}

RNK_EXPORT int swapcontext(ucontext_t *out, const ucontext_t *in)
{
	int rc;

	mask_changed();
	rc = NEXT(swapcontext)(out, in);
	/* Another thread may have continued the context, so the mask may differ. */
	mask_changed();
	return rc;
}

/* ------------------------------------------ protection of Rocin's own descriptors */
static _Atomic(rn_own_fd_next_fn *) next_own;

RNK_EXPORT void rocin_watch_fds(rn_own_fd_next_fn *next);

RNK_EXPORT void rocin_watch_fds(rn_own_fd_next_fn *next)
{
	atomic_store_explicit(&next_own, next, memory_order_release);
}

static unsigned next_from(unsigned fd)
{
	rn_own_fd_next_fn *next = atomic_load_explicit(&next_own, memory_order_acquire);

	return next && fd < RN_OWN_FD_MAX ? (unsigned)next((int)fd) : RN_OWN_FD_NONE;
}

static bool is_own(int fd)
{
	return fd >= 0 && next_from((unsigned)fd) == (unsigned)fd;
}

RNK_EXPORT int close(int fd)
{
	if (is_own(fd)) {
		errno = EBADF;
		return -1;
	}
	return NEXT(close)(fd);
}

RNK_EXPORT int dup2(int fd, int onto)
{
	if (fd != onto && is_own(onto)) {
		errno = EBUSY;
		return -1;
	}
	return NEXT(dup2)(fd, onto);
}

RNK_EXPORT int dup3(int fd, int onto, int flags)
{
	if (fd != onto && is_own(onto)) {
		errno = EBUSY;
		return -1;
	}
	return NEXT(dup3)(fd, onto, flags);
}

RNK_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	unsigned own;
	int rc;

	for (own = next_from(first); own <= last && own < RN_OWN_FD_NONE;
	     own = next_from(first)) {
		rc = own > first ? NEXT(close_range)(first, own - 1, flags) : 0;
		if (rc)
			return rc;
		first = own + 1;
	}
	return first <= last ? NEXT(close_range)(first, last, flags) : 0;
}

RNK_EXPORT void closefrom(int low)
{
	unsigned first = low < 0 ? 0 : (unsigned)low, own;

	for (own = next_from(first); own < RN_OWN_FD_NONE; own = next_from(first)) {
		for (; first < own; first++)
			(void)NEXT(close)((int)first);
		first = own + 1;
	}
	NEXT(closefrom)((int)first);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
