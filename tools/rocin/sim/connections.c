/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections.c - `rocin sim --connections`: simulates hosts that connect by rdma_cm, one
 * run for each seed.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "sim/fabric/connections.h"
#include "tools/rocin/common/cmd.h"

struct sum {
	uint64_t seeds, failed;
	struct rn_connections_result of;
	json_t *failures; /* failures for --json; NULL without that option */
};

static void print_line(void *ctx, rn_ns at, const char *line)
{
	fprintf(ctx, "%10lld.%06lld s  %s\n", (long long)(at / 1000000000),
		(long long)(at / 1000 % 1000000), line);
}

static void add_result(struct rn_connections_result *sum,
		       const struct rn_connections_result *r)
{
	sum->asked += r->asked;
	sum->established += r->established;
	sum->resolved += r->resolved;
	sum->refused += r->refused;
	sum->ended += r->ended;
	sum->messages += r->messages;
	sum->lost += r->lost;
	sum->doubled += r->doubled;
	sum->late += r->late;
	sum->crashes += r->crashes;
	sum->reboots += r->reboots;
}

/* Reports that the run of a seed has failed, with the command that repeats it. */
static void report_failure(const struct rn_sim_connections *args, uint64_t seed,
			   const struct rn_connections_result *r, struct sum *sum)
{
	if (sum->failures) {
		json_array_append_new(sum->failures,
				      json_pack("{s:I, s:s, s:I}", "seed",
						(json_int_t)seed, "why", r->why, "at_ns",
						(json_int_t)r->at));
		return;
	}
	printf("rocin sim --connections --seeds %llu", (unsigned long long)seed);
	if (args->hosts)
		printf(" --devices %u", args->hosts);
	printf(" --trace\n    at %lld ns: %s\n", (long long)r->at, r->why);
}

static int run_seed(const struct rn_sim_connections *args, uint64_t seed, struct sum *sum)
{
	const struct rn_connections_cfg cfg = {
		.seed = seed,
		.hosts = args->hosts,
		.trace = args->trace ? print_line : NULL,
		.trace_ctx = stdout,
	};
	struct rn_connections_result r;

	if (rn_connections_run(&cfg, &r)) {
		rn_complain("%s", strerror(ENOMEM));
		return RN_EXIT_FAILURE;
	}
	sum->seeds++;
	add_result(&sum->of, &r);
	if (args->hashes)
		printf("%llu %016llx\n", (unsigned long long)seed,
		       (unsigned long long)r.hash);
	if (!r.failed)
		return 0;
	sum->failed++;
	report_failure(args, seed, &r, sum);
	return 0;
}

static void print_json(const struct sum *sum)
{
	const struct rn_connections_result *r = &sum->of;
	json_t *all = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}",
		"seeds", (json_int_t)sum->seeds, "failed", (json_int_t)sum->failed,
		"asked", (json_int_t)r->asked, "established", (json_int_t)r->established,
		"resolved", (json_int_t)r->resolved, "refused", (json_int_t)r->refused,
		"disconnected", (json_int_t)r->ended, "messages", (json_int_t)r->messages,
		"lost", (json_int_t)r->lost, "doubled", (json_int_t)r->doubled, "late",
		(json_int_t)r->late, "crashes", (json_int_t)r->crashes, "reboots",
		(json_int_t)r->reboots, "failures", sum->failures);

	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

static void print_sum(const struct sum *sum)
{
	const struct rn_connections_result *r = &sum->of;

	printf("%llu seeds, %llu failed: %llu connections asked for, %llu made, %llu "
	       "lookups answered, %llu messages, %llu lost, %llu crashes, %llu reboots\n",
	       (unsigned long long)sum->seeds, (unsigned long long)sum->failed,
	       (unsigned long long)r->asked, (unsigned long long)r->established,
	       (unsigned long long)r->resolved, (unsigned long long)r->messages,
	       (unsigned long long)r->lost, (unsigned long long)r->crashes,
	       (unsigned long long)r->reboots);
}

int rn_sim_connections(const struct rn_sim_connections *args)
{
	struct sum sum = { .failures = args->json ? json_array() : NULL };
	int rc = 0;

	for (uint64_t seed = args->first; !rc && seed <= args->last; seed++)
		rc = run_seed(args, seed, &sum);
	if (!rc && args->json)
		print_json(&sum);
	else if (!rc && !args->hashes)
		print_sum(&sum);
	json_decref(sum.failures);
	return rc ? rc : sum.failed ? RN_EXIT_FAILURE : 0;
}
