/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.h - protects pages by mprotect(), so that the program's accesses to them fault and
 * are observed.
 *
 * page.c	watchers, protection, pins, single steps
 * page_calls.c	wrappers of C library functions that hand memory to the kernel
 *
 * A watcher is a part of this library that observes accesses. It closes pages, that is
 * takes rights from them, with rn_page_protect(). A load or store of the program to a
 * closed page faults. The SIGSEGV handler then asks the watchers, in the order of
 * registration, whether the page is theirs. The watcher to which the page belongs takes
 * note of the access and opens the page, and the instruction runs again. If the next
 * access must fault as well, rn_page_step() closes the page again after this one
 * instruction.
 *
 * A system call that accesses a closed page does not run the handler; it fails. So the
 * wrappers pin the buffers of a system call: the watchers open the pages of the buffers,
 * and the pages stay open until the call returns.
 *
 * Pages of any kind of memory can be watched. Threads: the caller holds the host lock
 * unless a comment says otherwise.
 */
#ifndef RN_PAGE_H
#define RN_PAGE_H

#include "sim/pcie/host/host.h"

enum {
	RN_PAGE_SIZE = 4096,
};

/* Round @addr down and up to a page boundary. */
static inline uintptr_t rn_page_down(uintptr_t addr)
{
	return addr & ~(uintptr_t)(RN_PAGE_SIZE - 1);
}

static inline uintptr_t rn_page_up(uintptr_t addr)
{
	return rn_page_down(addr + RN_PAGE_SIZE - 1);
}

/* Returns true if calls of the program to the C library reach the wrappers in
 * page_calls.c first. This is so if the program is linked with this library or if `rocin
 * run' has preloaded it. May be called by any thread, without a lock.
 */
bool rn_page_wraps_calls(void);

/* The callbacks of a watcher. */
struct rn_page_watcher {
	/* Returns true if the watcher has closed pages or may close some. While this is
	 * so, the signal handler of this library stays in front of the program's, and the
	 * wrappers pin buffers. Called by any thread, with or without locks.
	 */
	bool (*is_on)(void);
	/* Called in the SIGSEGV handler for a fault at @addr; this thread may or may not
	 * hold the host lock. Returns true if the page belongs to the watcher and the
	 * instruction is to run again.
	 */
	bool (*fault)(uintptr_t addr);
	/* Returns the watcher's object that has pages in [addr, addr + len), which a
	 * system call is about to use, or NULL if there is none. Called by any thread,
	 * with or without locks; takes no lock and must be fast.
	 */
	void *(*owner)(uintptr_t addr, size_t len);
	/* Called when a system call is about to use [addr, addr + len). The watcher must
	 * open these pages of @owner. Returns false if none of them can ever be closed.
	 */
	bool (*pinned)(void *owner, uintptr_t addr, size_t len);
	/* Called when the system call has returned and no other pin keeps [lo, hi) open.
	 * The watcher may close these pages again.
	 */
	void (*unpinned)(void *owner, uintptr_t lo, uintptr_t hi);
	/* Called in a child of fork(), where no TLP is in flight. The watcher must open
	 * all of its pages. It must not take a lock: another thread of the parent may
	 * have held the lock at the time of the fork, and does not exist in the child.
	 */
	void (*in_child)(void);
};

/* Registers @w, which must stay valid until the process ends. A second registration of
 * the same watcher does nothing.
 */
void rn_page_watch(struct rn_host *h, const struct rn_page_watcher *w);

/* Returns true if any watcher has closed pages or may close some. May be called by any
 * thread, without a lock.
 */
bool rn_page_is_watched(void);

enum rn_page_rights {
	RN_PAGE_OPEN,
	RN_PAGE_READ_ONLY,
	RN_PAGE_CLOSED,
};

/* Sets the program's rights to the pages [lo, hi); pinned pages stay open. Returns false
 * if mprotect() failed for some of the pages.
 */
bool rn_page_protect(uintptr_t lo, uintptr_t hi, enum rn_page_rights rights);
bool rn_page_is_pinned(uintptr_t at);

/**
 * rn_page_pin() - Open the pages of [addr, addr + len) while a system call uses them
 *
 * The pages stay open until rn_page_unpin(). If the system call is left by cancellation
 * or longjmp(), nobody unpins them. Called without the host lock.
 *
 * Return: a number for rn_page_unpin(), or -1 if no page there is closed, or there are
 *	too many pins.
 */
int rn_page_pin(uintptr_t addr, size_t len);
void rn_page_unpin(int pin);

/* Called by the fault handler, once for each fault, before the instruction runs again.
 * Returns true if nothing is mapped at @addr, so that the instruction would fault again
 * for ever. @was_closed: a watcher had closed the page, so the page is mapped. If it is
 * false, the page may nevertheless be mapped, and another thread may have opened it since
 * the fault.
 */
bool rn_page_is_stuck(uintptr_t addr, bool was_closed);

/* Prepares single steps. Must be called before the first rn_page_step(), and not in a
 * signal handler. The SIGTRAP handler of a step calls @executed first, without the host
 * lock.
 */
void rn_page_step_init(void (*executed)(void));

/* Called by the fault handler. Lets the instruction that faulted run, and then calls
 * @close(@arg, @page) under the host lock. Returns false, and never calls @close, if
 * single steps are not possible.
 */
bool rn_page_step(uintptr_t page, void (*close)(void *arg, uintptr_t page), void *arg);

/* ----------------------------------------------------------------- page_calls.c */
/* Never called. The reference to this function makes the linker take page_calls.c from
 * the static library.
 */
void rn_page_calls_link(void);

/* Registers @fn, which is called when the program ends by _exit(), with the exit status.
 * The program then ends with the status that @fn returns.
 */
void rn_page_at_quick_exit(int (*fn)(int status));

#endif /* RN_PAGE_H */
