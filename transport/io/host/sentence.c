/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sentence.c - see sentence.h. */
#include "sentence.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	errno = -rc; /* for %m */
	va_start(args, fmt);
	vsnprintf(err, err_len, fmt, args);
	va_end(args);
	errno = saved;
	return rc;
}
