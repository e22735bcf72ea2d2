/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* log.h - messages to people: lines of a log, if the environment variable ROCIN_LOG is
 * set, and the text of an error.
 *
 * The value of ROCIN_LOG is LEVEL[:FILE], where LEVEL is error, warn, info, debug or
 * trace. Without the variable nothing is ever written, because this code runs inside
 * other people's programs. Without FILE, lines go to the file that was standard error at
 * the first call; if FILE exists, lines are appended to it.
 *
 * Threads: any. No lock is held, errno is kept, no call is a cancellation point, and a
 * closed pipe as standard error raises no SIGPIPE. A line is one write(2), so lines of
 * several threads or processes do not mix. A fork child continues with the same file, and
 * its lines have its own process id.
 */
#ifndef RN_LOG_H
#define RN_LOG_H

#include <stddef.h>

#include "rocin/types.h"

enum rn_log_level {
	RN_LOG_ERROR,
	RN_LOG_WARN,
	RN_LOG_INFO,
	RN_LOG_DEBUG,
	RN_LOG_TRACE,
	RN_LOG_LEVEL_COUNT
};

enum {
	RN_LOG_LINE_MAX = 1024, /* bytes with prefix and newline; more is cut off */
};

/* Write the line "rocin[PID]: MESSAGE" if ROCIN_LOG has the level @level or a more
 * verbose one.
 */
void rn_log(enum rn_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Return: true if rn_log() with @level would write a line. A caller may ask before it
 * prepares a message.
 */
bool rn_log_on(enum rn_log_level level);

/* Check a value of ROCIN_LOG without opening its file. Return: 0; or -EINVAL, with an
 * error text in @err.
 */
int rn_log_check(const char *spec, char *err, size_t err_len);

/* Return: the descriptor of the file in ROCIN_LOG=LEVEL:FILE, which the log owns; -1 if
 * nothing is logged, or to standard error. Opens the file if it is not open yet: a
 * daemon calls this before it changes its directory.
 */
int rn_log_file_fd(void);

/* Report an error in two forms: a number for the program, and an error text (one
 * sentence) for its user. Writes the error text to @err (which may be NULL with @err_len
 * 0), and cuts it off if it is too long. In @fmt, %m stands for the text of the error
 * @rc. Keeps errno. Return: @rc, a negative errno, so that a caller can write return
 * rn_fail(...).
 */
int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* RN_LOG_H */
