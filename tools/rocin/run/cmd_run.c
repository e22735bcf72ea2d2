/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_run.c - `rocin run`: start a program so that it finds the Rocin devices. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run_settings.h"

struct run_args {
	struct rn_run_settings settings;
	bool force;
	char **program;
};

enum {
	OPT_FORCE = 0x200
};

static const struct argp_option options[] = {
	{ "force", OPT_FORCE, NULL, 0,
	  "Run a program that Rocin cannot reach all the same", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->settings;
		return 0;
	case OPT_FORCE:
		args->force = true;
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
	.parser = parse,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Run PROGRAM so that it finds the Rocin devices as RDMA devices.",
	.children = children,
};

/* Refuse what would run without its devices, which looks like a fault of Rocin. */
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
	if (args->force && fault != RN_PROGRAM_NOT_EXECUTABLE)
		return 0;
	rn_complain("%s", text);
	return RN_EXIT_CANNOT_RUN;
}

int rn_cmd_run(int argc, char **argv)
{
	static struct rn_launch launch;
	struct run_args args = { 0 };
	char err[512];
	int status;

	/* ARGP_IN_ORDER: options after the program's name are the program's. */
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args))
		return RN_EXIT_USAGE;
	status = check_program(&args);
	if (status)
		return status;
	status = rn_run_settings_apply(&args.settings, &launch, err, sizeof(err));
	if (status) {
		rn_complain("%s", err);
		return status;
	}
	execvp(args.program[0], args.program);
	status = errno == ENOENT ? RN_EXIT_NOT_FOUND : RN_EXIT_CANNOT_RUN;
	rn_complain("%s: %s", args.program[0], strerror(errno));
	return status;
}
