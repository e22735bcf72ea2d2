/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments.h - helpers for the command lines of several commands. */
#ifndef RN_ARGUMENTS_H
#define RN_ARGUMENTS_H

#include "rocin/types.h"

/* Rows of argp option tables, for options that several commands have. */
#define RN_OPTION_NETDEV(group)                                                         \
	{                                                                               \
		"netdev", 'n', "SPEC", 0, "Interfaces and addresses, as for rocin run", \
			group                                                           \
	}
#define RN_OPTION_JSON(group)                             \
	{                                                 \
		"json", 'j', NULL, 0, "Print JSON", group \
	}

/* Parses a number from @least to @most: decimal, or hexadecimal with 0x, without sign and
 * spaces. Sets *@number and returns true, or returns false, with *@number unchanged, if
 * @text is no such number.
 */
bool rn_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* Parses a number of seconds from @least to @most, which may have a fraction. Sets
 * *@seconds and returns true, or returns false, with *@seconds unchanged, if @text is no
 * such number.
 */
bool rn_read_seconds(const char *text, double least, double most, double *seconds);

struct argp;
struct argp_option;
struct argp_state;

/* Does what argp_parse() does, and returns its result. In addition, if the only argument
 * is --list-options (used by `rocin completion'), prints the options of the command and
 * ends the program. The first line has the arguments of the command, as its help shows
 * them. Then comes a line for each option: name, letter, argument ("[ARG]" if optional)
 * and help, separated by tabs.
 */
int rn_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
		  void *input);

/* Returns @arg, the value of the option @name, as a number from @least to @most. Ends the
 * program with a usage error if it is no such number.
 */
uint32_t rn_option_number(struct argp_state *state, const char *name, const char *arg,
			  uint32_t least, uint32_t most);

/* Ends the program with a usage error: @arg is no valid value for the option @key of
 * @options. The message contains the name of the option and its help text.
 */
void rn_bad_value(struct argp_state *state, const struct argp_option *options, int key,
		  const char *arg);

#endif /* RN_ARGUMENTS_H */
