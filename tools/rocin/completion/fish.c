/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fish.c - prints the script by which fish completes command lines of rocin. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
	putchar('\'');
}

static void print_option(const char *command, const struct rn_option_line *o)
{
	printf("complete -c rocin -n '__rocin_in %s'", command);
	if (*o->name)
		printf(" -l %s", o->name);
	if (*o->letter)
		printf(" -s %s", o->letter);
	if (*o->arg && !o->is_optional)
		fputs(rn_completion_is_file(o->arg) ? " -r -F" : " -x", stdout);
	if (strchr(o->arg, '|')) {
		fputs(" -a '", stdout);
		rn_completion_values(o->arg);
		putchar('\'');
	}
	fputs(" -d ", stdout);
	print_quoted(o->help);
	putchar('\n');
}

void rn_completion_fish(const struct rn_command_line *commands, size_t count)
{
	puts("# Completion of rocin for fish, made by: rocin completion fish\n"
	     "function __rocin_first\n"
	     "	test (count (commandline -opc)) = 1\n"
	     "end\n"
	     "# COMMAND: is it that of the line, and the cursor before a program's own "
	     "words?\n"
	     "function __rocin_in\n"
	     "	set -l words (commandline -opc)\n"
	     "	test \"$words[2]\" = $argv[1]; and not contains -- -- $words\n"
	     "end\n"
	     "# The words behind --: a program and its arguments.\n"
	     "function __rocin_program\n"
	     "	set -l words (commandline -opc)\n"
	     "	set -l at (contains -i -- -- $words); or return 1\n"
	     "	test $at -gt 2; or return 1\n"
	     "	complete -C (string join -- ' ' $words[(math $at + 1)..-1] (commandline "
	     "-ct))\n"
	     "end\n"
	     "complete -c rocin -n __rocin_program -a '(__rocin_program)'");
	for (size_t i = 0; i < count; i++) {
		printf("complete -c rocin -n __rocin_first -f -a %s -d ",
		       commands[i].name);
		print_quoted(commands[i].help);
		printf("\ncomplete -c rocin -n '__rocin_in help' -f -a %s\n",
		       commands[i].name);
	}
	puts("complete -c rocin -n __rocin_first -f -a help -d 'show the help of a "
	     "command'");
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < commands[i].options; k++)
			print_option(commands[i].name, &commands[i].option[k]);
}
