/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* complain.c - error messages on standard error. */
#include <stdarg.h>
#include <stdio.h>

#include "cmd.h"

void rn_complain(const char *fmt, ...)
{
	va_list ap;

	fputs("rocin: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
