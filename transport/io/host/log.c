/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* log.c - writes the log that ROCIN_LOG requests, and error texts; see log.h. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warn", "info", "debug", "trace" };
static_assert(RN_ARRAY_SIZE(level_names) == RN_LOG_LEVEL_COUNT, "one name per level");

/* The setting of ROCIN_LOG, packed into one int so that one store makes it valid: the
 * level in the low 8 bits, TO_FILE if a file was named, and the descriptor above.
 * UNREAD: the environment was not read yet; SILENT: nothing is logged. If two threads
 * read the environment at the same time, the first result stored counts.
 */
enum {
	UNREAD = -1,
	SILENT = -2,
	TO_FILE = 0x100,
	FD_SHIFT = 9,
};
static _Atomic int target = UNREAD;

/* Write a line to @fd. This function is no cancellation point. If @fd is a pipe without
 * a reader, the write raises SIGPIPE, which this function takes off the pending signals.
 */
static void write_line(int fd, const char *line, size_t len)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe_only, before, pending;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	if (syscall(SYS_write, fd, line, len) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int level_of(const char *name, size_t len)
{
	for (int level = 0; level < RN_LOG_LEVEL_COUNT; level++)
		if (strlen(level_names[level]) == len &&
		    memcmp(level_names[level], name, len) == 0)
			return level;
	return -1;
}

static void complain(const char *what, const char *value)
{
	char line[RN_LOG_LINE_MAX];
	int len = snprintf(line, sizeof(line), "rocin[%d]: ROCIN_LOG: %s %.500s\n",
			   (int)getpid(), what, value);

	write_line(STDERR_FILENO, line, (size_t)len);
}

int rn_log_check(const char *spec, char *err, size_t err_len)
{
	if (level_of(spec, (size_t)(strchrnul(spec, ':') - spec)) >= 0)
		return 0;
	return rn_fail(err, err_len, -EINVAL,
		       "ROCIN_LOG is \"%.200s\"; error, warn, info, debug or trace is "
		       "expected, and :FILE behind it if lines are to go there",
		       spec);
}

static int open_target(const char *spec)
{
	const char *colon = strchrnul(spec, ':');
	int level = level_of(spec, (size_t)(colon - spec));
	int fd, high;

	if (level < 0) {
		complain("want error, warn, info, debug or trace, not", spec);
		return SILENT;
	}
	if (*colon == '\0') {
		high = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		return high < 0 ? SILENT : (high << FD_SHIFT | level);
	}
	fd = open(colon + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0) {
		complain("cannot write to", colon + 1);
		return SILENT;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high < 0 ? SILENT : (high << FD_SHIFT | TO_FILE | level);
}

static int get_target(void)
{
	int seen = atomic_load_explicit(&target, memory_order_relaxed);
	const char *spec;
	int mine;

	if (seen != UNREAD)
		return seen;
	spec = secure_getenv("ROCIN_LOG");
	mine = spec && *spec ? open_target(spec) : SILENT;
	if (atomic_compare_exchange_strong(&target, &seen, mine))
		return mine;
	if (mine != SILENT)
		close(mine >> FD_SHIFT);
	return seen;
}

bool rn_log_on(enum rn_log_level level)
{
	int err = errno;
	int t = get_target();

	errno = err;
	return t >= 0 && (int)level <= (t & 0xff);
}

int rn_log_file_fd(void)
{
	int err = errno;
	int t = get_target();

	errno = err;
	return t >= 0 && (t & TO_FILE) ? t >> FD_SHIFT : -1;
}

void rn_log(enum rn_log_level level, const char *fmt, ...)
{
	int err = errno;
	char line[RN_LOG_LINE_MAX];
	va_list args;
	int prefix, len;

	if (!rn_log_on(level))
		return;
	prefix = snprintf(line, sizeof(line), "rocin[%d]: ", (int)getpid());
	errno = err; /* the conversion %m prints errno */
	va_start(args, fmt);
	len = vsnprintf(line + prefix, sizeof(line) - (size_t)prefix - 1, fmt, args);
	va_end(args);
	if (len >= 0) {
		/* the message was cut off early enough to leave room for the newline */
		size_t end = strlen(line);

		line[end] = '\n';
		write_line(get_target() >> FD_SHIFT, line, end + 1);
	}
	errno = err;
}

int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	errno = -rc; /* the conversion %m prints errno */
	va_start(args, fmt);
	vsnprintf(err, err_len, fmt, args);
	va_end(args);
	errno = saved;
	return rc;
}
