/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* completion.h - the options of all commands of rocin, from which completion scripts for
 * three shells are made.
 */
#ifndef RN_COMPLETION_H
#define RN_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

enum {
	RN_COMPLETION_OPTIONS_MAX = 64, /* of a command; bench has the most, 33 */
};

/* An option of a command. The texts are parts of rn_command_line.text. */
struct rn_option_line {
	const char *name;   /* without dashes; "": it has a letter only */
	const char *letter; /* one character; "": it has none */
	const char *arg;    /* name of its argument, or values between '|'; "": none */
	const char *help;
	bool is_optional; /* the argument may be left out */
};

/* A command that `rocin --help' lists. */
struct rn_command_line {
	const char *name, *help;
	bool runs_program; /* its arguments are a program and the program's arguments */
	char *text; /* what the command has listed, cut into strings; to be freed */
	size_t options;
	struct rn_option_line option[RN_COMPLETION_OPTIONS_MAX];
};

/* Print the completion script for a shell on standard output. */
void rn_completion_bash(const struct rn_command_line *commands, size_t count);
void rn_completion_zsh(const struct rn_command_line *commands, size_t count);
void rn_completion_fish(const struct rn_command_line *commands, size_t count);

/* Prints the values that the name of an argument lists, each with a space behind it: "off
 * on " for "off|on" and for "off|on[:RATE]". Prints nothing if the name lists none, such
 * as FILE.
 */
void rn_completion_values(const char *arg);

/* Returns true if the argument is the name of a file. */
bool rn_completion_is_file(const char *arg);

#endif /* RN_COMPLETION_H */
