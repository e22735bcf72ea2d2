/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_run.c - `rocin run` and `rocin env`: start a program in an environment in which it
 * finds the Rocin devices, or print this environment.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reach.h"
#include "settings.h"
#include "sim/pcie/sanitizer/sanitize.h"
#include "tools/rocin/common/arguments.h"

struct run_args {
	struct rn_run_settings settings;
	bool force;
	bool reaches_all; /* --reach=all */
	char **program;
};

enum {
	OPT_FORCE = 0x200,
	OPT_REACH,
};

static const struct argp_option options[] = {
	{ "force", OPT_FORCE, NULL, 0,
	  "Run a program that Rocin cannot reach all the same", 0 },
	{ "reach", OPT_REACH, "HOW", 0,
	  "preload (default), or all: /sys and /dev show the devices to everything that "
	  "the program starts, by a mount namespace",
	  0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct run_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->settings;
		return 0;
	case OPT_FORCE:
		args->force = true;
		return 0;
	case OPT_REACH:
		args->reaches_all = strcmp(arg, "all") == 0;
		if (!args->reaches_all && strcmp(arg, "preload") != 0)
			argp_error(state, "--reach is \"preload\" or \"all\", not \"%s\"",
				   arg);
		return 0;
	case ARGP_KEY_ARGS:
		args->program = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state,
			   "which program? For instance: rocin run -- ibv_devices");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &rn_run_settings_argp }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Run PROGRAM so that it finds the Rocin devices as RDMA devices.",
	.children = children,
};

/* Called if LD_PRELOAD does not work in the whole program. Warns if the user has turned
 * the sanitizer on, because the sanitizer finds no mistakes in such a program.
 */
static void say_unwatched(const char *text)
{
	struct rn_sanitize_options o = { .level = RN_SANITIZE_OFF };
	const char *words = getenv("ROCIN_SANITIZE");
	char err[300];

	if (words && !rn_sanitize_parse(&o, words, err, sizeof(err)) &&
	    o.level != RN_SANITIZE_OFF)
		rn_complain("%s; the sanitizer sees nothing of it", text);
	words = getenv("ROCIN_VALIDATE");
	if (words && *words && strcmp(words, "off") != 0)
		rn_complain("%s; nothing of it is validated", text);
}

/* Refuses a program that can run, but would not find the devices, because LD_PRELOAD does
 * not work in it.
 */
static int check_program(const struct run_args *args)
{
	char path[PATH_MAX], text[RN_PROGRAM_TEXT_MAX];
	enum rn_program_fault fault = rn_program_check(args->program[0], path,
						       sizeof(path), text, sizeof(text));

	if (!rn_program_is_fault(fault))
		return 0;
	if (fault == RN_PROGRAM_NOT_FOUND) {
		rn_complain("%s", text);
		return RN_EXIT_NOT_FOUND;
	}
	if ((args->force && fault != RN_PROGRAM_NOT_EXECUTABLE) ||
	    (args->reaches_all && rn_program_is_shown(fault))) {
		say_unwatched(text);
		return 0;
	}
	rn_complain("%s", text);
	return RN_EXIT_CANNOT_RUN;
}

int rn_cmd_run(int argc, char **argv)
{
	static struct rn_launch launch;
	struct run_args args = { 0 };
	void (*file_limit)(int);
	char err[512];
	int status;

	/* ARGP_IN_ORDER: options after the name of the program are not parsed, because
	 * they belong to that program.
	 */
	if (rn_argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &args))
		return RN_EXIT_USAGE;
	status = check_program(&args);
	if (status)
		return status;
	/* If the user has limited the size of files, a write beyond the limit raises
	 * SIGXFSZ. The signal must not end this process; the write then fails with an
	 * error, which is reported.
	 */
	file_limit = signal(SIGXFSZ, SIG_IGN);
	status = rn_run_settings_apply(&args.settings, &launch, err, sizeof(err));
	signal(SIGXFSZ, file_limit);
	if (status) {
		rn_complain("%s", err);
		return status;
	}
	if (args.reaches_all) {
		/* Before the counters' keeper, which is to see the same. */
		if (rn_reach_enter(launch.tree, err, sizeof(err))) {
			rn_complain("%s", err);
			return RN_EXIT_CANNOT_RUN;
		}
		rn_reach_keep_counters();
	}
	execvp(args.program[0], args.program);
	status = errno == ENOENT ? RN_EXIT_NOT_FOUND : RN_EXIT_CANNOT_RUN;
	rn_complain("%s: %s", args.program[0], strerror(errno));
	return status;
}

/* ------------------------------------------------------------------------- rocin env */
/* `rocin env' prints variables in a format for shells, or for programs that make the
 * environment of others themselves.
 */

/* How a format writes NAME=VALUE. */
struct format {
	const char *name;
	const char *before, *between, *after;
	/* Characters of VALUE before which @escape is written. */
	const char *escaped;
	const char *escape;
	const char *doubled; /* characters of VALUE that are written twice */
};

static const struct format formats[] = {
	{ "sh", "export ", "='", "'\n", "'", "'\\'", "" },
	{ "file", "", "=", "\n", "", "", "" },
	{ "systemd", "Environment=\"", "=", "\"\n", "\\\"", "\\", "%" },
	{ "compose", "", ": \"", "\"\n", "\\\"", "\\", "$" },
	{ "mpirun", "-x ", "='", "' ", "'", "'\\'", "" },
	{ "command", "", "='", "' ", "'", "'\\'", "" },
};

struct env_args {
	struct rn_run_settings settings;
	const struct format *format;
	bool json;
};

static const struct argp_option env_options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "sh (default), file (NAME=VALUE, for docker run --env-file), systemd, compose, "
	  "mpirun, command (what stands before a command, for ssh)",
	  0 },
	RN_OPTION_JSON(0),
	{ 0 },
};

static error_t parse_env(int key, char *arg, struct argp_state *state)
{
	struct env_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->settings;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'f':
		for (size_t i = 0; i < RN_ARRAY_SIZE(formats); i++) {
			if (strcmp(arg, formats[i].name) != 0)
				continue;
			args->format = &formats[i];
			return 0;
		}
		argp_error(
			state,
			"\"%s\" is none of sh, file, systemd, compose, mpirun, command",
			arg);
		return EINVAL;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument \"%s\"; to start it: rocin run",
			   arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child env_children[] = { { .argp = &rn_run_settings_argp },
						  { 0 } };

static const struct argp env_argp = {
	.options = env_options,
	.parser = parse_env,
	.doc = "Print the variables with which a program finds the Rocin devices, for "
	       "instance for eval \"$(rocin env)\".",
	.children = env_children,
};

/* Returns true if a variable is one that `rocin env' is for. The library path is, if the
 * stand-ins of the CUDA libraries are in it.
 */
static bool is_ours(const char *variable, bool has_gpus)
{
	static const char *const others[] = { "LD_PRELOAD=", "RDMAV_DRIVERS=",
					      "LD_LIBRARY_PATH=" };
	size_t count = RN_ARRAY_SIZE(others) - !has_gpus;

	for (size_t i = 0; i < count; i++)
		if (!strncmp(variable, others[i], strlen(others[i])))
			return true;
	return !strncmp(variable, "ROCIN_", strlen("ROCIN_"));
}

static void print(const struct format *f, const char *variable)
{
	const char *value = strchr(variable, '=') + 1;

	printf("%s%.*s%s", f->before, (int)(value - 1 - variable), variable, f->between);
	for (const char *c = value; *c; c++) {
		if (strchr(f->escaped, *c))
			fputs(f->escape, stdout);
		if (strchr(f->doubled, *c))
			putchar(*c);
		putchar(*c);
	}
	fputs(f->after, stdout);
}

/* Adds a variable to the object @all. Its value may have line breaks. */
static void add_json(json_t *all, const char *variable)
{
	size_t len = strcspn(variable, "=");
	char *name = strndup(variable, len);

	if (name)
		json_object_set_new(all, name, json_string(variable + len + 1));
	free(name);
}

/* Prints the variables as one JSON object. */
static void print_json(bool has_gpus)
{
	json_t *all = json_object();

	for (char **variable = environ; *variable; variable++)
		if (is_ours(*variable, has_gpus))
			add_json(all, *variable);
	json_dumpf(all, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
	putchar('\n');
	json_decref(all);
}

int rn_cmd_env(int argc, char **argv)
{
	static struct rn_launch launch;
	struct env_args args = { .format = formats };
	char err[512];
	int status;

	if (rn_argp_parse(&env_argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	status = rn_run_settings_apply(&args.settings, &launch, err, sizeof(err));
	if (status) {
		rn_complain("%s", err);
		return status;
	}
	if (args.json) {
		print_json(args.settings.has_gpus);
		return 0;
	}
	for (char **variable = environ; *variable; variable++) {
		if (!is_ours(*variable, args.settings.has_gpus))
			continue;
		if (strchr(*variable, '\n')) {
			rn_complain("%.*s has a line break in it",
				    (int)strcspn(*variable, "="), *variable);
			return RN_EXIT_FAILURE;
		}
		print(args.format, *variable);
	}
	return 0;
}
