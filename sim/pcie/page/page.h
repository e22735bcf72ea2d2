/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.h - protects pages so that the accesses of the program to them are seen.
 *
 * page.c	watchers, protection, pins, single steps
 * page_calls.c	wrappers of C library functions that hand memory to the kernel
 *
 * A watcher closes pages with rn_page_protect(). A load or store of the program to a
 * closed page faults. The SIGSEGV handler then asks the watchers, in the order of
 * registration, whether the page is theirs. The watcher that owns it does its work and
 * opens the page, and the instruction runs again. If the next access is to be seen as
 * well, rn_page_step() has the page closed again after this one instruction.
 *
 * A system call that accesses a closed page does not run the handler; it fails. So the
 * wrappers pin the buffers of a system call: the watchers open these pages, and they stay
 * open until the call returns.
 *
 * Nothing here depends on the kind of memory. Threads: everything runs under the host
 * lock unless a comment says otherwise.
 */
#ifndef RN_PAGE_H
#define RN_PAGE_H

#include "sim/pcie/host/host.h"

enum {
	RN_PAGE_SIZE = 4096,
};

/* @addr rounded down and up to a page boundary. */
static inline uintptr_t rn_page_down(uintptr_t addr)
{
	return addr & ~(uintptr_t)(RN_PAGE_SIZE - 1);
}

static inline uintptr_t rn_page_up(uintptr_t addr)
{
	return rn_page_down(addr + RN_PAGE_SIZE - 1);
}

/* A user of closed pages, and its callbacks. */
struct rn_page_watcher {
	/* Has the watcher closed pages at the moment, or may it close some? Then our
	 * signal handler must stay in front of the program's, and buffers are pinned. Any
	 * thread, no lock.
	 */
	bool (*is_on)(void);
	/* Called in the SIGSEGV handler; this thread may or may not hold the host lock.
	 * Returns true if @addr is in a page of the watcher and the instruction is to run
	 * again.
	 */
	bool (*fault)(uintptr_t addr);
	/* Returns the watcher's object whose pages a system call on [addr, addr + len)
	 * may access, or NULL if there is none. Any thread, no lock; must be fast.
	 */
	void *(*owner)(uintptr_t addr, size_t len);
	/* A system call is about to use these pages: the watcher opens them. Returns
	 * false if none of them can ever be closed.
	 */
	bool (*pinned)(void *owner, uintptr_t addr, size_t len);
	/* The system call has returned, and no other pin keeps the pages [lo, hi) open.
	 */
	void (*unpinned)(void *owner, uintptr_t lo, uintptr_t hi);
	/* In a child of fork(), where no TLP is on its way: the watcher opens all its
	 * pages. Must not lock, as other threads of the parent may have left data half
	 * changed.
	 */
	void (*in_child)(void);
};

/* Registers @w, which must stay valid until the process ends; a second registration does
 * nothing.
 */
void rn_page_watch(struct rn_host *h, const struct rn_page_watcher *w);

/* Has any watcher closed pages, or may it? Any thread, no lock. */
bool rn_page_is_watched(void);

enum rn_page_rights {
	RN_PAGE_OPEN,
	RN_PAGE_READ_ONLY,
	RN_PAGE_CLOSED,
};

/* Sets what the program may do in the pages [lo, hi); pinned pages stay open. False if
 * mprotect() failed for some of them.
 */
bool rn_page_protect(uintptr_t lo, uintptr_t hi, enum rn_page_rights rights);
bool rn_page_is_pinned(uintptr_t at);

/**
 * rn_page_pin() - A system call is about to use [addr, addr + len)
 *
 * If the call is left by cancellation or longjmp(), nobody unpins, and the pages stay
 * open. Host lock not held.
 *
 * Return: a number for rn_page_unpin(), or -1 if no page there is closed, or there are
 *	too many pins.
 */
int rn_page_pin(uintptr_t addr, size_t len);
void rn_page_unpin(int pin);

/* Called once for each fault in the handler, before the instruction runs again: does the
 * same instruction fault forever because nothing is mapped at @addr? An address whose
 * page was closed is mapped; it may also be met open, as another thread may open it in
 * between.
 */
bool rn_page_is_stuck(uintptr_t addr, bool was_closed);

/* To be called before the first rn_page_step(), not in a signal handler. */
void rn_page_step_init(void);

/* Called in the fault handler: makes @close(@arg, @page) be called, under the host lock,
 * after the instruction that faulted. @is_needed: even if this thread has used up its
 * steps. Returns false if @close will not be called.
 */
bool rn_page_step(uintptr_t page, void (*close)(void *arg, uintptr_t page), void *arg,
		  bool is_needed);

/* ----------------------------------------------------------------- page_calls.c */
/* Is never called: a reference to this function makes the linker take page_calls.c from
 * the static library.
 */
void rn_page_calls_link(void);

#endif /* RN_PAGE_H */
