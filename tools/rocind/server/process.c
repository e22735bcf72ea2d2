/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.c - makes rocind a daemon that is independent of the process that has started
 * it.
 */
#include "server.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/io/host/log.h"

static void close_listed(unsigned first, unsigned last)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		unsigned long fd = strtoul(d->d_name, NULL, 10);

		/* The number for "." and ".." is 0, which is lower than every range that
		 * is closed.
		 */
		if (fd >= first && fd <= last && (int)fd != dirfd(dir))
			close((int)fd);
	}
	if (dir)
		closedir(dir);
}

static void close_between(unsigned first, unsigned last)
{
	/* close_range() exists since Linux 5.9. Without it, and without /proc, the
	 * descriptors stay open, which does no harm.
	 */
	if (first <= last && syscall(SYS_close_range, first, last, 0) < 0)
		close_listed(first, last);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		/* this has no effect on signals whose action cannot be changed */
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Resets processor affinity and scheduling class, which rocind has inherited from the
 * program that has started it. Errors are ignored.
 */
static void reset_scheduling(void)
{
	const struct sched_param normal = { 0 };
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
	(void)sched_setscheduler(0, SCHED_OTHER, &normal);
}

void rnd_process_detach(int keep_fd)
{
	unsigned keep = keep_fd > STDERR_FILENO ? (unsigned)keep_fd : STDERR_FILENO;

	/* Standard input is a pipe to the process that waits for the start of rocind, so
	 * that process gets the error messages of rocind until the log file is open.
	 */
	(void)dup2(STDIN_FILENO, STDERR_FILENO);
	close_between(STDERR_FILENO + 1, keep - 1);
	close_between(keep + 1, INT_MAX);
	reset_signals();
	reset_scheduling();
	(void)rn_log_file_fd();
	if (chdir("/") < 0)
		rn_log(RN_LOG_WARN, "chdir /: %m");
}

void rnd_process_prepare(void)
{
	struct rlimit limit;

	umask(077);
	/* the process that reads reports from the pipe may have ended */
	signal(SIGPIPE, SIG_IGN);
	/* A limit on the size of files applies to shared memory, too, so a write may
	 * raise this signal. It must fail instead.
	 */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* a keeper that ends leaves no zombie */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
