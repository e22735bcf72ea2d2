/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments.c - parses numbers, sizes and times of command lines, and lists the options
 * of a command for shell completion.
 */
#include "arguments.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
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

	/* Such texts are refused here, because strtoull() accepts signs, spaces and a
	 * lone "0x".
	 */
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

	/* Such texts are refused here, because strtod() accepts "inf" and "nan". */
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

/* -------------------------------------------------------- options for shells */
/* Returns true if a user may write the option: it has a name or a letter, and is not
 * hidden.
 */
static bool is_listed(const struct argp_option *o)
{
	return !(o->flags & (OPTION_HIDDEN | OPTION_DOC)) &&
	       (o->name || (o->key > ' ' && o->key < 0x7f));
}

static bool is_last(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

static void list_option(const struct argp_option *o, const struct argp_option *main)
{
	const char *arg = main->arg ? main->arg : "";
	bool is_optional = main->arg && main->flags & OPTION_ARG_OPTIONAL;

	printf("%s\t", o->name ? o->name : "");
	if (o->key > ' ' && o->key < 0x7f)
		putchar(o->key);
	printf(is_optional ? "\t[%s]\t%s\n" : "\t%s\t%s\n", arg,
	       main->doc ? main->doc : "");
}

static void list_table(const struct argp_option *table)
{
	/* the last option that is no alias; the aliases that follow it have the same help
	 * and argument
	 */
	const struct argp_option *main = table;

	for (const struct argp_option *o = table; o && !is_last(o); o++) {
		if (!(o->flags & OPTION_ALIAS))
			main = o;
		if (is_listed(o))
			list_option(o, main);
	}
}

/* Lists the options of @argp and of the parsers that are its children. */
static void list_options(const struct argp *argp)
{
	/* argp parsers whose option tables are not listed yet */
	const struct argp *left[8] = { argp };
	size_t count = 1;

	while (count > 0) {
		argp = left[--count];
		list_table(argp->options);
		for (const struct argp_child *c = argp->children; c && c->argp; c++) {
			assert(count < RN_ARRAY_SIZE(left));
			left[count++] = c->argp;
		}
	}
}

int rn_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
		  void *input)
{
	if (argc != 2 || strcmp(argv[1], "--list-options") != 0)
		return argp_parse(argp, argc, argv, flags, NULL, input);
	/* args_doc has a line for each form of the command; they are printed as one line.
	 */
	for (const char *c = argp->args_doc ? argp->args_doc : ""; *c; c++)
		putchar(*c == '\n' ? ' ' : *c);
	putchar('\n');
	list_options(argp);
	exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}
