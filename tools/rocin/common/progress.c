/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.c - see progress.h. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "transport/io/host/clock.h"

#define SILENT RN_MSEC(2000)
#define SHOW_EVERY RN_MSEC(200)

void rn_progress_begin(struct rn_progress *p, bool is_wanted)
{
	*p = (struct rn_progress){ .is_on = is_wanted && isatty(STDERR_FILENO) == 1,
				   .began = rn_clock(CLOCK_MONOTONIC) };
}

bool rn_progress_is_due(const struct rn_progress *p, rn_ns now)
{
	return p->is_on && now - p->began >= SILENT &&
	       (!p->shown_at || now - p->shown_at >= SHOW_EVERY);
}

void rn_progress_show(struct rn_progress *p, const char *fmt, ...)
{
	rn_ns now;
	va_list ap;

	if (!p->is_on)
		return;
	now = rn_clock(CLOCK_MONOTONIC);
	if (!rn_progress_is_due(p, now))
		return;
	p->shown_at = now;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}

void rn_progress_erase(struct rn_progress *p)
{
	if (p->shown_at)
		fputs("\r\033[K", stderr);
	p->shown_at = 0;
}
