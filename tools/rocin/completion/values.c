/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* values.c - finds the possible values of an option in the name of its argument, such as
 * "off|on".
 */
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

		/* a word in capitals, such as RATE or FILE, stands for a value and is not
		 * one itself
		 */
		if (word && !isupper((unsigned char)*arg))
			printf("%.*s ", (int)word, arg);
		arg += len + (arg[len] == '|');
	}
}

bool rn_completion_is_file(const char *arg)
{
	return strstr(arg, "FILE") || strstr(arg, "DIR");
}
