/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.h - one line on standard error that says how far a command is.
 *
 * The line is shown only at a terminal, only when the command has taken two seconds, and
 * at most five times a second. It stands at the end of the screen until the next one
 * replaces it, or until it is erased.
 */
#ifndef RN_PROGRESS_H
#define RN_PROGRESS_H

#include "rocin/types.h"

struct rn_progress {
	bool is_on;	       /* standard error is a terminal */
	rn_ns began, shown_at; /* @shown_at is 0 if no line is on the screen */
};

/* Begins now. @is_wanted: false: nothing is ever shown. */
void rn_progress_begin(struct rn_progress *p, bool is_wanted);

/* Shows a line, if it is time for that. */
void rn_progress_show(struct rn_progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Removes the line from the screen, if one is there. To be called before anything else is
 * printed, and at the end.
 */
void rn_progress_erase(struct rn_progress *p);

/* Decides whether a line is to be shown at the time @now. */
bool rn_progress_is_due(const struct rn_progress *p, rn_ns now);

#endif /* RN_PROGRESS_H */
