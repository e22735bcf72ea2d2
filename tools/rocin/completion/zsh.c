/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* zsh.c - prints the script by which zsh completes command lines of rocin. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

/* Prints a text as a part of a word in single quotes. Characters that occur in @special
 * get a backslash.
 */
static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			printf(strchr(special, *text) ? "\\%c" : "%c", *text);
	}
}

/* Prints the part ":MESSAGE:ACTION" of an option for _arguments, the function of zsh. */
static void print_argument(const struct rn_option_line *o)
{
	printf(o->is_optional ? "::" : ":");
	print_quoted(o->arg, "[]:\\");
	putchar(':');
	if (rn_completion_is_file(o->arg)) {
		fputs("_files", stdout);
	} else if (strchr(o->arg, '|')) {
		putchar('(');
		rn_completion_values(o->arg);
		putchar(')');
	} else {
		putchar(' ');
	}
}

static void print_spec(const char *dashes, const char *name,
		       const struct rn_option_line *o)
{
	bool is_long = dashes[1] != '\0';

	/* Where zsh expects the argument. "=-": in the same word, after a '='. "=": in
	 * the same word or in the next one.
	 */
	printf("			'*%s%s%s[", dashes, name,
	       !*o->arg || !is_long ? ""
	       : o->is_optional	    ? "=-"
				    : "=");
	print_quoted(o->help, "[]:\\");
	putchar(']');
	if (*o->arg && (is_long || !o->is_optional))
		print_argument(o);
	puts("' \\");
}

static void print_command(const struct rn_command_line *c)
{
	printf("	%s)\n		_arguments -S \\\n", c->name);
	for (size_t i = 0; i < c->options; i++) {
		const struct rn_option_line *o = &c->option[i];

		if (*o->name)
			print_spec("--", o->name, o);
		if (*o->letter)
			print_spec("-", o->letter, o);
	}
	puts("			'(- *)--help[Give a help list]' \\");
	puts(c->runs_program ? "			'*:: :_normal' ;;"
			     : "			'*: :_files' ;;");
}

void rn_completion_zsh(const struct rn_command_line *commands, size_t count)
{
	puts("#compdef rocin\n# Completion of rocin for zsh, made by: rocin completion "
	     "zsh\n"
	     "_rocin() {\n	local -a commands\n	commands=(");
	for (size_t i = 0; i < count; i++) {
		printf("		'%s:", commands[i].name);
		print_quoted(commands[i].help, ":\\");
		puts("'");
	}
	puts("		'help:show the help of a command'\n	)\n"
	     "	if ((CURRENT == 2)); then\n"
	     "		_describe command commands\n		return\n	fi\n"
	     "	local command=$words[2]\n	shift words\n	((CURRENT--))\n"
	     "	case $command in\n"
	     "	help) _describe command commands ;;");
	for (size_t i = 0; i < count; i++)
		print_command(&commands[i]);
	puts("	esac\n}\n\nif [ \"$funcstack[1]\" = _rocin ]; then\n	_rocin "
	     "\"$@\"\nelse\n"
	     "	compdef _rocin rocin\nfi");
}
