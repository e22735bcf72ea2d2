/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arguments.h - what the command lines of several commands have in common. */
#ifndef RN_ARGUMENTS_H
#define RN_ARGUMENTS_H

#include "rocin/types.h"

/* Rows of a table of options, which say the same wherever they stand. */
#define RN_OPTION_NETDEV(group)                                                         \
	{                                                                               \
		"netdev", 'n', "SPEC", 0, "Interfaces and addresses, as for rocin run", \
			group                                                           \
	}
#define RN_OPTION_JSON(group)                             \
	{                                                 \
		"json", 'j', NULL, 0, "Print JSON", group \
	}

/* A number from @least to @most, decimal or with 0x hexadecimal, and nothing else: no
 * sign, no space. False: @number is not written.
 */
bool rn_read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* Seconds from @least to @most, perhaps with a fraction. False: not written. */
bool rn_read_seconds(const char *text, double least, double most, double *seconds);

struct argp_option;
struct argp_state;

/* The value of the option @name, from @least to @most; ends with wrong usage if it is no
 * such number.
 */
uint32_t rn_option_number(struct argp_state *state, const char *name, const char *arg,
			  uint32_t least, uint32_t most);

/* End with wrong usage: @arg is no value for the option @key, which @options has. The
 * sentence names it, and says what it is for.
 */
void rn_bad_value(struct argp_state *state, const struct argp_option *options, int key,
		  const char *arg);

#endif /* RN_ARGUMENTS_H */
