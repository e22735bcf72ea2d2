/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_hunt.c - `rocin hunt`: searches for a set of writes that make a program fail if
 * they arrive late; see hunt.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hunt.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/run/settings.h"
#include "witness.h"

enum {
	OPT_RUNS = 0x300,
	OPT_KEEP,
	OPT_SEED,
	OPT_REPLAY,
	OPT_CHECKER,
	OPT_LIMIT,
	OPT_SVG,
	OPT_BUDGET,
	RUNS_PRESET = 20,
	RUNS_MAX = 1000000,
	/* maximum number of runs in which the schedule that was found is repeated, until
	 * the program goes wrong again and its run can be shown
	 */
	SHOW_TRIES = 5,
};

struct hunt_args {
	struct rn_run_settings settings;
	struct rn_hunt hunt;
	uint32_t runs;
	uint64_t seed;
	const char *keep, *replay, *svg;
	bool json;
};

static const struct argp_option options[] = {
	{ "runs", OPT_RUNS, "N", 0, "Try at most N schedules [20]", 0 },
	{ "seed", OPT_SEED, "SEED", 0, "Draw the schedules from SEED [1]", 0 },
	{ "keep", OPT_KEEP, "FILE", 0, "Write the schedule to FILE [rocin.hunt]", 0 },
	{ "replay", OPT_REPLAY, "FILE", 0, "Run once with the schedule of FILE", 0 },
	{ "checker", OPT_CHECKER, "COMMAND", 0,
	  "The shell command says after each run whether the program was right, by its "
	  "status 0; without it, the program's own status does",
	  0 },
	{ "limit", OPT_LIMIT, "SECONDS", 0,
	  "A program that takes longer hangs, which is wrong [60]", 0 },
	{ "budget", OPT_BUDGET, "SECONDS", 0, "Try no other schedule after that time",
	  0 },
	{ "svg", OPT_SVG, "FILE", 0, "Draw what happens in the run that goes wrong", 0 },
	RN_OPTION_JSON(0),
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct hunt_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->settings;
		return 0;
	case OPT_RUNS:
		args->runs = rn_option_number(state, "runs", arg, 1, RUNS_MAX);
		return 0;
	case OPT_SEED:
		if (!rn_read_number(arg, 0, UINT64_MAX, &args->seed))
			rn_bad_value(state, options, key, arg);
		return 0;
	case OPT_KEEP:
		args->keep = arg;
		return 0;
	case OPT_REPLAY:
		args->replay = arg;
		return 0;
	case OPT_CHECKER:
		args->hunt.checker = arg;
		return 0;
	case OPT_LIMIT:
		if (!rn_read_seconds(arg, 0.01, 86400, &args->hunt.limit))
			rn_bad_value(state, options, key, arg);
		return 0;
	case OPT_BUDGET:
		if (!rn_read_seconds(arg, 0.01, 86400, &args->hunt.budget))
			rn_bad_value(state, options, key, arg);
		return 0;
	case OPT_SVG:
		args->svg = arg;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case ARGP_KEY_ARGS:
		args->hunt.program = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program? For instance: rocin hunt -- ./program");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &rn_run_settings_argp,
	  .header = "Options of `rocin run':",
	  .group = 1 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Look for late writes with which PROGRAM goes wrong, although the rules "
	       "of PCIe and verbs allow that they are late.\vThe status is 0 if nothing "
	       "was found, 1 if the program goes wrong, 64 for wrong arguments or a "
	       "schedule of another program. See rocin-hunt(1).",
	.children = children,
};

/* Refuses a program in which LD_PRELOAD does not work, because it would not find the
 * devices. Returns 0 or an exit status.
 */
static int check_program(char **program)
{
	char path[PATH_MAX], text[RN_PROGRAM_TEXT_MAX];
	enum rn_program_fault fault =
		rn_program_check(program[0], path, sizeof(path), text, sizeof(text));

	if (!rn_program_is_fault(fault))
		return 0;
	rn_complain("%s", text);
	return fault == RN_PROGRAM_NOT_FOUND ? RN_EXIT_NOT_FOUND : RN_EXIT_CANNOT_RUN;
}

/* Prints that @what has failed with the negative errno @rc. Returns the exit status. */
static int complain_of(const char *what, int rc)
{
	rn_complain("%s: %s", what, strerror(-rc));
	return RN_EXIT_FAILURE;
}

/* Draws a picture of the newest run, if the user wants one. Returns 0 or an exit status.
 */
static int draw_run(const struct hunt_args *args, const struct rn_hunt_set *late,
		    const struct rn_hunt_end *end)
{
	int rc = args->svg ? rn_hunt_draw(&args->hunt, late, end, args->svg) : 0;

	return rc ? complain_of(args->svg, rc) : 0;
}

/* Reports that a run could not be made, or that its files could not be read. If a signal
 * has ended the hunt, reports nothing. Returns the exit status.
 */
static int say_failed(const struct hunt_args *args, int rc)
{
	return rn_hunt_stopped() ? RN_EXIT_FAILURE : complain_of(args->hunt.folder, rc);
}

/* Runs the program once with the schedule @late (set of late writes). Returns 0 or an
 * exit status.
 */
static int run_with(struct hunt_args *args, const struct rn_hunt_set *late,
		    struct rn_hunt_end *end)
{
	int rc = rn_hunt_run(&args->hunt, late, end);

	return rc ? say_failed(args, rc) : 0;
}

/* ------------------------------------------------------ replay of a stored schedule */
static void join_words(char **words, char *text, size_t len)
{
	size_t used = 0;

	*text = '\0';
	for (; *words && used < len; words++)
		used += (size_t)snprintf(text + used, len - used, "%s%s", used ? " " : "",
					 *words);
}

/* Selects the PCIe settings that the schedule in @file names. If the user has set
 * ROCIN_PCIE, too, it must have the same settings. Returns 0 or an exit status.
 */
static int take_machine(const char *file)
{
	struct rn_hunt_set pcie = { 0 };
	const char *given = getenv("ROCIN_PCIE");
	int status = 0, rc = rn_hunt_read(&pcie, file, "pcie");

	if (rc) {
		rn_complain("%s: %s", file, strerror(-rc));
		status = RN_EXIT_USAGE;
	} else if (!pcie.count) {
		rn_complain("%s is no schedule: it has no line \"pcie KNOBS\"", file);
		status = RN_EXIT_USAGE;
	} else if (given && *given && strcmp(given, pcie.name[0]) != 0) {
		rn_complain("%s was made on a machine with --pcie=%s, not %s", file,
			    pcie.name[0], given);
		status = RN_EXIT_USAGE;
	} else {
		setenv("ROCIN_PCIE", pcie.name[0], 1);
	}
	rn_hunt_clear(&pcie);
	return status;
}

static size_t equal_bytes(const char *a, const char *b)
{
	size_t len = 0;

	while (a[len] && a[len] == b[len])
		len++;
	return len;
}

/* Returns the name of that write of the run whose name has the longest beginning in
 * common with @name. Returns NULL if the run has made no write.
 */
static const char *nearest_write(const struct rn_hunt_end *end, const char *name)
{
	const struct rn_hunt_set *const sets[] = { &end->landed, &end->late };
	const char *nearest = NULL;

	for (size_t k = 0; k < RN_ARRAY_SIZE(sets); k++)
		for (size_t i = 0; i < sets[k]->count; i++)
			if (!nearest || equal_bytes(sets[k]->name[i], name) >
						equal_bytes(nearest, name))
				nearest = sets[k]->name[i];
	return nearest;
}

/* Prints the writes of the schedule @late that do not occur in the run. Returns their
 * number.
 */
static unsigned compare(const struct hunt_args *args, const struct rn_hunt_set *late,
			const struct rn_hunt_end *end)
{
	struct rn_hunt_set made_of = { 0 };
	unsigned missing = 0;
	char program[1024];

	for (size_t i = 0; i < late->count; i++) {
		const char *nearest = nearest_write(end, late->name[i]);

		if (rn_hunt_has(&end->late, late->name[i]))
			continue;
		missing++;
		rn_complain("this run makes no write \"%s\"; %s%s%s", late->name[i],
			    nearest ? "the nearest that it makes is \"" : "it makes none",
			    nearest ? nearest : "", nearest ? "\"" : "");
	}
	join_words(args->hunt.program, program, sizeof(program));
	if (missing && !rn_hunt_read(&made_of, args->replay, "program") &&
	    made_of.count && strcmp(made_of.name[0], program) != 0)
		rn_complain("%s is a schedule of: %s", args->replay, made_of.name[0]);
	rn_hunt_clear(&made_of);
	return missing;
}

static int replay(struct hunt_args *args)
{
	struct rn_hunt_set late = { 0 };
	struct rn_hunt_end end = { 0 };
	int status = 0, rc = rn_hunt_read(&late, args->replay, "late");

	if (rc)
		status = complain_of(args->replay, rc);
	else
		status = run_with(args, &late, &end);
	rn_hunt_erase(&args->hunt);
	if (!status && compare(args, &late, &end))
		status = RN_EXIT_USAGE;
	if (!status)
		status = draw_run(args, &late, &end);
	if (!status && args->json)
		rn_hunt_print_json(&args->hunt, &late, &end, args->replay);
	else if (!status)
		rn_hunt_print(&args->hunt, &late, &end);
	if (!status)
		status = end.is_wrong;
	rn_hunt_clear(&late);
	rn_hunt_end_clear(&end);
	return status;
}

/* ----------------------------- search for a schedule, and the command's entry point */
/* Writes the schedule @late (set of late writes) to the file that the user has named.
 * Returns 0 or an exit status.
 */
static int keep(const struct hunt_args *args, const struct rn_hunt_set *late,
		const struct rn_hunt_end *end)
{
	char program[1024], head[4096];
	int rc;

	join_words(args->hunt.program, program, sizeof(program));
	snprintf(
		head, sizeof(head),
		"# These writes are late; all others land at once. The program %s then.\n"
		"program %s\npcie %s\n",
		end->how, program, getenv("ROCIN_PCIE"));
	rc = rn_hunt_write(late, args->keep, head);
	return rc ? complain_of(args->keep, rc) : 0;
}

/* Runs the program with the schedule @late until it goes wrong, and prints what happened
 * in that run. This may take several runs: whether a program that polls goes wrong also
 * depends on the time of its polls. Returns an exit status.
 */
static int say_found(struct hunt_args *args, const struct rn_hunt_set *late)
{
	struct rn_hunt_end end = { 0 };
	char program[1024];
	int status = 0;

	for (unsigned i = 0; i < SHOW_TRIES && !status && !end.is_wrong; i++) {
		rn_hunt_end_clear(&end);
		status = run_with(args, late, &end);
	}
	rn_hunt_erase(&args->hunt);
	if (!status)
		status = keep(args, late, &end);
	if (!status)
		status = draw_run(args, late, &end);
	if (!status && args->json) {
		rn_hunt_print_json(&args->hunt, late, &end, args->keep);
	} else if (!status) {
		join_words(args->hunt.program, program, sizeof(program));
		rn_hunt_print(&args->hunt, late, &end);
		printf("\nTo see it again:  rocin hunt --replay %s -- %s\n", args->keep,
		       program);
	}
	rn_hunt_end_clear(&end);
	return RN_EXIT_FAILURE;
}

static int hunt(struct hunt_args *args)
{
	struct rn_hunt_set found = { 0 };
	struct rn_hunt_end nothing = { 0 };
	int status = 0, rc = rn_hunt_search(&args->hunt, args->runs, args->seed, &found);
	bool is_found = rc == 1;

	if (is_found)
		rc = rn_hunt_shrink(&args->hunt, &found);
	rn_hunt_erase(&args->hunt);
	if (is_found && rc == 0)
		rn_complain("the program went wrong once (it %s), but not each time with "
			    "the same late writes",
			    args->hunt.how);
	if (rc < 0)
		status = say_failed(args, rc);
	else if (is_found)
		status = say_found(args, &found);
	else if (args->json)
		rn_hunt_print_json(&args->hunt, &found, &nothing, NULL);
	else
		rn_hunt_print_nothing(&args->hunt);
	rn_hunt_clear(&found);
	return status;
}

int rn_cmd_hunt(int argc, char **argv)
{
	static struct rn_launch launch;
	struct hunt_args args = { .runs = RUNS_PRESET, .seed = 1, .keep = "rocin.hunt" };
	char err[512];
	int status, rc;

	args.hunt.limit = 60;
	if (rn_argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &args))
		return RN_EXIT_USAGE;
	status = check_program(args.hunt.program);
	if (!status && args.replay)
		status = take_machine(args.replay);
	if (status)
		return status;
	/* With this value, rn_run_settings_apply() also preloads librocin-gpu.so, which
	 * the sanitizer needs if it closes pages to the program. rn_hunt_run() later
	 * replaces the value by the options of each run.
	 */
	setenv("ROCIN_SANITIZE", "all", 1);
	status = rn_run_settings_apply(&args.settings, &launch, err, sizeof(err));
	if (status) {
		rn_complain("%s%s%s", args.replay ? args.replay : "",
			    args.replay ? ": " : "", err);
		return status;
	}
	rc = rn_hunt_begin(&args.hunt);
	if (rc) {
		rn_complain("%s: %s", args.hunt.folder, strerror(-rc));
		return RN_EXIT_FAILURE;
	}
	status = args.replay ? replay(&args) : hunt(&args);
	rn_hunt_finish(&args.hunt);
	return rn_hunt_stopped() ? 128 + rn_hunt_stopped() : status;
}
