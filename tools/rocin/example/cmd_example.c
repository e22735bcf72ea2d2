/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_example.c - `rocin example`: run small programs that fail, and their mended forms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "example_list.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"

enum {
	WIDTH = 78,	   /* columns of text */
	INDENT = 12,	   /* columns before it */
	SECONDS_MAX = 30,  /* of one program */
	OUTPUT_MAX = 4096, /* bytes of it */
};

struct example_args {
	bool list;
	const char *netdevs;
	char **names; /* of argp; NULL: all */
	unsigned name_count;
};

static const struct argp_option options[] = {
	{ "list", 'l', NULL, 0, "List the examples", 0 },
	RN_OPTION_NETDEV(0),
	{ 0 },
};

static bool is_known(const char *name)
{
	const struct rn_example *x = rn_examples;

	while (x->name && strcmp(x->name, name) != 0)
		x++;
	return x->name != NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct example_args *args = state->input;

	switch (key) {
	case 'l':
		args->list = true;
		return 0;
	case 'n':
		args->netdevs = arg;
		return 0;
	case ARGP_KEY_ARGS:
		args->names = state->argv + state->next;
		args->name_count = (unsigned)(state->argc - state->next);
		for (unsigned i = 0; i < args->name_count; i++)
			if (!is_known(args->names[i]))
				argp_error(state,
					   "there is no example \"%s\"; -l lists them",
					   args->names[i]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[NAME...]",
	.doc = "Run programs that show when data is visible: each as it is, which fails, "
	       "and mended, which does not.",
};

/* ------------------------------------------------------------------------- text */
/* "  label     words, broken into lines". */
static void print_wrapped(const char *label, const char *text)
{
	int column = printf("  %-*s", INDENT - 2, label);

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > INDENT && column + 1 + len > WIDTH)
			column = printf("\n%*s", INDENT, "") - 1;
		else if (column > INDENT)
			column += printf(" ");
		column += printf("%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_list(void)
{
	for (const struct rn_example *x = rn_examples; x->name; x++)
		printf("%-20s%s\n", x->name, x->question);
}

/* ----------------------------------------------------------------------- running */
static void become(const struct rn_example *x, const char *program, bool mended, int out)
{
	char *argv[] = { (char *)x->name, mended ? (char *)"--mended" : NULL, NULL };

	if (dup2(out, STDOUT_FILENO) < 0 || setenv("ROCIN_PCIE", x->knobs, 1))
		_exit(RN_EXIT_CANNOT_RUN);
	alarm(SECONDS_MAX);
	execv(program, argv);
	rn_complain("%s: %s; install Rocin again", program, strerror(errno));
	_exit(RN_EXIT_CANNOT_RUN);
}

/* Run one form. Its exit status, -1 if it was killed; what it printed into @text. */
static int run(const struct rn_example *x, const char *program, bool mended, char *text)
{
	size_t len = 0;
	ssize_t got;
	int fd[2], status;
	pid_t pid;

	text[0] = '\0';
	fflush(NULL);
	if (pipe(fd))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		become(x, program, mended, fd[1]);
	}
	close(fd[1]);
	while (pid > 0 && len < OUTPUT_MAX - 1 &&
	       (got = read(fd[0], text + len, OUTPUT_MAX - 1 - len)) != 0) {
		if (got > 0)
			len += (size_t)got;
		else if (errno != EINTR)
			break;
	}
	text[len] = '\0';
	close(fd[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Every line of it. */
static void print_output(const char *label, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		printf("  %-*s%s\n", INDENT - 2, label, line);
		label = "";
	}
}

/* True if the form did what it is there for. */
static bool show_form(const struct rn_example *x, const char *program, bool mended)
{
	char text[OUTPUT_MAX];
	int status = run(x, program, mended, text);

	print_output(mended ? "mended" : "as it is", text);
	if (status == (mended ? 0 : 1))
		return true;
	rn_complain("%s%s: ended with status %d, not %d", x->name,
		    mended ? " --mended" : "", status, mended ? 0 : 1);
	return false;
}

static bool show(const struct rn_example *x, const char *plugin_dir)
{
	char program[PATH_MAX + 64];
	bool ok;

	snprintf(program, sizeof(program), "%s/examples/%s", plugin_dir, x->name);
	printf("%s\n", x->name);
	print_wrapped("question", x->question);
	print_wrapped("expected", x->expected);
	ok = show_form(x, program, false);
	print_wrapped("why", x->why);
	print_wrapped("remedy", x->remedy);
	ok = show_form(x, program, true) && ok;
	print_wrapped("knobs", x->knobs);
	return ok;
}

static bool is_chosen(const struct example_args *args, const struct rn_example *x)
{
	for (unsigned i = 0; i < args->name_count; i++)
		if (!strcmp(args->names[i], x->name))
			return true;
	return args->name_count == 0;
}

int rn_cmd_example(int argc, char **argv)
{
	static struct rn_launch launch;
	struct example_args args = { 0 };
	bool ok = true, is_first = true;
	char err[512];

	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return RN_EXIT_USAGE;
	if (args.list) {
		print_list();
		return 0;
	}
	if (rn_launch_prepare(&launch, args.netdevs, err, sizeof(err)) ||
	    rn_launch_setenv(&launch, args.netdevs, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	for (const struct rn_example *x = rn_examples; x->name; x++) {
		if (!is_chosen(&args, x))
			continue;
		if (!is_first)
			putchar('\n');
		is_first = false;
		ok = show(x, launch.plugin_dir) && ok;
	}
	return ok ? 0 : RN_EXIT_FAILURE;
}
