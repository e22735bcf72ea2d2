/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* completion.h - the options of all commands of rocin, from which completion scripts for
 * three shells are made.
 */
#ifndef RN_COMPLETION_H
#define RN_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

enum {
	/* maximum number of options of a command; `rocin bench' has most, 33 */
	RN_COMPLETION_OPTIONS_MAX = 64,
};

/* An option of a command. The texts are parts of rn_command_line.text. */
struct rn_option_line {
	const char *name;   /* name without dashes; "": the option has only a letter */
	const char *letter; /* letter of the option; "": it has none */
	/* name of the option's argument, or its values between '|'; "": no argument */
	const char *arg;
	const char *help;
	bool is_optional; /* the argument of the option may be left out */
};

/* A command that `rocin --help' lists. */
struct rn_command_line {
	const char *name, *help;
	/* the arguments of the command are a program and the program's own arguments */
	bool runs_program;
	/* list of options that the command has printed, cut into strings; must be freed
	 */
	char *text;
	size_t options;
	struct rn_option_line option[RN_COMPLETION_OPTIONS_MAX];
};

/* Print the completion script for a shell on standard output. */
void rn_completion_bash(const struct rn_command_line *commands, size_t count);
void rn_completion_zsh(const struct rn_command_line *commands, size_t count);
void rn_completion_fish(const struct rn_command_line *commands, size_t count);

/* Prints the values that the name of an argument contains, each followed by a space: "off
 * on " for "off|on" and for "off|on[:RATE]". Prints nothing if the name contains no '|',
 * such as FILE.
 */
void rn_completion_values(const char *arg);

/* Returns true if the argument is the name of a file. */
bool rn_completion_is_file(const char *arg);

#endif /* RN_COMPLETION_H */
