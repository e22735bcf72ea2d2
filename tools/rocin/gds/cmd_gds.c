/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_gds.c - `rocin gds`: storage that reads into GPU memory (cuFile). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gds.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"

enum {
	PID_LIMIT = 1 << 22, /* PID_MAX_LIMIT of Linux */
};

struct gds_args {
	bool json;
	const char *what; /* "check" or "stats" */
	int pid;	  /* 0: all */
};

static const struct argp_option options[] = {
	RN_OPTION_JSON(0),
	{ 0 },
};

static error_t add_word(struct gds_args *args, const char *word, struct argp_state *state)
{
	uint64_t pid;

	if (!args->what) {
		if (strcmp(word, "check") != 0 && strcmp(word, "stats") != 0)
			argp_error(state, "\"%s\" is neither check nor stats", word);
		args->what = word;
		return 0;
	}
	if (strcmp(args->what, "stats") != 0 || args->pid != 0)
		argp_error(state, "\"%s\" is one word too many", word);
	if (!rn_read_number(word, 1, PID_LIMIT, &pid))
		argp_error(state, "\"%s\" is not the number of a process", word);
	args->pid = (int)pid;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct gds_args *args = state->input;

	switch (key) {
	case 'j':
		args->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return add_word(args, arg, state);
	case ARGP_KEY_END:
		if (!args->what)
			argp_error(state, "check or stats is expected");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "check\nstats [PID]",
	.doc = "Show what GPUDirect Storage (cuFile) of Rocin supports with the present "
	       "cufile.json, and what programs have transferred; see rocin-gds(7).",
};

int rn_cmd_gds(int argc, char **argv)
{
	struct gds_args args = { 0 };

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	return strcmp(args.what, "check") == 0 ? rn_gds_check(args.json)
					       : rn_gds_stats(args.json, args.pid);
}
