/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - rocin-bench: makes a plan, measures its cells, prints the report.
 *
 * Started by `rocin bench`, in the environment in which programs find the devices.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "rocin/cpu.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "transport/io/rocind/rocind_client.h"

/* ---------------------------------------------------- measuring the cells in rounds */
/* In each round every cell (a measurement with its parameters) is measured once, for one
 * time slice, by its team of processes.
 */

enum {
	/* maximum number of slices in a row whose packets used the wrong wire (UDP or
	 * shared memory)
	 */
	TRIES_MAX = 5,
};

struct run {
	const struct rn_bench_args *args;
	const struct rn_bench_plan *plan;
	struct rn_bench_results *results;
	struct rn_bench_team *team;
	unsigned teams;
	unsigned team_of[RN_BENCH_CELLS_MAX];
	struct rn_rocind *daemon; /* connection to rocind; NULL: not connected yet */
	char *err;
	size_t err_len;
};

static void free_results(struct rn_bench_results *results)
{
	free(results->value);
	results->value = NULL;
}

static void show_progress(const struct run *r, const char *what, unsigned number,
			  unsigned of, unsigned cell)
{
	double left_s = (double)(of - number) * (r->plan->slice_ms * 1.3 + 2) *
			r->plan->cells / 1e3;
	char text[RN_BENCH_CELL_TEXT], left[32] = "";

	if (!isatty(STDERR_FILENO))
		return;
	rn_bench_cell_write(&r->plan->cell[cell], text);
	if (of == r->plan->rounds)
		snprintf(left, sizeof(left), ", %.0f s left", left_s);
	fprintf(stderr, "\r%s %u of %u%s  %s\033[K", what, number + 1, of, left, text);
}

static int start_teams(struct run *r)
{
	for (unsigned i = 0; i < r->plan->cells; i++) {
		const struct rn_bench_cell *cell = &r->plan->cell[i];
		unsigned t = 0;
		int rc;

		while (t < r->teams && !rn_bench_same_team(&r->team[t].like, cell))
			t++;
		r->team_of[i] = t;
		if (t < r->teams)
			continue;
		if (t == RN_BENCH_TEAMS_MAX) {
			snprintf(r->err, r->err_len,
				 "that needs more than %d sets of processes; choose "
				 "fewer counts of queue pairs and processes",
				 RN_BENCH_TEAMS_MAX);
			return -1;
		}
		r->teams++;
		rc = rn_bench_team_start(&r->team[t], r->args, r->plan, cell);
		if (rc) {
			snprintf(r->err, r->err_len, "no process: %s", strerror(-rc));
			return -1;
		}
	}
	return 0;
}

static bool opens_device(const struct rn_bench_cell *cell)
{
	return rn_bench_item_info[cell->item].family == RN_BENCH_VERBS;
}

/* Opens the cells that need a device (@device is true), or the others. Those with a
 * device are opened first, because the path MTU of the device is the packet size of the
 * others.
 */
static int open_cells(struct run *r, bool device)
{
	struct rn_bench_order order = { .what = RN_BENCH_ORDER_OPEN };

	for (unsigned i = 0; i < r->plan->cells; i++) {
		struct rn_bench_answer answer;
		struct rn_bench_value none;

		if (opens_device(&r->plan->cell[i]) != device)
			continue;
		show_progress(r, "opening", i, r->plan->cells, i);
		order.cell = i;
		order.path_mtu = device ? 0 : r->results->path_mtu;
		if (rn_bench_team_do(&r->team[r->team_of[i]], &order, &none, &answer,
				     r->err, r->err_len))
			return -1;
		if (r->plan->cell[i].wire != RN_BENCH_OVER_BESIDE)
			r->results->path_mtu = answer.path_mtu;
	}
	return 0;
}

static int pin_teams(struct run *r)
{
	for (unsigned i = 0; i < r->plan->cells; i++) {
		struct rn_bench_order order = { .what = RN_BENCH_ORDER_PIN, .cell = i };
		struct rn_bench_answer answer;
		struct rn_bench_value none;

		if (rn_bench_team_do(&r->team[r->team_of[i]], &order, &none, &answer,
				     r->err, r->err_len))
			return -1;
		r->results->pinned = answer.pinned;
	}
	return 0;
}

/* Measures a cell for one time slice. If the packets of the slice used another wire than
 * the cell demands, repeats the slice: a local wire (shared memory) is set up only during
 * the first slice.
 */
static int run_slice(struct run *r, const struct rn_bench_order *order)
{
	struct rn_bench_team *team = &r->team[r->team_of[order->cell]];
	const struct rn_bench_cell *cell = &r->plan->cell[order->cell];
	struct rn_bench_value *value =
		rn_bench_at(r->results, r->plan, order->round, order->cell);
	struct rn_bench_answer answer;

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		if (rn_bench_team_do(team, order, value, &answer, r->err, r->err_len))
			return -1;
		if (!rn_bench_wire_check(&r->daemon, team, cell, r->err, r->err_len))
			return 0;
	}
	return -1;
}

static int run_round(struct run *r, unsigned round)
{
	for (unsigned i = 0; i < r->plan->cells; i++) {
		/* Each round starts with the next measurement of the list, so that the
		 * order changes.
		 */
		unsigned cell = (i + round) % r->plan->cells;
		struct rn_bench_order order = { .what = RN_BENCH_ORDER_SLICE,
						.cell = cell,
						.round = round };

		show_progress(r, "round", round, r->plan->rounds, cell);
		if (run_slice(r, &order))
			return -1;
	}
	return 0;
}

static int run_all(struct run *r)
{
	if (start_teams(r) || open_cells(r, true) || open_cells(r, false) || pin_teams(r))
		return -1;
	for (unsigned round = 0; round < r->plan->rounds; round++)
		if (run_round(r, round))
			return -1;
	return 0;
}

/**
 * measure_rounds() - Measure all cells of a plan
 * @results:	Out; the caller must call free_results(), also after a failure
 * @err:	Out on failure: error text
 *
 * All processes started by this function have ended when it returns. If the calling
 * process dies before, they end as well.
 *
 * Return: 0 or -1.
 */
static int measure_rounds(const struct rn_bench_args *args,
			  const struct rn_bench_plan *plan,
			  struct rn_bench_results *results, char *err, size_t err_len)
{
	struct run r = { .args = args,
			 .plan = plan,
			 .results = results,
			 .err = err,
			 .err_len = err_len };
	int rc, ended = 0;

	*results = (struct rn_bench_results){ .path_mtu = 4096 };
	results->value =
		calloc((size_t)plan->rounds * plan->cells, sizeof(*results->value));
	r.team = calloc(RN_BENCH_TEAMS_MAX, sizeof(*r.team));
	if (!results->value || !r.team) {
		snprintf(err, err_len, "no memory");
		free(r.team);
		return -1;
	}
	rc = run_all(&r);
	for (unsigned i = 0; i < r.teams; i++)
		ended |= rn_bench_team_end(&r.team[i]);
	free(r.team);
	rn_rocind_close(r.daemon);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (rc == 0 && ended) {
		snprintf(err, err_len, "a measuring process did not end well");
		rc = -1;
	}
	return rc;
}

/* ----------------------------------- report, comparison with a baseline, and main() */
/* Static, because these structures are too large for the stack. */
static struct rn_bench_args options;
static struct rn_bench_plan bench_plan;
static struct rn_bench_report report;
static char beside[64]; /* name of the device that is compared with Rocin's, or empty */

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

static int print_json(FILE *to, const void *r)
{
	return rn_bench_print_json(to, r);
}

static int draw(FILE *to, const void *r)
{
	rn_bench_draw(to, r);
	return 0;
}

static int write_file(const char *path, rn_file_print print)
{
	int rc = rn_file_write(path, print, &report);

	return rc ? complain_of(path, rc) : 0;
}

static int print_report(void)
{
	int rc = 0;

	if (options.json)
		rc = rn_bench_print_json(stdout, &report);
	else
		rn_bench_print_table(stdout, &report);
	if (rc || fflush(stdout))
		return complain_of("standard output", rc ? rc : -errno);
	if (options.save)
		rc = write_file(options.save, print_json);
	if (options.plot)
		rc |= write_file(options.plot, draw);
	return rc;
}

/* Prints the report, with a comparison to the baseline if there is one. */
static int compare_and_tell(const struct rn_bench_results *results,
			    const struct rn_bench_baseline *base)
{
	int rc = rn_bench_report_make(&report, &options, &bench_plan, results);

	if (rc == 0 && base)
		rn_bench_baseline_compare(base, &report);
	rc = rc ? complain(strerror(-rc)) : print_report();
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

	enum rn_cpu_level level;

	argp_err_exit_status = RN_EXIT_USAGE;
	rn_bench_args_parse(argc, argv, &options);
	/* A wrong value of ROCIN_CPU is ignored here; opening a device reports it. */
	if (!rn_cpu_read(getenv("ROCIN_CPU"), &level))
		rn_cpu_limit(level);
	machine.beside = rn_bench_find_beside(options.beside, beside, sizeof(beside));
	options.beside = beside;
	if (rn_bench_plan_make(&options, &machine, &bench_plan, err, sizeof(err)))
		return complain(err);
	/* The baseline is read before the measurement, so that no time is lost if it
	 * cannot be read.
	 */
	if (options.baseline) {
		base = rn_bench_baseline_read(options.baseline, err, sizeof(err));
		if (!base)
			return complain(err);
	}
	rc = measure_rounds(&options, &bench_plan, &results, err, sizeof(err));
	if (rc)
		rc = complain(err);
	else
		rc = compare_and_tell(&results, base);
	free_results(&results);
	rn_bench_baseline_free(base);
	return rc;
}
