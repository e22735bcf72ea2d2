/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_conform.c - `rocin conform`: run conformance scenarios and report by rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conform.h"
#include "virtual.h"

enum {
	EXIT_NOT_READ = 2, /* a file was not understood */
};

struct conform_args {
	const char *rules, *junit;
	bool json, all;
	char **paths;
	int path_count;
};

enum {
	OPT_RULES = 0x100,
	OPT_JUNIT,
};

static const struct argp_option options[] = {
	{ "rules", OPT_RULES, "FILE", 0,
	  "List the rules of this file that no scenario covers", 0 },
	{ "junit", OPT_JUNIT, "FILE", 0, "Write the report as JUnit XML too", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "all", 'a', NULL, 0, "Name what passed, too", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct conform_args *args = state->input;

	switch (key) {
	case OPT_RULES:
		args->rules = arg;
		return 0;
	case OPT_JUNIT:
		args->junit = arg;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case ARGP_KEY_ARGS:
		args->paths = state->argv + state->next;
		args->path_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name a scenario or a directory of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE|DIRECTORY...",
	.doc = "Run conformance scenarios, rocin-scenario(5), on the transport in "
	       "virtual "
	       "time.\vEnds with 1 if a scenario failed, with 2 if one was not "
	       "understood.",
};

static int write_junit(const struct rn_conform *c, const char *file)
{
	FILE *f = fopen(file, "we");
	int rc = f ? rn_conform_junit(c, f) : -1;

	if (f && fclose(f))
		rc = -1;
	if (rc)
		rn_complain("%s: %s", file, strerror(errno));
	return rc;
}

static int run_all(const struct conform_args *args, struct rn_conform *c)
{
	struct rn_virtual *v = rn_virtual_new();
	int rc = v ? 0 : -ENOMEM;

	if (!rc && args->rules)
		rc = rn_conform_read_rules(c, args->rules);
	for (int i = 0; !rc && i < args->path_count; i++)
		rc = rn_conform_run(c, args->paths[i], &rn_virtual_ops, v);
	rn_virtual_free(v);
	return rc;
}

int rn_cmd_conform(int argc, char **argv)
{
	struct conform_args args = { 0 };
	struct rn_conform c = { 0 };
	bool failed;
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	rc = run_all(&args, &c);
	if (c.count > 0 && args.json)
		rc = rn_conform_json(&c, stdout) && !rc ? -EIO : rc;
	else if (c.count > 0)
		rn_conform_text(&c, stdout, args.all);
	if (args.junit && write_junit(&c, args.junit) && !rc)
		rc = -EIO;
	failed = c.failed > 0;
	rn_conform_free(&c);
	if (failed)
		return RN_EXIT_FAILURE;
	return rc ? EXIT_NOT_READ : 0;
}
