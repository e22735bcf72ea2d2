/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_main.c - rocin-bench: make a plan, have it carried out, report.
 *
 * Started by `rocin bench`, in the environment in which programs find the devices.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"
#include "tools/rocin/common/cmd.h"

/* Large, and one of each. */
static struct rn_bench_args args;
static struct rn_bench_plan plan;
static struct rn_bench_report report;
static char beside[64]; /* device, or empty */

static int complain(const char *what)
{
	fprintf(stderr, "rocin bench: %s\n", what);
	return RN_EXIT_FAILURE;
}

static int complain_of(const char *file, int rc)
{
	fprintf(stderr, "rocin bench: %s: %s\n", file, strerror(-rc));
	return RN_EXIT_FAILURE;
}

static int draw(FILE *to, const struct rn_bench_report *r)
{
	rn_bench_draw(to, r);
	return 0;
}

static int write_file(const char *path,
		      int (*print)(FILE *to, const struct rn_bench_report *r))
{
	FILE *to = fopen(path, "we");
	int rc;

	if (!to)
		return complain_of(path, -errno);
	rc = print(to, &report);
	if (fclose(to) && rc == 0)
		rc = -errno;
	return rc ? complain_of(path, rc) : 0;
}

static int tell(void)
{
	int rc = 0;

	if (args.json)
		rc = rn_bench_print_json(stdout, &report);
	else
		rn_bench_print_table(stdout, &report);
	if (rc || fflush(stdout))
		return complain_of("standard output", rc ? rc : -errno);
	if (args.save)
		rc = write_file(args.save, rn_bench_print_json);
	if (args.plot)
		rc |= write_file(args.plot, draw);
	return rc;
}

/* The ratios are told even if there is nothing to compare them with. */
static int compare_and_tell(const struct rn_bench_results *results,
			    const struct rn_bench_baseline *base)
{
	int rc = rn_bench_report_make(&report, &args, &plan, results);

	if (rc == 0 && base)
		rn_bench_baseline_compare(base, &report);
	rc = rc ? complain(strerror(-rc)) : tell();
	rn_bench_report_free(&report);
	return rc;
}

int main(int argc, char **argv)
{
	struct rn_bench_machine machine = { .local_wire = true };
	struct rn_bench_baseline *base = NULL;
	struct rn_bench_results results;
	char err[600];
	int rc;

	argp_err_exit_status = RN_EXIT_USAGE;
	rn_bench_args_parse(argc, argv, &args);
	machine.beside = rn_bench_find_beside(args.beside, beside, sizeof(beside));
	args.beside = beside;
	if (rn_bench_plan_make(&args, &machine, &plan, err, sizeof(err)))
		return complain(err);
	/* A minute of work is not lost for a file that cannot be read. */
	if (args.baseline) {
		base = rn_bench_baseline_read(args.baseline, err, sizeof(err));
		if (!base)
			return complain(err);
	}
	rc = rn_bench_rounds(&args, &plan, &results, err, sizeof(err));
	if (rc)
		rc = complain(err);
	else
		rc = compare_and_tell(&results, base);
	rn_bench_results_free(&results);
	rn_bench_baseline_free(base);
	return rc;
}
