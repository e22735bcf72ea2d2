/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* values.c - what the name of an option's argument says of the values it may have. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"

void rn_completion_values(const char *arg)
{
	if (!strchr(arg, '|'))
		return;
	while (*arg) {
		size_t len = strcspn(arg, "|"), word = strcspn(arg, "|[:");

		/* a word in capitals is no value, but names one: RATE, FILE */
		if (word && !isupper((unsigned char)*arg))
			printf("%.*s ", (int)word, arg);
		arg += len + (arg[len] == '|');
	}
}

bool rn_completion_is_file(const char *arg)
{
	return strstr(arg, "FILE") || strstr(arg, "DIR");
}
