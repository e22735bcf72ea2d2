/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page_step.c - one instruction of the program with a page open, then it is closed.
 *
 * A page that was opened for a load which is no finding would hide the next one. So the
 * processor is told to stop behind the instruction at fault (the trap flag of x86;
 * elsewhere the page stays open until something happens to it).
 *
 * A program that works on such a page for long would crawl: a thread makes at most STEPS
 * in each WINDOW, and then only those that are needed. No steps for a thread that has
 * blocked SIGTRAP, which the kernel would kill the process for, nor under a debugger.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	PAGES_MAX = 6, /* that one instruction can touch */
	STEPS = 1000,
	TRAP_FLAG = 0x100,
};
#define WINDOW RN_MSEC(100)

struct step {
	struct {
		uintptr_t at;
		void (*close)(void *arg, uintptr_t page);
		void *arg;
	} page[PAGES_MAX];
	unsigned pages;
	bool is_armed;
	unsigned steps; /* since */
	rn_ns since;
};

static __thread struct step step __attribute__((tls_model("initial-exec")));

static struct rn_host *host;
static struct sigaction older;
static bool is_possible;

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

/* Host lock not held: the instruction was the program's. */
static void close_again(void)
{
	rn_host_lock(host);
	for (unsigned i = 0; i < step.pages; i++)
		step.page[i].close(step.page[i].arg, step.page[i].at);
	rn_host_unlock(host);
	step.pages = 0;
	step.is_armed = false;
}

/* A trap lies behind its instruction: unlike a fault it does not come again by itself. */
static void take_default(int sig)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };

	sigaction(sig, &dfl, NULL);
	raise(sig);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
	/* The kernel lets nobody ignore a trap of an instruction. */
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
		set_trap_flag(context, false);
		close_again();
	} else {
		pass_on(sig, info, context);
	}
	errno = saved;
}

/* ------------------------------------------------------------------ begin */
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

void rn_page_step_init(struct rn_host *h)
{
	struct sigaction ours = { .sa_sigaction = on_trap,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK };

	host = h;
#if defined(__x86_64__)
	is_possible = !has_debugger() && sigaction(SIGTRAP, NULL, &older) == 0 &&
		      sigaction(SIGTRAP, &ours, NULL) == 0;
#else
	(void)ours;
	(void)has_debugger;
#endif
}

/* The program may have put a handler of its own in place of ours. */
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

static bool has_steps_left(void)
{
	rn_ns now = rn_host_now();

	if (now - step.since > WINDOW) {
		step.since = now;
		step.steps = 0;
	}
	return step.steps++ < STEPS;
}

bool rn_page_step(uintptr_t page, void (*close)(void *arg, uintptr_t page), void *arg,
		  bool is_needed)
{
	ucontext_t *uc = rn_guard_context();

	if (!is_possible || !uc || sigismember(&uc->uc_sigmask, SIGTRAP) ||
	    !is_handler_ours())
		return false;
	if (!step.is_armed && !is_needed && !has_steps_left())
		return false;
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
