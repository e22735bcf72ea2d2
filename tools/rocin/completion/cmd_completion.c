/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_completion.c - `rocin completion SHELL': asks each command of rocin for its options
 * (--list-options), and prints a completion script for the shell. So only the argp tables
 * of the commands list options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "completion.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"

enum {
	/* maximum size in bytes of a command's list of options; that of `rocin run' has
	 * 4000
	 */
	LIST_MAX = 1 << 16,
};

static const struct {
	const char *name;
	void (*print)(const struct rn_command_line *commands, size_t count);
} shells[] = {
	{ "bash", rn_completion_bash },
	{ "zsh", rn_completion_zsh },
	{ "fish", rn_completion_fish },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	size_t *shell = state->input;

	if (key == ARGP_KEY_ARG && state->arg_num == 0) {
		for (size_t i = 0; i < RN_ARRAY_SIZE(shells); i++) {
			if (strcmp(arg, shells[i].name) != 0)
				continue;
			*shell = i;
			return 0;
		}
		argp_error(state, "\"%s\" is none of bash, zsh, fish", arg);
		return EINVAL;
	}
	if (key != ARGP_KEY_NO_ARGS)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "which shell? bash, zsh or fish");
	return EINVAL;
}

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "bash|zsh|fish",
	.doc = "Print what makes a shell complete the command line of rocin, for "
	       "instance for "
	       "source <(rocin completion bash). The packages install it.",
};

/* ------------------------------------------------------------ options of a command */
static void list_in_child(const struct rn_command *c, int out)
{
	char list[] = "--list-options", name[32];
	char *argv[] = { name, list, NULL };

	snprintf(name, sizeof(name), "rocin %s", c->name);
	if (dup2(out, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILURE);
	_exit(c->run(2, argv) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Runs the command with --list-options in a child process. Returns what it prints, or
 * NULL with errno. The caller must free the text.
 */
static char *ask(const struct rn_command *c)
{
	int ends[2], status;
	char *text = NULL;
	FILE *f;
	pid_t pid;

	if (pipe(ends))
		return NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		list_in_child(c, ends[1]);
	close(ends[1]);
	f = pid < 0 ? NULL : fdopen(ends[0], "r");
	if (f) {
		(void)rn_stream_read(f, LIST_MAX, &text);
		fclose(f);
	} else {
		close(ends[0]);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return text;
	free(text);
	return NULL;
}

/* Cuts off the text *@at up to the character @end, and returns it. Moves *@at behind
 * @end.
 */
static char *cut(char **at, char end)
{
	char *field = *at, *stop = strchr(field, end);

	if (!stop)
		stop = field + strlen(field);
	*at = *stop ? stop + 1 : stop;
	*stop = '\0';
	return field;
}

/* Shortens a help text to its first sentence, or to what stands before an example. */
static const char *first_sentence(char *help)
{
	char *end = strpbrk(help, ".;");

	if (end && (end[1] == ' ' || !end[1]))
		*end = '\0';
	return help;
}

static void read_option(struct rn_option_line *o, char *line)
{
	char *arg, *bracket;

	o->name = cut(&line, '\t');
	o->letter = cut(&line, '\t');
	o->arg = arg = cut(&line, '\t');
	o->help = first_sentence(line);
	o->is_optional = *o->arg == '[';
	if (!o->is_optional)
		return;
	bracket = strrchr(arg, ']');
	if (bracket)
		*bracket = '\0';
	o->arg++;
}

/* Reads the options of a command. Returns 0, or -1 after it has printed an error message.
 */
static int read_command(struct rn_command_line *line, const struct rn_command *c)
{
	char *at;

	*line = (struct rn_command_line){ .name = c->name,
					  .help = c->help,
					  .text = ask(c) };
	if (!line->text) {
		rn_complain("rocin %s does not list its options", c->name);
		return -1;
	}
	at = line->text;
	line->runs_program = strstr(cut(&at, '\n'), "PROGRAM") != NULL;
	while (*at && line->options < RN_COMPLETION_OPTIONS_MAX)
		read_option(&line->option[line->options++], cut(&at, '\n'));
	return 0;
}

int rn_cmd_completion(int argc, char **argv, const struct rn_command *commands,
		      size_t count)
{
	struct rn_command_line *lines;
	size_t shell = 0, n = 0;
	int rc = 0;

	if (rn_argp_parse(&argp, argc, argv, 0, &shell))
		return RN_EXIT_USAGE;
	lines = calloc(count, sizeof(*lines));
	if (!lines) {
		rn_complain("not enough memory");
		return RN_EXIT_FAILURE;
	}
	for (size_t i = 0; !rc && i < count; i++)
		if (commands[i].help)
			rc = read_command(&lines[n++], &commands[i]);
	if (!rc)
		shells[shell].print(lines, n);
	for (size_t i = 0; i < n; i++)
		free(lines[i].text);
	free(lines);
	return rc ? RN_EXIT_FAILURE : 0;
}
