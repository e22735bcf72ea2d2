/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.h - pages that are closed to the program, so that its accesses to them are seen.
 *
 *	page.c		who watches, closing and opening, pins, single steps
 *	page_calls.c	the functions of the C library that hand memory to the kernel
 *
 * A watcher closes pages by rn_page_protect(). A load or store that meets a closed page
 * faults; then the watchers are asked, in the order in which they have registered, whose
 * page it is. That one does what is to be done, opens the page, and the instruction runs
 * again. Where the access after it is to be seen too, rn_page_step() has the page closed
 * again behind that one instruction.
 *
 * The kernel runs no handler for a fault of its own: a system call on a closed page
 * fails. So its buffers are pinned: the watchers open them, and they stay open until the
 * call returns.
 *
 * Nothing here knows what memory it is. Threads: everything under the host lock unless it
 * says otherwise.
 */
#ifndef RN_PAGE_H
#define RN_PAGE_H

#include "sim/pcie/host/host.h"

enum {
	RN_PAGE_SIZE = 4096,
};

/* @addr rounded down and up to where a page begins. */
static inline uintptr_t rn_page_down(uintptr_t addr)
{
	return addr & ~(uintptr_t)(RN_PAGE_SIZE - 1);
}

static inline uintptr_t rn_page_up(uintptr_t addr)
{
	return rn_page_down(addr + RN_PAGE_SIZE - 1);
}

/* Who closes pages, and what that one does when they are met. */
struct rn_page_watcher {
	/* Does it close pages? Then the handler of faults has to stay in front of the
	 * program's, and buffers are pinned. Any thread, no lock.
	 */
	bool (*is_on)(void);
	/* In the handler of SIGSEGV, host lock held by this thread or not: true if @addr
	 * is in a page of the watcher's and the instruction shall run again.
	 */
	bool (*fault)(uintptr_t addr);
	/* What a system call that uses [addr, addr + len) may meet; NULL: no page of the
	 * watcher's. Any thread, no lock; cheap.
	 */
	void *(*owner)(uintptr_t addr, size_t len);
	/* It is about to: open these pages. false: there is nothing to be opened, ever.
	 */
	bool (*pinned)(void *owner, uintptr_t addr, size_t len);
	/* It has returned, and nothing keeps the pages [lo, hi) open for it. */
	void (*unpinned)(void *owner, uintptr_t lo, uintptr_t hi);
	/* In a child of fork(), to which nothing is on its way: open what is closed. No
	 * lock; other threads of the parent may have left their work half done.
	 */
	void (*in_child)(void);
};

/* @w must live for ever; a second time does nothing. */
void rn_page_watch(struct rn_host *h, const struct rn_page_watcher *w);

/* Does any watcher close pages? Any thread, no lock. */
bool rn_page_is_watched(void);

enum rn_page_rights {
	RN_PAGE_OPEN,
	RN_PAGE_READ_ONLY,
	RN_PAGE_CLOSED,
};

/* Set what the program may do in the pages [lo, hi), but leave open what is pinned.
 * false: it stays as it was, somewhere.
 */
bool rn_page_protect(uintptr_t lo, uintptr_t hi, enum rn_page_rights rights);
bool rn_page_is_pinned(uintptr_t at);

/**
 * rn_page_pin() - A system call is about to use [addr, addr + len)
 *
 * Who leaves the call by cancellation or a jump never unpins: then the pages stay open.
 * Host lock not held.
 *
 * Return: a number for rn_page_unpin(), or -1: nothing is closed there, or too many are.
 */
int rn_page_pin(uintptr_t addr, size_t len);
void rn_page_unpin(int pin);

/* The instruction at fault will run again: is that the same one for ever, at an address
 * that is not there? In the handler, once for each fault. An address that was closed is
 * there, and may be met open, by another thread, any number of times in between.
 */
bool rn_page_is_stuck(uintptr_t addr, bool was_closed);

/* Before the first step; not in a handler. */
void rn_page_step_init(void);

/* In the handler of a fault: call @close(@arg, @page) behind the instruction, under the
 * host lock. @is_needed: however many steps this thread has made of late.
 * Return: false: it will not be called.
 */
bool rn_page_step(uintptr_t page, void (*close)(void *arg, uintptr_t page), void *arg,
		  bool is_needed);

/* ----------------------------------------------------------------- page_calls.c */
/* Called by nobody: a reference to it brings these functions into a program that links
 * the library statically.
 */
void rn_page_calls_link(void);

#endif /* RN_PAGE_H */
