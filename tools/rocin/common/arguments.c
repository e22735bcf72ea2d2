/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments.c - parses numbers, sizes and times of command lines. */
#include "arguments.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool rn_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	bool is_hex = !strncmp(text, "0x", 2);
	unsigned long long n;
	char *end;

	/* strtoull() would accept signs, spaces and a lone "0x". */
	if (!is_digit(*text) || (is_hex && !strpbrk(text + 2, "0123456789abcdefABCDEF")))
		return false;
	errno = 0;
	n = strtoull(text, &end, is_hex ? 16 : 10);
	if (*end || errno || n < least || n > most)
		return false;
	*number = n;
	return true;
}

bool rn_read_seconds(const char *text, double least, double most, double *seconds)
{
	char *end;
	double s;

	/* strtod() would accept "inf" and "nan". */
	if (!is_digit(*text) && *text != '.')
		return false;
	s = strtod(text, &end);
	if (end == text || *end || !(s >= least && s <= most))
		return false;
	*seconds = s;
	return true;
}

uint32_t rn_option_number(struct argp_state *state, const char *name, const char *arg,
			  uint32_t least, uint32_t most)
{
	uint64_t value = least;

	if (!rn_read_number(arg, least, most, &value))
		argp_error(state, "--%s takes a number from %u to %u, not \"%s\"", name,
			   least, most, arg);
	return (uint32_t)value;
}

void rn_bad_value(struct argp_state *state, const struct argp_option *options, int key,
		  const char *arg)
{
	while (options->key != key && (options->name || options->doc))
		options++;
	argp_error(state, "\"%s\" is no value for --%s=%s: %s", arg, options->name,
		   options->arg, options->doc);
}
