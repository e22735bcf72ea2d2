/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.c - who watches pages, what is closed, and what stays open for system calls. */
#include "page.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "transport/io/host/mem_guard.h"

enum {
	WATCHERS_MAX = 2,
	RETRIES_MAX = 10000, /* of one address that faults although it is open */
	/* A thread has one for each buffer of a system call. What is not used takes no
	 * memory.
	 */
	PINS = 65536,
};

static struct rn_host *host;
static const struct rn_page_watcher *watchers[WATCHERS_MAX];
static _Atomic unsigned watcher_count;

/* Ranges that system calls use at the moment, whole pages; lo == hi: free. */
static struct pin {
	uintptr_t lo, hi;
	void *owner[WATCHERS_MAX]; /* by watcher; NULL: not concerned */
} pins[PINS];
static unsigned pins_high; /* one past the last that was ever used */
static unsigned pins_low;  /* all below are taken */

/* --------------------------------------------------------------- watchers */
static unsigned count_watchers(void)
{
	return atomic_load_explicit(&watcher_count, memory_order_acquire);
}

static bool ask_watchers(uintptr_t addr)
{
	for (unsigned i = 0; i < count_watchers(); i++)
		if (watchers[i]->fault(addr))
			return true;
	return false;
}

void rn_page_watch(struct rn_host *h, const struct rn_page_watcher *w)
{
	unsigned count = count_watchers();

	host = h;
	rn_guard_set_trap(ask_watchers);
	for (unsigned i = 0; i < count; i++)
		if (watchers[i] == w)
			return;
	assert(count < WATCHERS_MAX);
	watchers[count] = w;
	atomic_store_explicit(&watcher_count, count + 1, memory_order_release);
}

bool rn_page_is_watched(void)
{
	for (unsigned i = 0; i < count_watchers(); i++)
		if (watchers[i]->is_on())
			return true;
	return false;
}

bool rn_page_is_stuck(uintptr_t addr, bool was_closed)
{
	/* Initial-exec: reading it in a signal handler must not allocate. */
	static __thread uintptr_t latest __attribute__((tls_model("initial-exec")));
	static __thread unsigned times __attribute__((tls_model("initial-exec")));

	times = addr == latest && !was_closed ? times + 1 : 0;
	latest = addr;
	return times > RETRIES_MAX;
}

/* ------------------------------------------------------------ open, closed */
bool rn_page_is_pinned(uintptr_t at)
{
	for (unsigned i = 0; i < pins_high; i++)
		if (at >= pins[i].lo && at < pins[i].hi)
			return true;
	return false;
}

/* The lowest pin among those that reach into [at, hi). */
static const struct pin *next_pin(uintptr_t at, uintptr_t hi)
{
	const struct pin *found = NULL;

	for (const struct pin *p = pins; p < pins + pins_high; p++)
		if (p->hi > at && p->lo < hi && (!found || p->lo < found->lo))
			found = p;
	return found;
}

static bool set_rights(uintptr_t lo, uintptr_t hi, enum rn_page_rights rights)
{
	static const int flags[] = { [RN_PAGE_OPEN] = PROT_READ | PROT_WRITE,
				     [RN_PAGE_READ_ONLY] = PROT_READ,
				     [RN_PAGE_CLOSED] = PROT_NONE };
	void *at = (void *)lo; // NOLINT(performance-no-int-to-ptr)

	return lo >= hi || mprotect(at, hi - lo, flags[rights]) == 0;
}

bool rn_page_protect(uintptr_t lo, uintptr_t hi, enum rn_page_rights rights)
{
	const struct pin *p;
	bool ok = true;

	while (rights != RN_PAGE_OPEN && (p = next_pin(lo, hi))) {
		ok = set_rights(lo, p->lo, rights) && ok;
		lo = p->hi;
	}
	return set_rights(lo, hi, rights) && ok;
}

/* ------------------------------------------------------------------- pins */
static int take_pin(uintptr_t lo, uintptr_t hi)
{
	unsigned i = pins_low;

	while (i < pins_high && pins[i].lo < pins[i].hi)
		i++;
	pins_low = i;
	if (i == PINS)
		return -1;
	if (i == pins_high)
		pins_high++;
	pins[i] = (struct pin){ .lo = lo, .hi = hi };
	return (int)i;
}

static void give_pin(int pin)
{
	pins[pin] = (struct pin){ 0 };
	if ((unsigned)pin < pins_low)
		pins_low = (unsigned)pin;
}

/* Who may be concerned, by watcher. Return: is anybody? */
static bool find_owners(uintptr_t addr, size_t len, void *owner[WATCHERS_MAX])
{
	bool is_found = false;

	for (unsigned i = 0; i < count_watchers(); i++) {
		owner[i] = watchers[i]->is_on() ? watchers[i]->owner(addr, len) : NULL;
		is_found = is_found || owner[i];
	}
	return is_found;
}

int rn_page_pin(uintptr_t addr, size_t len)
{
	void *owner[WATCHERS_MAX] = { 0 };
	bool is_used = false;
	int pin;

	if (!len || !find_owners(addr, len, owner) || rn_host_is_locked_by_me(host))
		return -1;
	rn_host_lock(host);
	pin = take_pin(rn_page_down(addr), rn_page_up(addr + len));
	/* Without a pin they are opened all the same, and perhaps stay so. */
	for (unsigned i = 0; i < WATCHERS_MAX; i++) {
		if (!owner[i] || !watchers[i]->pinned(owner[i], addr, len))
			continue;
		is_used = true;
		if (pin >= 0)
			pins[pin].owner[i] = owner[i];
	}
	if (pin >= 0 && !is_used) {
		give_pin(pin);
		pin = -1;
	}
	rn_host_unlock(host);
	return pin;
}

void rn_page_unpin(int pin)
{
	struct pin was;

	rn_host_lock(host);
	was = pins[pin];
	give_pin(pin);
	for (unsigned i = 0; i < WATCHERS_MAX; i++)
		if (was.owner[i])
			watchers[i]->unpinned(was.owner[i], was.lo, was.hi);
	rn_host_unlock(host);
}
