/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* findings.c - prints what the checks of `rocin doctor` have found. */
#include <stdarg.h>
#include <stdio.h>

#include "doctor.h"

void rn_doctor_find(struct doctor *d, enum finding f, const char *fmt, ...)
{
	static const char *const mark[] = {
		[GOOD] = "ok   ", [NOTE] = "note ", [FAULT] = "FAULT"
	};
	va_list ap;

	printf("%s  ", mark[f]);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	d->faults += f == FAULT;
}
