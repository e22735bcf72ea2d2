/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* log.c - the log file: logging.dir of cufile.json, CUFILE_LOGFILE_PATH.
 *
 * The file is opened with the first line, and for each line: a program may close all
 * descriptors that it does not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "rocin/types.h"

enum {
	LINE = 640,		    /* bytes of a line */
	LOG_MAX = 32 * 1024 * 1024, /* bytes of the file: logging.max_file_size_mb */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[RN_CUFILE_TEXT * 2] = "cufile.log";
static enum rn_cufile_level limit = RN_CUFILE_LOG_ERROR;

void rn_cufile_log_configure(const struct rn_cufile_settings *s)
{
	/* From the level that tells least to the one that tells most. NOTICE is above
	 * ERROR in cuFile; what would be told there is an error here.
	 */
	static const struct {
		const char *word;
		enum rn_cufile_level level;
	} words[] = {
		{ "NOTICE", RN_CUFILE_LOG_ERROR }, { "ERROR", RN_CUFILE_LOG_ERROR },
		{ "WARN", RN_CUFILE_LOG_WARN },	   { "INFO", RN_CUFILE_LOG_INFO },
		{ "DEBUG", RN_CUFILE_LOG_INFO },   { "TRACE", RN_CUFILE_LOG_INFO },
	};
	const char *file = s->string[CUFILE_PARAM_ENV_LOGFILE_PATH];
	const char *dir = s->string[CUFILE_PARAM_LOG_DIR];
	const char *word = s->string[CUFILE_PARAM_LOGGING_LEVEL];

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(words); i++)
		if (!strcasecmp(word, words[i].word))
			limit = words[i].level;
	if (file[0] != '\0')
		snprintf(path, sizeof(path), "%s", file);
	else
		snprintf(path, sizeof(path), "%s%scufile.log", dir,
			 dir[0] != '\0' ? "/" : "");
	pthread_mutex_unlock(&lock);
}

static void write_line(enum rn_cufile_level level, const char *fmt, va_list ap)
{
	static const char *const names[] = { "ERROR", "WARN", "INFO" };
	struct timespec now;
	struct stat st;
	struct tm tm;
	char line[LINE];
	size_t len;
	int fd, saved = errno;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	len = strftime(line, sizeof(line), "%d-%m-%Y %H:%M:%S", &tm);
	len += (size_t)snprintf(line + len, sizeof(line) - len, ":%03ld [pid=%d] %s  ",
				now.tv_nsec / 1000000, (int)getpid(), names[level]);
	len += (size_t)vsnprintf(line + len, sizeof(line) - len, fmt, ap);
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	pthread_mutex_lock(&lock);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	if (fd >= 0) {
		/* A log that cannot be written to is no reason to fail. */
		if (!fstat(fd, &st) && st.st_size < LOG_MAX && write(fd, line, len) < 0)
			errno = saved;
		close(fd);
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void rn_cufile_log(enum rn_cufile_level level, const char *fmt, ...)
{
	bool is_wanted;
	va_list ap;

	pthread_mutex_lock(&lock);
	is_wanted = level <= limit;
	pthread_mutex_unlock(&lock);
	if (!is_wanted)
		return;
	va_start(ap, fmt);
	write_line(level, fmt, ap);
	va_end(ap);
}

CUfileError_t rn_cufile_fail(CUfileOpError err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(RN_CUFILE_LOG_ERROR, fmt, ap);
	va_end(ap);
	return (CUfileError_t){ err, 0 };
}
