/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fat_tree.c - `rocin sim --topology`: simulates a fat tree of switches, one run for
 * each seed.
 */
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/fabric/fat_tree.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/progress.h"
#include "transport/io/fault/fault_rules.h"

enum {
	/* Maximum loss in packets per million, on each of up to six links between two
	 * hosts. With a much higher loss, all transmissions of a request could be lost by
	 * chance, and the request would fail without an error of the transport.
	 */
	LOSS_MAX = 10000,
	FLAPS_MAX = 10000,
};

static const char prefix[] = "fat-tree:";

/* ------------------------------------------------------ options of the command line */
static bool read_ports(const char *text, uint32_t *ports)
{
	uint64_t number;

	if (strncmp(text, prefix, strlen(prefix)) != 0 ||
	    !rn_read_number(text + strlen(prefix), 2, RN_FAT_TREE_PORTS, &number) ||
	    number % 2)
		return false;
	*ports = (uint32_t)number;
	return true;
}

static void check_options(const struct rn_sim_fat_tree *args, struct argp_state *state)
{
	if (!args->ports && (args->hosts || args->loss_ppm || args->flaps || args->pfc))
		argp_error(state,
			   "--hosts, --loss, --flaps and --pfc are for --topology");
	if (args->ports && args->hosts > rn_fat_tree_hosts(args->ports))
		argp_error(state, "fat-tree:%u has room for %u hosts", args->ports,
			   rn_fat_tree_hosts(args->ports));
}

error_t rn_sim_fat_tree_parse(struct rn_sim_fat_tree *args, int key, char *arg,
			      struct argp_state *state)
{
	const uint32_t hosts_max = rn_fat_tree_hosts(RN_FAT_TREE_PORTS);
	uint64_t number = 0;

	switch (key) {
	case RN_OPT_TOPOLOGY:
		if (!read_ports(arg, &args->ports))
			argp_error(state,
				   "\"%s\" is not fat-tree:K, K even, from 2 to %d", arg,
				   RN_FAT_TREE_PORTS);
		return 0;
	case RN_OPT_HOSTS:
		if (!rn_read_number(arg, 2, hosts_max, &number))
			argp_error(state, "\"%s\" is not a number from 2 to %u", arg,
				   hosts_max);
		args->hosts = (uint32_t)number;
		return 0;
	case RN_OPT_LOSS:
		if (!rn_fault_percent(arg, strlen(arg), &number) || number > LOSS_MAX)
			argp_error(state, "\"%s\" is not a chance from 0%% to 1%%", arg);
		args->loss_ppm = (uint32_t)number;
		return 0;
	case RN_OPT_FLAPS:
		if (!rn_read_number(arg, 0, FLAPS_MAX, &number))
			argp_error(state, "\"%s\" is not a number from 0 to %d", arg,
				   FLAPS_MAX);
		args->flaps = (uint32_t)number;
		return 0;
	case RN_OPT_PFC:
		args->pfc = true;
		return 0;
	case ARGP_KEY_END:
		check_options(args, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* -------------------------------------------------------------- output for one seed */
struct seed_run {
	uint64_t seed;
	struct rn_fat_tree_cfg cfg;
	struct rn_fat_tree_result r;
	double seconds; /* duration of the run in seconds */
	struct rn_progress progress;
};

static uint64_t per_second(const struct seed_run *s)
{
	return s->seconds > 0 ? (uint64_t)((double)s->r.events / s->seconds) : 0;
}

static const char *traffic_name(const struct rn_fat_tree_result *r)
{
	return r->traffic == RN_FAT_TREE_INCAST ? "incast" : "permutation";
}

/* Prints the command that repeats the run @s, which has failed. */
static void print_failure(const struct seed_run *s)
{
	printf("rocin sim --topology %s%u --hosts %u --seeds %" PRIu64, prefix, s->cfg.k,
	       s->cfg.hosts, s->seed);
	if (s->cfg.loss_ppm)
		printf(" --loss %u.%04u%%", s->cfg.loss_ppm / 10000,
		       s->cfg.loss_ppm % 10000);
	if (s->cfg.flaps)
		printf(" --flaps %u", s->cfg.flaps);
	if (s->cfg.pfc)
		printf(" --pfc");
	printf("\n    at %lld ns: %s\n", (long long)s->r.at, s->r.why);
}

static void print_head(const struct rn_sim_fat_tree *args,
		       const struct rn_fat_tree_cfg *cfg)
{
	if (args->json || args->hashes)
		return;
	printf("%u hosts, %u switches of %u ports\n\n"
	       "%6s %-11s %9s %9s %10s %9s %7s %7s %7s %7s %10s %8s %10s\n",
	       cfg->hosts, rn_fat_tree_switches(cfg->k), cfg->k, "SEED", "TRAFFIC",
	       "MESSAGES", "MB", "MS", "PACKETS", "LOST", "RESENT", "MARKED", "CNPS",
	       "EVENTS", "KB/HOST", "EVENTS/S");
}

static void print_line(const struct seed_run *s)
{
	const struct rn_fat_tree_result *r = &s->r;

	printf("%6" PRIu64 " %-11s %9" PRIu64 " %9.1f %10.3f %9" PRIu64 " %7" PRIu64
	       " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %10" PRIu64 " %8.1f %10" PRIu64
	       "\n",
	       s->seed, traffic_name(r), r->completed, (double)r->bytes / 1e6,
	       (double)r->done / 1e6, r->packets, r->lost, r->retransmitted, r->marked,
	       r->cnps, r->events, (double)r->memory / 1e3 / s->cfg.hosts, per_second(s));
}

static json_t *run_json(const struct seed_run *s)
{
	const struct rn_fat_tree_result *r = &s->r;
	json_t *run = json_pack(
		"{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:I, s:I, s:I}",
		"seed", (json_int_t)s->seed, "traffic", traffic_name(r), "flows",
		(json_int_t)r->flows, "messages", (json_int_t)r->completed, "bytes",
		(json_int_t)r->bytes, "ns", (json_int_t)r->done, "packets",
		(json_int_t)r->packets, "lost", (json_int_t)r->lost, "dropped",
		(json_int_t)r->dropped, "retransmitted", (json_int_t)r->retransmitted,
		"timeouts", (json_int_t)r->timeouts, "marked", (json_int_t)r->marked,
		"cnps", (json_int_t)r->cnps, "pauses", (json_int_t)r->pauses, "events",
		(json_int_t)r->events, "bytes_per_host",
		(json_int_t)(r->memory / s->cfg.hosts), "events_per_second",
		(json_int_t)per_second(s));

	if (r->failed)
		json_object_update_new(run, json_pack("{s:s, s:I}", "why", r->why,
						      "at_ns", (json_int_t)r->at));
	return run;
}

/* ---------------------------------------------------------------- running the seeds */
static void show_progress(void *ctx, const struct rn_fat_tree_result *r)
{
	struct seed_run *s = ctx;

	rn_progress_show(&s->progress, "seed %" PRIu64 ": %" PRIu64 " %%", s->seed,
			 r->completed * 100 / r->wanted);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs the simulation of one seed. Returns 0 or -ENOMEM. */
static int run_seed(struct seed_run *s)
{
	double began = now();
	int rc;

	s->cfg.seed = s->seed;
	s->cfg.progress = show_progress;
	s->cfg.ctx = s;
	rc = rn_fat_tree_run(&s->cfg, &s->r);
	s->seconds = now() - began;
	rn_progress_erase(&s->progress);
	return rc;
}

static void report_run(const struct rn_sim_fat_tree *args, const struct seed_run *s,
		       json_t *runs)
{
	if (args->hashes)
		printf("%" PRIu64 " %016" PRIx64 "\n", s->seed, s->r.hash);
	else if (args->json)
		json_array_append_new(runs, run_json(s));
	else if (!s->r.failed)
		print_line(s);
	if (s->r.failed && !args->json)
		print_failure(s);
}

int rn_sim_fat_tree(const struct rn_sim_fat_tree *args)
{
	struct seed_run s = { .cfg = { .k = args->ports,
				       .hosts = args->hosts
							? args->hosts
							: rn_fat_tree_hosts(args->ports),
				       .cc = RN_CC_ON,
				       .loss_ppm = args->loss_ppm,
				       .flaps = args->flaps,
				       .pfc = args->pfc } };
	json_t *runs = json_array(), *all;
	uint64_t failed = 0;

	print_head(args, &s.cfg);
	rn_progress_begin(&s.progress, true);
	for (s.seed = args->first; s.seed <= args->last; s.seed++) {
		if (run_seed(&s)) {
			json_decref(runs);
			rn_complain("%s", strerror(ENOMEM));
			return RN_EXIT_FAILURE;
		}
		failed += s.r.failed;
		report_run(args, &s, runs);
	}
	if (args->json) {
		all = json_pack("{s:I, s:I, s:I, s:I, s:O}", "ports", (json_int_t)s.cfg.k,
				"hosts", (json_int_t)s.cfg.hosts, "switches",
				(json_int_t)rn_fat_tree_switches(s.cfg.k), "failed",
				(json_int_t)failed, "runs", runs);
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(all);
	}
	json_decref(runs);
	return failed ? RN_EXIT_FAILURE : 0;
}
