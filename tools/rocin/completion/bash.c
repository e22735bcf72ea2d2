/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bash.c - prints the script by which bash completes command lines of rocin. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

/* Bash splits the words of a line also at '=', so that "--cc=o" is three words. */
static const char frame[] =
	"_rocin() {\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} option='' command=${COMP_WORDS[1]:-} "
	"i\n"
	"	COMPREPLY=()\n"
	"	if [ \"$COMP_CWORD\" = 1 ]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$_rocin_commands --help "
	"--version\" "
	"-- \"$cur\")\n"
	"		return\n"
	"	fi\n"
	"	if [ \"$command\" = help ]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$_rocin_commands\" -- "
	"\"$cur\")\n"
	"		return\n"
	"	fi\n"
	"	for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"		[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	"		if [ $((i + 1)) = \"$COMP_CWORD\" ]; then\n"
	"			mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"		else\n"
	"			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"		fi\n"
	"		return\n"
	"	done\n"
	"	if [ \"$cur\" = = ]; then\n"
	"		option=${COMP_WORDS[COMP_CWORD - 1]} cur=''\n"
	"	elif [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = = ]; then\n"
	"		option=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} = -* ]]; then\n"
	"		option=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	fi\n"
	"	if _rocin_argument \"$command\" \"$option\" \"$cur\"; then\n"
	"		return\n"
	"	fi\n"
	"	if [[ $cur = -* ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$(_rocin_options "
	"\"$command\")\" "
	"-- \"$cur\")\n"
	"		[[ ${COMPREPLY[0]:-} != *= || ${#COMPREPLY[@]} != 1 ]] || "
	"compopt -o nospace\n"
	"	elif _rocin_runs_program \"$command\"; then\n"
	"		mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"	else\n"
	"		mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"	fi\n"
	"}\n"
	"complete -o filenames -o bashdefault -F _rocin rocin\n";

/* Prints, for an option, the lines of the shell function _rocin_argument() that list the
 * values of its argument.
 */
static void print_argument(const char *command, const struct rn_option_line *o)
{
	if (!*o->arg || (o->is_optional && !strchr(o->arg, '|')))
		return;
	if (*o->name && *o->letter && !o->is_optional)
		printf("	%s:--%s | %s:-%s)", command, o->name, command, o->letter);
	else if (*o->name)
		printf("	%s:--%s)", command, o->name);
	else
		printf("	%s:-%s)", command, o->letter);
	if (rn_completion_is_file(o->arg)) {
		puts(" mapfile -t COMPREPLY < <(compgen -f -- \"$3\") ;;");
		return;
	}
	printf(" mapfile -t COMPREPLY < <(compgen -W '");
	rn_completion_values(o->arg);
	puts("' -- \"$3\") ;;");
}

static void print_options(const struct rn_command_line *c)
{
	printf("	%s) echo '", c->name);
	for (size_t i = 0; i < c->options; i++) {
		const struct rn_option_line *o = &c->option[i];

		if (*o->name)
			printf("--%s%s ", o->name, *o->arg && !o->is_optional ? "=" : "");
		else
			printf("-%s ", o->letter);
	}
	puts("--help' ;;");
}

void rn_completion_bash(const struct rn_command_line *commands, size_t count)
{
	puts("# Completion of rocin for bash, made by: rocin completion bash");
	printf("_rocin_commands='");
	for (size_t i = 0; i < count; i++)
		printf("%s ", commands[i].name);
	puts("help'\n\n# The options of a command.\n_rocin_options() {\n	case $1 "
	     "in");
	for (size_t i = 0; i < count; i++)
		print_options(&commands[i]);
	puts("	esac\n}\n\n_rocin_runs_program() {\n	case $1 in");
	for (size_t i = 0; i < count; i++)
		if (commands[i].runs_program)
			printf("	%s) return 0 ;;\n", commands[i].name);
	puts("	esac\n	return 1\n}\n\n# COMMAND OPTION WORD: the argument of an option; "
	     "false "
	     "if it takes none\n_rocin_argument() {\n	case $1:$2 in");
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < commands[i].options; k++)
			print_argument(commands[i].name, &commands[i].option[k]);
	puts("	*) return 1 ;;\n	esac\n}\n");
	fputs(frame, stdout);
}
