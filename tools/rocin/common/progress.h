/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.h - one line on standard error that says how far a command is.
 *
 * The line is shown only at a terminal, only when the command has taken two seconds, and
 * at most five times a second. It is the last line of the terminal's output until the
 * next one replaces it, or until it is erased.
 */
#ifndef RN_PROGRESS_H
#define RN_PROGRESS_H

#include "rocin/types.h"

struct rn_progress {
	bool is_on;	       /* standard error is a terminal */
	rn_ns began, shown_at; /* @shown_at is 0 if no line is on the screen */
};

/* Must be called when the command begins. If @is_wanted is false, no line is ever shown.
 */
void rn_progress_begin(struct rn_progress *p, bool is_wanted);

/* Shows a line if rn_progress_is_due() says so; otherwise does nothing. */
void rn_progress_show(struct rn_progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Removes the line from the screen, if one is there. To be called before anything else is
 * printed, and at the end.
 */
void rn_progress_erase(struct rn_progress *p);

/* Returns true if a line should be shown at the time @now: the command has run long
 * enough, and the line before was shown long enough ago.
 */
bool rn_progress_is_due(const struct rn_progress *p, rn_ns now);

#endif /* RN_PROGRESS_H */
