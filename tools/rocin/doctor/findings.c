/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* findings.c - prints what the checks of `rocin doctor` have found. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "doctor.h"

enum {
	/* Maximum size of a finding in JSON, in bytes: enough for the longest text with
	 * two paths in it.
	 */
	TEXT_MAX = 3 * 4096,
};

void rn_doctor_find(struct doctor *d, enum finding f, const char *fmt, ...)
{
	static const char *const mark[] = {
		[GOOD] = "ok   ", [NOTE] = "note ", [FAULT] = "FAULT"
	};
	static const char *const word[] = {
		[GOOD] = "ok", [NOTE] = "note", [FAULT] = "fault"
	};
	va_list ap;

	d->faults += f == FAULT;
	if (d->json) {
		char text[TEXT_MAX];

		va_start(ap, fmt);
		(void)vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		/* JSON must be UTF-8, but a path may have any bytes. */
		for (char *c = text; *c; c++)
			if (*c & 0x80)
				*c = '?';
		json_array_append_new(d->json, json_pack("{s:s, s:s}", "result", word[f],
							 "says", text));
		return;
	}
	printf("%s  ", mark[f]);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}
