/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.c - watchers, protection of pages, pins for system calls, and single steps of one
 * instruction with a page open.
 */
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "transport/io/host/log.h"
#include "transport/io/memory/mem_guard.h"

enum {
	WATCHERS_MAX = 2,
	/* Number of faults in a row at one address whose page is open, after which the
	 * page counts as not mapped.
	 */
	RETRIES_MAX = 10000,
	/* Number of pins. A system call that runs has one pin for each of its buffers.
	 * Unused entries of the array are never touched, so they take no memory.
	 */
	PINS = 65536,
	/* maximum number of pages that one instruction can access, its code included */
	PAGES_MAX = 6,
	TRAP_FLAG = 0x100,
};

static struct rn_host *host;
static const struct rn_page_watcher *watchers[WATCHERS_MAX];
static _Atomic unsigned watcher_count;

/* Pins: pages that a system call uses while it runs, and that must stay open meanwhile.
 * lo == hi: the entry is free.
 */
static struct pin {
	uintptr_t lo, hi;
	/* For each watcher: its object that has these pages, as its owner() has returned
	 * it, or NULL.
	 */
	void *owner[WATCHERS_MAX];
} pins[PINS];
/* Index behind the last entry of pins[] that is in use. */
static unsigned pins_high;
/* All entries of pins[] below this index are in use. */
static unsigned pins_low;

/* ---------------------------------------------------- registered watchers */
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

static void open_in_child(void)
{
	for (unsigned i = 0; i < count_watchers(); i++)
		watchers[i]->in_child();
}

/* Sets variables that do not change any more later. Called before the first watcher is
 * registered.
 */
static void begin_watching(struct rn_host *h)
{
	host = h;
	rn_guard_set_trap(ask_watchers);
	if (pthread_atfork(NULL, NULL, open_in_child) != 0)
		rn_log(RN_LOG_WARN, "no memory to open pages in children of fork()");
}

void rn_page_watch(struct rn_host *h, const struct rn_page_watcher *w)
{
	unsigned count = count_watchers();

	for (unsigned i = 0; i < count; i++)
		if (watchers[i] == w)
			return;
	assert(count < WATCHERS_MAX);
	if (count == 0)
		begin_watching(h);
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
	/* This variable has the TLS model initial-exec, because with other models the
	 * first access in a signal handler may allocate memory.
	 */
	static __thread uintptr_t latest __attribute__((tls_model("initial-exec")));
	static __thread unsigned times __attribute__((tls_model("initial-exec")));

	times = addr == latest && !was_closed ? times + 1 : 0;
	latest = addr;
	return times > RETRIES_MAX;
}

/* -------------------------------------------------------- rights to pages */
bool rn_page_is_pinned(uintptr_t at)
{
	for (unsigned i = 0; i < pins_high; i++)
		if (at >= pins[i].lo && at < pins[i].hi)
			return true;
	return false;
}

/* Returns the pin with the lowest address among those that overlap [at, hi). */
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

/* -------------------------------------- pins: pages that system calls use */
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
	while (pins_high > 0 && pins[pins_high - 1].lo == pins[pins_high - 1].hi)
		pins_high--;
}

/* Asks the owner() of each watcher for its object in [addr, addr + len), and stores the
 * answers in @owner. Returns true if a watcher has one.
 */
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
	/* No pin is free. The pages are opened nevertheless, but they may be closed again
	 * before the system call has returned.
	 */
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

/* ---------------------------------------- single steps of one instruction */
/* Runs one instruction of the program with a page open, then closes the page again.
 *
 * When a load of a closed page faults, the page is opened, so that the load can run
 * again. If the page stayed open, the next load would not fault, so it could not be
 * checked. So the trap flag of x86 makes the processor stop after the instruction that
 * faulted, and the page is closed. On other processors the page stays open until
 * something else closes it.
 *
 * A program that accesses such a page often becomes slow: a step takes some microseconds.
 * No steps are made in a thread that blocks SIGTRAP, because the kernel would kill the
 * process, nor if a debugger traces the process.
 */
struct step {
	struct {
		uintptr_t at;
		void (*close)(void *arg, uintptr_t page);
		void *arg;
	} page[PAGES_MAX];
	unsigned pages;
	bool is_armed;
};

static __thread struct step step __attribute__((tls_model("initial-exec")));

static struct sigaction older;
static bool is_possible;
static void (*on_executed)(void);

#if defined(__x86_64__)
static void set_trap_flag(ucontext_t *uc, bool on)
{
	if (on)
		uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	else
		uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}
#else
static void set_trap_flag(ucontext_t *uc, bool on)
{
	(void)uc;
	(void)on;
}
#endif

/* Closes the pages that were opened for a single step. This thread does not hold the host
 * lock here, because the instruction that was stepped is the program's, and the program's
 * code never runs with the lock held.
 */
static void close_again(void)
{
	rn_host_lock(host);
	for (unsigned i = 0; i < step.pages; i++)
		step.page[i].close(step.page[i].arg, step.page[i].at);
	rn_host_unlock(host);
	step.pages = 0;
	step.is_armed = false;
}

/* Ends the process as if there were no handler for the signal: resets the action to the
 * default and raises the signal. Returning would not be enough: the instruction that
 * caused this trap has run already, so the trap would not occur again.
 */
static void take_default(int sig)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };

	sigaction(sig, &dfl, NULL);
	raise(sig);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
	/* If the program ignores SIGTRAP, a signal that some process has sent must be
	 * ignored. A trap that an instruction caused cannot be ignored; the kernel would
	 * kill the process.
	 */
	bool is_sent = info->si_code <= 0;

	if (older.sa_flags & SA_SIGINFO)
		older.sa_sigaction(sig, info, context);
	else if (older.sa_handler == SIG_DFL || (older.sa_handler == SIG_IGN && !is_sent))
		take_default(sig);
	else if (older.sa_handler != SIG_IGN)
		older.sa_handler(sig);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (step.is_armed && !rn_host_is_locked_by_me(host)) {
		if (on_executed)
			on_executed();
		set_trap_flag(context, false);
		close_again();
	} else {
		pass_on(sig, info, context);
	}
	errno = saved;
}

/* Reports on standard error, once, why pages stay open after the first access to them.
 * May be called in the SIGSEGV handler. So it must not call write(), which would reach
 * the wrapper in page_calls.c.
 */
static void say_no_steps(const char *why)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	char text[300];
	int n;

	if (atomic_flag_test_and_set(&is_said))
		return;
	n = snprintf(text, sizeof(text),
		     "rocin: %s: of what uses a watched page only the first access is "
		     "checked, until the page is closed anew\n",
		     why);
	syscall(SYS_write, STDERR_FILENO, text, (size_t)n);
}

static bool has_debugger(void)
{
	char text[2048], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "TracerPid:");
	return at && strtol(at + 10, NULL, 10) != 0;
}

void rn_page_step_init(void (*executed)(void))
{
	struct sigaction ours = { .sa_sigaction = on_trap,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK };

	on_executed = executed;
#if defined(__x86_64__)
	if (has_debugger())
		say_no_steps("a debugger traces the program");
	else
		is_possible = sigaction(SIGTRAP, NULL, &older) == 0 &&
			      sigaction(SIGTRAP, &ours, NULL) == 0;
#else
	(void)ours;
	(void)has_debugger;
	say_no_steps("there are no single steps on this processor");
#endif
}

/* Returns true if on_trap() is still the SIGTRAP handler, false if the program has
 * replaced it.
 */
static bool is_handler_ours(void)
{
	struct sigaction found;

	return sigaction(SIGTRAP, NULL, &found) == 0 && found.sa_flags & SA_SIGINFO &&
	       found.sa_sigaction == on_trap;
}

static bool is_known(uintptr_t page)
{
	for (unsigned i = 0; i < step.pages; i++)
		if (step.page[i].at == page)
			return true;
	return false;
}

bool rn_page_step(uintptr_t page, void (*close)(void *arg, uintptr_t page), void *arg)
{
	ucontext_t *uc = rn_guard_context();

	if (!is_possible || !uc)
		return false;
	if (sigismember(&uc->uc_sigmask, SIGTRAP)) {
		say_no_steps("a thread of the program blocks SIGTRAP");
		return false;
	}
	if (!is_handler_ours()) {
		say_no_steps("the program handles SIGTRAP itself");
		return false;
	}
	if (!is_known(page)) {
		if (step.pages == PAGES_MAX)
			return false;
		step.page[step.pages].at = page;
		step.page[step.pages].close = close;
		step.page[step.pages++].arg = arg;
	}
	step.is_armed = true;
	set_trap_flag(uc, true);
	return true;
}
