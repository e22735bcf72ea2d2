/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_sim.c - `rocin sim`: simulates random networks of devices ("worlds") in virtual
 * time, one for each seed.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "sim/world/world.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/progress.h"

struct sim_args {
	bool seeded; /* @first and @last were given by the user */
	uint64_t first, last;
	uint32_t devices;
	bool trace, whole, json, hashes, connections;
	const char *file, *replay;
	uint64_t until; /* number of calls to replay; 0: all */
	/* Options of --incast. Member senders is 0 if the user has not given --incast. */
	struct rn_sim_incast incast;
	struct rn_sim_fat_tree fat_tree;
};

enum {
	OPT_INCAST = 0x200,
	OPT_PLOT,
	OPT_CONNECTIONS,
};

struct sim_sum {
	struct rn_progress progress;
	uint64_t seeds, failed, packets, completions, events;
	uint64_t done[RN_WR_COUNT], steps[RN_DO_COUNT], datagrams;
	json_t *failures; /* failures for --json; NULL without that option */
};

static const struct argp_option options[] = {
	{ "seeds", 's', "A..B", 0, "Run seeds A to B, or one [1..200]", 0 },
	{ "file", 'f', "FILE", 0, "Run the seeds in this file, one in a line", 0 },
	{ "devices", 'd', "N", 0, "2 to 8 devices in every world", 0 },
	{ "trace", 't', NULL, 0, "Print all that happens", 0 },
	{ "whole", 'w', NULL, 0, "Do not make a failing run smaller", 0 },
	{ "hashes", 'x', NULL, 0, "Print a hash of each run", 0 },
	RN_OPTION_JSON(0),
	{ "incast", OPT_INCAST, "N", 0,
	  "Instead: up to 16 senders share a link, without and with congestion control",
	  0 },
	{ "connections", OPT_CONNECTIONS, NULL, 0,
	  "Instead: worlds of hosts whose programs connect", 0 },
	{ "topology", RN_OPT_TOPOLOGY, "fat-tree:K", 0,
	  "Instead: hosts load a fat tree of switches with K ports, 2 to 32", 0 },
	{ "hosts", RN_OPT_HOSTS, "N", 0, "Hosts of --topology, at most K^3/4 [as many]",
	  0 },
	{ "loss", RN_OPT_LOSS, "P%", 0,
	  "Lose so many of the packets on each link of --topology, up to 1%", 0 },
	{ "flaps", RN_OPT_FLAPS, "N", 0,
	  "So many times a link of --topology fails for a while", 0 },
	{ "pfc", RN_OPT_PFC, NULL, 0,
	  "Switches of --topology make senders pause instead of losing packets", 0 },
	{ "plot", OPT_PLOT, "FILE", 0, "Draw the rates of --incast (SVG)", 0 },
	{ "replay", 'r', "FILE", 0,
	  "Replay a run recorded by rocin run --record, and compare", 0 },
	{ "until", 'u', "N", 0, "Replay N calls", 0 },
	{ 0 },
};

static bool read_number(const char *text, char **end, uint64_t *number)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, end, 10);
	return errno == 0;
}

static bool read_seeds(const char *text, struct sim_args *args)
{
	char *end;

	if (!read_number(text, &end, &args->first))
		return false;
	args->last = args->first;
	if (!strncmp(end, "..", 2) && !read_number(end + 2, &end, &args->last))
		return false;
	return *end == '\0' && args->first <= args->last;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sim_args *args = state->input;
	uint64_t number = 0;

	switch (key) {
	case 's':
		if (!read_seeds(arg, args))
			argp_error(state, "\"%s\" is not A..B, nor a number", arg);
		args->seeded = true;
		return 0;
	case 'd':
		if (!rn_read_number(arg, 2, RN_PLAN_DEVICES, &number))
			argp_error(state, "\"%s\" is not a number from 2 to %d", arg,
				   RN_PLAN_DEVICES);
		args->devices = (uint32_t)number;
		return 0;
	case OPT_INCAST:
		if (!rn_read_number(arg, 1, RN_INCAST_SENDERS, &number))
			argp_error(state, "\"%s\" is not a number from 1 to %d", arg,
				   RN_INCAST_SENDERS);
		args->incast.senders = (uint32_t)number;
		return 0;
	case OPT_CONNECTIONS:
		args->connections = true;
		return 0;
	case OPT_PLOT:
		args->incast.plot = arg;
		return 0;
	case 'f':
		args->file = arg;
		return 0;
	case 'r':
		args->replay = arg;
		return 0;
	case 'u':
		if (!rn_read_number(arg, 1, UINT64_MAX, &args->until))
			argp_error(state, "\"%s\" is not a number of calls", arg);
		return 0;
	case 't':
		args->trace = true;
		return 0;
	case 'w':
		args->whole = true;
		return 0;
	case 'x':
		args->hashes = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument \"%s\"", arg);
		return 0;
	default:
		return rn_sim_fat_tree_parse(&args->fat_tree, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Run devices, links and faults in virtual time, made up from a seed, and "
	       "judge every step.\vA seed that fails is printed as the line that repeats "
	       "it, then made as small as it can be and shown. Ends with 1 if one "
	       "failed.",
};

static void print_line(void *ctx, rn_ns at, const char *line)
{
	fprintf(ctx, "%10lld.%03lld us  %s\n", (long long)(at / 1000),
		(long long)(at % 1000), line);
}

static void add_failure(struct sim_sum *sum, uint64_t seed, const struct rn_plan *plan,
			const struct rn_world_result *r)
{
	json_array_append_new(sum->failures,
			      json_pack("{s:I, s:s, s:I, s:i}", "seed", (json_int_t)seed,
					"why", r->why, "at_ns", (json_int_t)r->at, "size",
					(int)rn_plan_size(plan)));
}

static void report_failure(struct rn_world *w, const struct sim_args *args,
			   struct sim_sum *sum, struct rn_plan *plan,
			   struct rn_world_result *r)
{
	uint32_t size = rn_plan_size(plan);
	unsigned runs = 0;

	if (!sum->failures) {
		printf("rocin sim --seeds %llu", (unsigned long long)plan->seed);
		if (args->devices)
			printf(" --devices %u", args->devices);
		printf("\n    at %lld ns: %s\n", (long long)r->at, r->why);
	}
	if (!args->whole)
		runs = rn_world_shrink(w, plan, r);
	if (sum->failures) {
		add_failure(sum, plan->seed, plan, r);
	} else if (runs) {
		printf("%u of %u queue pairs, faults and steps are enough (%u runs):\n",
		       rn_plan_size(plan), size, runs);
		rn_world_run(w, plan, print_line, stdout, r);
		printf("    %s\n", r->why);
	}
}

/* The command that repeats the run. If an assertion of the transport fails, it ends the
 * program, and on_abort() prints this command.
 */
static char last_words[128];

static void on_abort(int number)
{
	(void)number;
	if (write(STDOUT_FILENO, last_words, strlen(last_words)) < 0)
		_exit(RN_EXIT_FAILURE);
}

static void prepare_last_words(const struct sim_args *args, uint64_t seed)
{
	int len = snprintf(last_words, sizeof(last_words), "rocin sim --seeds %llu",
			   (unsigned long long)seed);

	if (args->devices)
		len += snprintf(last_words + len, sizeof(last_words) - (size_t)len,
				" --devices %u", args->devices);
	snprintf(last_words + len, sizeof(last_words) - (size_t)len,
		 "\n    an assertion failed\n");
}

static void add_counts(struct sim_sum *sum, const struct rn_world_result *r)
{
	sum->datagrams += r->datagrams;
	for (unsigned i = 0; i < RN_WR_COUNT; i++)
		sum->done[i] += r->done[i];
	for (unsigned i = 0; i < RN_DO_COUNT; i++)
		sum->steps[i] += r->steps[i];
}

static void run_seed(struct rn_world *w, const struct sim_args *args, uint64_t seed,
		     struct sim_sum *sum)
{
	struct rn_world_result r;
	struct rn_plan plan;

	rn_progress_show(&sum->progress, "seed %llu: %llu run, %llu failed",
			 (unsigned long long)seed, (unsigned long long)sum->seeds,
			 (unsigned long long)sum->failed);
	prepare_last_words(args, seed);
	rn_plan_make(&plan, seed, args->devices);
	rn_world_run(w, &plan, args->trace ? print_line : NULL, stdout, &r);
	sum->seeds++;
	sum->packets += r.packets;
	sum->completions += r.completions;
	sum->events += r.events;
	add_counts(sum, &r);
	if (args->hashes)
		printf("%llu %016llx\n", (unsigned long long)seed,
		       (unsigned long long)r.hash);
	if (!r.failed)
		return;
	sum->failed++;
	rn_progress_erase(&sum->progress);
	report_failure(w, args, sum, &plan, &r);
}

/* Context of run_line(), which is called for each line of a file of seeds. */
struct seed_file {
	struct rn_world *w;
	const struct sim_args *args;
	struct sim_sum *sum;
};

/* Runs the world (simulated network) of the seed that a line of the file contains.
 * Returns 0, or RN_EXIT_USAGE after an error message.
 */
static int run_line(void *ctx, char *line, unsigned number)
{
	const struct seed_file *f = ctx;
	uint64_t seed;
	char *end;

	if (line[0] == '#' || line[0] == '\0')
		return 0;
	if (!read_number(line, &end, &seed) || !strchr(" \t", *end)) {
		rn_complain("%s:%u: expected a seed", f->args->file, number);
		return RN_EXIT_USAGE;
	}
	run_seed(f->w, f->args, seed, f->sum);
	return 0;
}

static int run_file(struct rn_world *w, const struct sim_args *args, struct sim_sum *sum)
{
	struct seed_file f = { .w = w, .args = args, .sum = sum };
	int rc = rn_file_lines(args->file, run_line, &f);

	if (rc >= 0)
		return rc;
	rn_complain("%s: %s", args->file, strerror(-rc));
	return RN_EXIT_FAILURE;
}

static json_t *done_json(const struct sim_sum *sum)
{
	static const char *const name[RN_WR_COUNT] = {
#define X(symbol, number, operands, word, name, words) [RN_WR_##symbol] = (name),
		RN_WR_OPCODES(X)
#undef X
	};
	json_t *all = json_object();

	for (unsigned i = 0; i < RN_WR_COUNT; i++)
		if (name[i])
			json_object_set_new(all, name[i],
					    json_integer((json_int_t)sum->done[i]));
	json_object_set_new(all, "datagram", json_integer((json_int_t)sum->datagrams));
	return all;
}

static json_t *steps_json(const struct sim_sum *sum)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < RN_DO_COUNT; i++)
		json_object_set_new(all, rn_plan_do_name((enum rn_plan_do)i),
				    json_integer((json_int_t)sum->steps[i]));
	return all;
}

static void print_sum(const struct sim_sum *sum)
{
	json_t *all;

	if (!sum->failures) {
		printf("%llu seeds, %llu failed: %llu packets, %llu completions\n",
		       (unsigned long long)sum->seeds, (unsigned long long)sum->failed,
		       (unsigned long long)sum->packets,
		       (unsigned long long)sum->completions);
		return;
	}
	all = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:O}", "seeds",
			(json_int_t)sum->seeds, "failed", (json_int_t)sum->failed,
			"packets", (json_int_t)sum->packets, "completions",
			(json_int_t)sum->completions, "succeeded", done_json(sum),
			"steps", steps_json(sum), "failures", sum->failures);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

int rn_cmd_sim(int argc, char **argv)
{
	struct sim_args args = { .first = 1, .last = 200 };
	struct sim_sum sum = { 0 };
	struct rn_world *w;
	int rc = 0;

	rn_argp_parse(&argp, argc, argv, 0, &args);
	if (args.incast.senders) {
		args.incast.seed = args.first;
		args.incast.json = args.json;
		return rn_sim_incast(&args.incast);
	}
	if (args.fat_tree.ports) {
		args.fat_tree.first = args.first;
		args.fat_tree.last = args.seeded ? args.last : args.first;
		args.fat_tree.json = args.json;
		args.fat_tree.hashes = args.hashes;
		return rn_sim_fat_tree(&args.fat_tree);
	}
	if (args.connections) {
		const struct rn_sim_connections connections = { .first = args.first,
								.last = args.last,
								.hosts = args.devices,
								.trace = args.trace,
								.json = args.json,
								.hashes = args.hashes };

		return rn_sim_connections(&connections);
	}
	if (args.replay) {
		const struct rn_sim_replay replay = { .file = args.replay,
						      .until = args.until,
						      .trace = args.trace,
						      .json = args.json };

		return rn_sim_replay(&replay);
	}
	signal(SIGABRT, on_abort);
	w = rn_world_new();
	if (!w) {
		rn_complain("%s", strerror(ENOMEM));
		return RN_EXIT_FAILURE;
	}
	sum.failures = args.json ? json_array() : NULL;
	rn_progress_begin(&sum.progress, !args.trace && !args.hashes);
	if (args.file)
		rc = run_file(w, &args, &sum);
	for (uint64_t seed = args.first; !args.file && seed <= args.last; seed++)
		run_seed(w, &args, seed, &sum);
	rn_progress_erase(&sum.progress);
	if (!rc && !args.hashes)
		print_sum(&sum);
	json_decref(sum.failures);
	rn_world_free(w);
	return rc ? rc : sum.failed ? RN_EXIT_FAILURE : 0;
}
