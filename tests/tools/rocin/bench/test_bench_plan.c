/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bench_plan.c - which cells a run measures, how they are written, and what a table
 * says of made-up values.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/bench/bench.h"

static const struct rn_bench_machine bare, rich = { .local_wire = true, .beside = true };
static struct rn_bench_args args;
static struct rn_bench_plan plan;
static char err[300];

static int fresh(void **state)
{
	(void)state;
	args = (struct rn_bench_args){ .rounds = 10 };
	return 0;
}

/* What the command line does with --only. */
static void only(const char *text)
{
	assert_int_equal(
		rn_bench_cell_read(&args.only[args.only_count++], text, err, sizeof(err)),
		0);
}

static bool has(const char *text)
{
	for (unsigned i = 0; i < plan.cells; i++) {
		char own[RN_BENCH_CELL_TEXT];

		rn_bench_cell_write(&plan.cell[i], own);
		if (strcmp(own, text) == 0)
			return true;
	}
	return false;
}

static bool has_ratio(const char *text)
{
	for (unsigned i = 0; i < plan.ratios; i++) {
		char own[200];

		rn_bench_ratio_write(&plan, &plan.ratio[i], own, sizeof(own));
		if (strcmp(own, text) == 0)
			return true;
	}
	return false;
}

static int make(const struct rn_bench_machine *machine)
{
	return rn_bench_plan_make(&args, machine, &plan, err, sizeof(err));
}

/* --------------------------------------------------------------------- cells */
static void a_cell_is_written_as_it_is_read(void **state)
{
	static const char *const same[] = {
		"write_bw",
		"write_bw:64K",
		"send_bw:8M",
		"send_rate:qps=100",
		"send_lat:processes=4",
		"udp_bw:rcvbuf=208K",
		"write_bw:local",
		"read_bw:8:qps=10:processes=8:beside",
		"burst_rate:96:qps=10000:rcvbuf=1M",
		"send_lat:processes=4:packed",
		"send_rate:threads=8",
		"send_rate:threads=1:td",
		"write_bw:64K:processes=4:threads=8:shared:local",
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(same); i++) {
		struct rn_bench_cell cell;
		char text[RN_BENCH_CELL_TEXT];

		assert_int_equal(rn_bench_cell_read(&cell, same[i], err, sizeof(err)), 0);
		rn_bench_cell_write(&cell, text);
		assert_string_equal(text, same[i]);
	}
}

static void a_cell_forgets_what_it_does_not_depend_on(void **state)
{
	static const char *const pairs[][2] = {
		{ "write_bw:1M:qps=1:processes=2:udp", "write_bw" },
		{ "tcp_bw:qps=7:rcvbuf=1M:local", "tcp_bw" },
		{ "udp_lat:local", "udp_lat" },
		{ "send_lat:qps=5", "send_lat" },
		{ "send_bw:rcvbuf=1M:local", "send_bw:local" },
		{ "memcpy_bw:1024", "memcpy_bw:1K" },
		{ "send_rate:packed", "send_rate" },
		{ "send_rate:threads=1:shared", "send_rate" },
		{ "send_rate:qps=4:threads=2", "send_rate:threads=2" },
		{ "send_lat:threads=4:td", "send_lat" },
		{ "udp_rate:threads=4", "udp_rate" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(pairs); i++) {
		struct rn_bench_cell cell;
		char text[RN_BENCH_CELL_TEXT];

		assert_int_equal(rn_bench_cell_read(&cell, pairs[i][0], err, sizeof(err)),
				 0);
		rn_bench_cell_write(&cell, text);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void what_is_no_cell_is_refused_with_its_words(void **state)
{
	static const char *const wrong[][2] = {
		{ "", "\"\"" },
		{ "write_bwx", "\"write_bwx\"" },
		{ "write_bw:", "\"\"" },
		{ "write_bw:7", "\"7\"" },
		{ "write_bw:9M", "\"9M\"" },
		{ "write_bw:4k", "\"4k\"" },
		{ "write_bw:4096M", "\"4096M\"" },
		{ "write_bw:99999999999999999999", "\"99999999999999999999\"" },
		{ "atomic_lat:16", "\"16\"" },
		{ "write_bw:qps=0", "\"qps=0\"" },
		{ "write_bw:qps=10001", "\"qps=10001\"" },
		{ "write_bw:processes=3", "\"processes=3\"" },
		{ "write_bw:processes=34", "\"processes=34\"" },
		{ "write_bw:rcvbuf=1", "\"rcvbuf=1\"" },
		{ "write_bw:lokal", "\"lokal\"" },
		{ "write_bw:threads=0", "\"threads=0\"" },
		{ "write_bw:threads=33", "\"threads=33\"" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rn_bench_cell cell;

		assert_int_equal(rn_bench_cell_read(&cell, wrong[i][0], err, sizeof(err)),
				 -EINVAL);
		if (!strstr(err, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], err);
	}
}

/* --------------------------------------------------------------------- plans */
static void the_standard_has_each_item_once(void **state)
{
	(void)state;
	assert_int_equal(make(&bare), 0);
	assert_int_equal(plan.cells, RN_BENCH_ITEM_COUNT);
	assert_true(has_ratio("write_bw / tcp_bw"));
	assert_true(has_ratio("write_lat / udp_lat"));
	assert_false(has_ratio("tcp_bw / udp_bw"));
	assert_int_equal(plan.slice_ms, 50);
}

/* Each number of threads is measured in three ways, and held against one thread. */
static void threads_have_queues_of_their_own_or_share_one(void **state)
{
	(void)state;
	args.threads = (struct rn_bench_list){ { 1, 8 }, 2 };
	assert_int_equal(make(&bare), 0);
	assert_true(has("send_rate"));
	assert_true(has("send_rate:threads=1:td"));
	assert_true(has("send_rate:threads=8"));
	assert_true(has("send_rate:threads=8:td"));
	assert_true(has("send_rate:threads=8:shared"));
	assert_false(has("send_lat:threads=8"));
	assert_true(has("udp_rate"));
	assert_true(has_ratio("send_rate:threads=8:td / send_rate"));
	assert_true(has_ratio("send_rate:threads=8:shared / send_rate"));
	assert_false(has_ratio("send_rate / send_rate"));
}

/* Pairs of processes are held against one pair, if it is measured, too. */
static void several_pairs_are_held_against_one(void **state)
{
	(void)state;
	args.processes = (struct rn_bench_list){ { 2, 16 }, 2 };
	assert_int_equal(make(&bare), 0);
	assert_true(has_ratio("write_bw:processes=16 / write_bw"));
	assert_true(has_ratio("tcp_bw:processes=16 / tcp_bw"));
}

static void other_wires_are_measured_where_there_are_some(void **state)
{
	(void)state;
	assert_int_equal(make(&rich), 0);
	assert_true(has("write_bw:local"));
	assert_true(has("send_lat:beside"));
	assert_false(has("tcp_bw:local"));
	assert_true(has_ratio("send_lat:local / udp_lat"));
}

static void choices_multiply_but_equal_cells_are_one(void **state)
{
	(void)state;
	only("send_bw");
	only("tcp_bw");
	args.sizes = (struct rn_bench_list){ { 64, 4096 }, 2 };
	args.qps = (struct rn_bench_list){ { 1, 10, 100 }, 3 };
	args.processes = (struct rn_bench_list){ { 2, 4 }, 2 };
	assert_int_equal(make(&bare), 0);
	assert_int_equal(plan.cells, 2 * 3 * 2 + 2 * 2);
	assert_true(has("send_bw:64:qps=100:processes=4"));
	assert_true(has_ratio("send_bw:4K:qps=10:processes=4 / tcp_bw:4K:processes=4"));
}

static void a_size_that_an_item_cannot_have_is_left_out(void **state)
{
	(void)state;
	only("udp_lat");
	args.sizes = (struct rn_bench_list){ { 64, 1 << 20 }, 2 };
	assert_int_equal(make(&bare), 0);
	assert_int_equal(plan.cells, 1);
	args.sizes = (struct rn_bench_list){ { 1 << 20 }, 1 };
	assert_int_equal(make(&bare), -ENODEV);
}

static void what_was_asked_for_by_name_must_be_there(void **state)
{
	(void)state;
	only("write_bw:local");
	assert_int_equal(make(&bare), -ENODEV);
	assert_non_null(strstr(err, "no local wire"));
	assert_int_equal(make(&rich), 0);
}

static void bars_are_all_there_whatever_the_machine_has(void **state)
{
	unsigned rows, missing = 0;

	(void)state;
	args.set = RN_BENCH_BARS;
	assert_int_equal(make(&bare), 0);
	rows = plan.ratios;
	for (unsigned i = 0; i < rows; i++)
		missing += plan.ratio[i].why_not &&
			   !strcmp(plan.ratio[i].why_not, "not built");
	assert_int_equal(missing, 3);
	assert_int_equal(make(&rich), 0);
	assert_int_equal(plan.ratios, rows);
	assert_true(
		has_ratio("send_lat:processes=4:packed - udp_lat:processes=4:packed"));
	assert_true(has_ratio("write_bw:rcvbuf=208K / udp_crc_bw:rcvbuf=208K"));
	assert_true(has_ratio("write_bw:local / ring_bw"));
	assert_true(has_ratio("send_lat:local - 4 x line_lat"));
}

static void a_sweep_goes_over_all_sizes(void **state)
{
	(void)state;
	args.set = RN_BENCH_SWEEP;
	assert_int_equal(make(&rich), 0);
	assert_true(has("write_bw:8"));
	assert_true(has("write_bw:8M:local"));
	assert_true(has("udp_lat:32K"));
	assert_true(has_ratio("read_bw:256K / tcp_bw:256K"));
	args.sizes = (struct rn_bench_list){ { 100 }, 1 };
	assert_int_equal(make(&bare), 0);
	assert_true(has("write_bw:100"));
	assert_false(has("write_bw"));
}

static void too_much_is_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_BENCH_LIST_MAX; i++) {
		args.qps.value[args.qps.count++] = i + 1;
		args.sizes.value[args.sizes.count++] = 8 * (i + 1);
	}
	assert_int_equal(make(&bare), -E2BIG);
}

static void slices_and_rounds_fit_the_time(void **state)
{
	static const struct {
		unsigned time_s, slice_ms; /* given */
		unsigned least_ms, most_ms;
	} cases[] = { { 10, 0, 8000, 10001 },
		      { 100, 0, 80000, 100010 },
		      { 10, 20, 8000, 10001 } };

	(void)state;
	only("send_lat");
	only("udp_lat");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		double takes;

		args.time_s = cases[i].time_s;
		args.slice_ms = cases[i].slice_ms;
		assert_int_equal(make(&bare), 0);
		takes = plan.rounds * plan.cells * plan.slice_ms * 1.3;
		assert_true(takes >= cases[i].least_ms && takes <= cases[i].most_ms);
		assert_true(!cases[i].slice_ms || plan.slice_ms == cases[i].slice_ms);
	}
}

/* Fewer than five rounds say nothing, and more than a thousand have no room. */
static void rounds_keep_within_limits_whatever_the_time(void **state)
{
	(void)state;
	only("send_lat");
	args.time_s = 1;
	args.slice_ms = 500;
	assert_int_equal(make(&bare), 0);
	assert_int_equal(plan.rounds, 5);
	args.time_s = 1000000;
	args.slice_ms = 0;
	assert_int_equal(make(&bare), 0);
	assert_int_equal(plan.rounds, RN_BENCH_ROUNDS_MAX);
}

/* ------------------------------------------------------------------- reports */
static struct rn_bench_report report;
static struct rn_bench_results results;

/* Values of send_lat (cell 0) and udp_lat (cell 1): the machine slows down round by
 * round, which the ratios do not see.
 */
static void measure(unsigned rounds, double factor)
{
	only("send_lat");
	only("udp_lat");
	args.rounds = rounds;
	assert_int_equal(make(&bare), 0);
	results.value = calloc((size_t)rounds * plan.cells, sizeof(*results.value));
	assert_non_null(results.value);
	for (unsigned i = 0; i < rounds; i++) {
		double slow = 1 + i, own = factor * (1 + 0.01 * (i % 3));

		*rn_bench_at(&results, &plan, i, 0) =
			(struct rn_bench_value){ 2 * slow * own, 1, 2, 3 + i, 2, 4 };
		*rn_bench_at(&results, &plan, i, 1) =
			(struct rn_bench_value){ slow, 1, 2, NAN, 2, 4 };
	}
	assert_int_equal(rn_bench_report_make(&report, &args, &plan, &results), 0);
}

static int forget(void **state)
{
	(void)state;
	rn_bench_report_free(&report);
	free(results.value);
	results.value = NULL;
	return 0;
}

static void ratios_are_formed_within_a_round(void **state)
{
	(void)state;
	measure(9, 1);
	assert_int_equal(plan.ratios, 1);
	assert_true(fabs(report.ratio[0].value.median - 2.02) < 1e-9);
	assert_true(report.ratio[0].value.max < 2.05);
	assert_true(report.cell[0].value.max > 17);
	assert_true(fabs(report.cell[0].p99_9 - 7) < 1e-9);
}

/* What the table says when at least @bar is meant of a ratio that is 2.02. */
static char *table_with(double bar)
{
	size_t len;
	char *text;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	rn_bench_report_free(&report);
	plan.ratio[0].work = "work";
	plan.ratio[0].meant = RN_BENCH_AT_LEAST;
	plan.ratio[0].bar = bar;
	assert_int_equal(rn_bench_report_make(&report, &args, &plan, &results), 0);
	rn_bench_print_table(to, &report);
	fclose(to);
	return text;
}

static void a_bar_is_reached_or_missed(void **state)
{
	char *text;

	(void)state;
	measure(9, 1);
	text = table_with(2);
	assert_non_null(strstr(text, " at least 2     reached"));
	assert_non_null(strstr(text, "\n1 of 1 bars are reached.\n"));
	assert_null(strstr(text, " missed"));
	free(text);
	text = table_with(2.1);
	assert_non_null(strstr(text, " at least 2.1   missed"));
	assert_non_null(strstr(text,
			       "\n0 of 1 bars are reached; farthest away is \"work\": "
			       "2.02, meant to be at least 2.1.\n"));
	free(text);
}

/* Of several that were missed, whether they say at least or at most. */
static void the_bar_that_is_farthest_away_is_named(void **state)
{
	char *text;

	(void)state;
	measure(9, 1);
	plan.ratio[1] = plan.ratio[2] = plan.ratio[0];
	plan.ratios = 3;
	plan.ratio[1].work = "far";
	plan.ratio[1].meant = RN_BENCH_AT_MOST;
	plan.ratio[1].bar = 0.5;
	plan.ratio[2].work = "near";
	plan.ratio[2].meant = RN_BENCH_AT_LEAST;
	plan.ratio[2].bar = 3;
	text = table_with(2.1);
	assert_non_null(strstr(text,
			       "\n0 of 3 bars are reached; farthest away is \"far\": "
			       "2.02, meant to be at most 0.5.\n"));
	free(text);
}

/* Where what it would take is slower than what the ratio is held against. */
static void a_bar_that_the_machine_cannot_reach_is_not_missed(void **state)
{
	char *text;

	(void)state;
	measure(9, 1);
	plan.ratio[0].under = 0;
	plan.ratio[0].has_condition = true;
	plan.ratio[0].only_if = 1;
	text = table_with(2);
	assert_non_null(strstr(text, " at least 2     beyond reach"));
	assert_null(strstr(text, "bars are reached"));
	free(text);
	plan.ratio[0].only_if = 0;
	text = table_with(2);
	assert_non_null(strstr(text, " missed"));
	free(text);
}

static void what_a_ping_pong_takes_beyond_lines_is_a_difference(void **state)
{
	(void)state;
	measure(1, 1);
	plan.ratio[0].measure = RN_BENCH_BEYOND_LINES;
	free(table_with(1));
	assert_true(fabs(report.ratio[0].value.median - (2 - 4 * 1)) < 1e-9);
}

static void json_has_the_percentiles_of_each_cell(void **state)
{
	size_t len;
	char *text;
	FILE *to = open_memstream(&text, &len);
	json_t *all, *cell;

	(void)state;
	assert_non_null(to);
	measure(9, 1);
	assert_int_equal(rn_bench_print_json(to, &report), 0);
	fclose(to);
	all = json_loads(text, 0, NULL);
	cell = json_array_get(json_object_get(all, "items"), 0);
	assert_true(json_number_value(json_object_get(cell, "p50")) == 1);
	assert_true(json_number_value(json_object_get(cell, "p99")) == 2);
	assert_true(json_number_value(json_object_get(cell, "p99.9")) == 7);
	assert_true(json_number_value(json_object_get(cell, "cores")) == 2);
	assert_true(json_number_value(json_object_get(cell, "cpu")) == 4);
	json_decref(all);
	free(text);
}

/* Store a report and read it as the baseline. */
static struct rn_bench_baseline *stored(void)
{
	char path[] = "/tmp/rocin-bench-test-XXXXXX";
	int fd = mkstemp(path);
	FILE *to = fdopen(fd, "w");
	struct rn_bench_baseline *base;

	assert_non_null(to);
	assert_int_equal(rn_bench_print_json(to, &report), 0);
	fclose(to);
	base = rn_bench_baseline_read(path, err, sizeof(err));
	unlink(path);
	assert_non_null(base);
	return base;
}

static enum rn_bench_change change(unsigned before, unsigned after, double factor)
{
	struct rn_bench_baseline *base;
	enum rn_bench_change c;

	fresh(NULL);
	measure(before, 1);
	base = stored();
	forget(NULL);
	fresh(NULL);
	measure(after, factor);
	rn_bench_baseline_compare(base, &report);
	c = report.ratio[0].change;
	rn_bench_baseline_free(base);
	forget(NULL);
	return c;
}

static void a_baseline_tells_change_from_noise(void **state)
{
	(void)state;
	assert_int_equal(change(12, 10, 1), RN_BENCH_NOISE);
	assert_int_equal(change(12, 10, 1.03), RN_BENCH_NOISE); /* sure, but too little */
	assert_int_equal(change(12, 10, 1.2), RN_BENCH_SLOWER); /* of a latency */
	assert_int_equal(change(12, 10, 0.8), RN_BENCH_FASTER);
	/* Much, but of three rounds each one order in ten is as clear as this. */
	assert_int_equal(change(3, 3, 2), RN_BENCH_NOISE);
	assert_int_equal(change(3, 3, 0.5), RN_BENCH_NOISE);
}

static void what_is_no_baseline_is_refused(void **state)
{
	static const char *const wrong[] = { "", "[]", "{\"format\": 2}",
					     "{\"format\": 1, \"ratios\": []}",
					     "{\"format\": 2, \"ratios\": {}}" };

	(void)state;
	assert_null(rn_bench_baseline_read("/nonexistent/x", err, sizeof(err)));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		char path[] = "/tmp/rocin-bench-test-XXXXXX";
		int fd = mkstemp(path);
		struct rn_bench_baseline *base;

		assert_true(write(fd, wrong[i], strlen(wrong[i])) >= 0);
		close(fd);
		base = rn_bench_baseline_read(path, err, sizeof(err));
		unlink(path);
		assert_null(base);
		assert_non_null(strstr(err, path));
	}
}

static struct rn_bench_baseline *baseline_of(const char *text)
{
	char path[] = "/tmp/rocin-bench-test-XXXXXX";
	int fd = mkstemp(path);
	struct rn_bench_baseline *base;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	base = rn_bench_baseline_read(path, err, sizeof(err));
	unlink(path);
	assert_non_null(base);
	return base;
}

/* Those that a run may have, and then more than as many again. */
static void of_too_many_rounds_of_a_baseline_the_first_count(void **state)
{
	struct rn_bench_baseline *base;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	fputs("{\"format\": 2, \"ratios\": [{\"name\": \"send_lat / udp_lat\", "
	      "\"rounds\": [0",
	      to);
	for (unsigned i = 0; i < 5 * RN_BENCH_ROUNDS_MAX / 2; i++)
		fprintf(to, ", %u", i < RN_BENCH_ROUNDS_MAX ? 4 : 1000);
	fputs("]}]}", to);
	fclose(to);
	base = baseline_of(text);
	free(text);
	measure(9, 1);
	rn_bench_baseline_compare(base, &report);
	assert_true(fabs(report.ratio[0].shift.ratio - 2.02 / 4) < 1e-9);
	assert_int_equal(report.ratio[0].change, RN_BENCH_FASTER);
	rn_bench_baseline_free(base);
}

/* Whatever a file says under the names that are looked for. */
static void a_baseline_with_odd_values_is_no_comparison(void **state)
{
	struct rn_bench_baseline *base = baseline_of(
		"{\"format\": 2, \"ratios\": [7, {\"name\": 3}, {\"name\": \"send_lat / "
		"udp_lat\", \"rounds\": [\"x\", -1, null, 0, {}]}]}");

	(void)state;
	measure(5, 1);
	rn_bench_baseline_compare(base, &report);
	assert_int_equal(report.ratio[0].change, RN_BENCH_NOT_COMPARED);
	rn_bench_baseline_free(base);
	forget(NULL);
}

static void a_picture_has_a_curve_of_each_contestant(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	unsigned curves = 0;

	(void)state;
	only("write_bw");
	only("tcp_bw");
	only("send_lat");
	args.sizes = (struct rn_bench_list){ { 64, 4096, 1 << 20 }, 3 };
	args.rounds = 1;
	assert_int_equal(make(&bare), 0);
	results.value = calloc(plan.cells, sizeof(*results.value));
	assert_non_null(results.value);
	for (unsigned i = 0; i < plan.cells; i++)
		results.value[i] = (struct rn_bench_value){ 1 + i, 1, 1, 1, 2, 1 };
	assert_int_equal(rn_bench_report_make(&report, &args, &plan, &results), 0);
	rn_bench_draw(to, &report);
	rn_bench_print_table(to, &report);
	fclose(to);
	for (char *at = text; (at = strstr(at, "<polyline")) != NULL; at++)
		curves++;
	assert_int_equal(curves, 3);
	assert_non_null(strstr(text, "Bandwidth, GB/s"));
	assert_non_null(strstr(text, "Round trip, us"));
	assert_null(strstr(text, "Messages,"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf,"));
	free(text);
	forget(NULL);
}

/* Both ends polling: two processors for one GB/s are two seconds a GB, for a round trip
 * of 10 us 20 us, and for two million messages a second 1 us each.
 */
static void cpu_time_is_that_of_what_was_moved(void **state)
{
	(void)state;
	assert_true(rn_bench_cpu_each(RN_BENCH_BW, 1, 2, 1) == 2);
	assert_true(rn_bench_cpu_each(RN_BENCH_BW, 4, 2, 2) == 0.5);
	assert_true(rn_bench_cpu_each(RN_BENCH_LAT, 10, 2, 1) == 20);
	assert_true(rn_bench_cpu_each(RN_BENCH_LAT, 10, 4, 2) == 20);
	assert_true(rn_bench_cpu_each(RN_BENCH_RATE, 2, 2, 1) == 1);
}

static void copies_are_those_of_the_way(void **state)
{
	static const struct {
		const char *cell;
		unsigned copies;
	} row[] = {
		{ "write_bw", 4 },
		{ "write_bw:local", 3 },
		{ "tcp_bw", 2 },
		{ "udp_bw", 2 },
		{ "udp_crc_bw", 4 },
		{ "ring_bw", 2 },
		{ "memcpy_bw", 1 },
		{ "line_lat", RN_BENCH_COPIES_UNKNOWN },
		{ "write_bw:beside", RN_BENCH_COPIES_UNKNOWN },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(row); i++) {
		struct rn_bench_cell cell;

		assert_int_equal(rn_bench_cell_read(&cell, row[i].cell, err, sizeof(err)),
				 0);
		assert_int_equal(rn_bench_copies(&cell), row[i].copies);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_is_written_as_it_is_read),
		cmocka_unit_test(a_cell_forgets_what_it_does_not_depend_on),
		cmocka_unit_test(what_is_no_cell_is_refused_with_its_words),
		cmocka_unit_test_setup(the_standard_has_each_item_once, fresh),
		cmocka_unit_test_setup(threads_have_queues_of_their_own_or_share_one,
				       fresh),
		cmocka_unit_test_setup(several_pairs_are_held_against_one, fresh),
		cmocka_unit_test_setup(other_wires_are_measured_where_there_are_some,
				       fresh),
		cmocka_unit_test_setup(choices_multiply_but_equal_cells_are_one, fresh),
		cmocka_unit_test_setup(a_size_that_an_item_cannot_have_is_left_out,
				       fresh),
		cmocka_unit_test_setup(what_was_asked_for_by_name_must_be_there, fresh),
		cmocka_unit_test_setup(bars_are_all_there_whatever_the_machine_has,
				       fresh),
		cmocka_unit_test_setup(a_sweep_goes_over_all_sizes, fresh),
		cmocka_unit_test_setup(too_much_is_refused, fresh),
		cmocka_unit_test_setup(slices_and_rounds_fit_the_time, fresh),
		cmocka_unit_test_setup(rounds_keep_within_limits_whatever_the_time,
				       fresh),
		cmocka_unit_test_setup_teardown(ratios_are_formed_within_a_round, fresh,
						forget),
		cmocka_unit_test_setup_teardown(a_bar_is_reached_or_missed, fresh,
						forget),
		cmocka_unit_test_setup_teardown(the_bar_that_is_farthest_away_is_named,
						fresh, forget),
		cmocka_unit_test_setup_teardown(
			a_bar_that_the_machine_cannot_reach_is_not_missed, fresh, forget),
		cmocka_unit_test_setup_teardown(
			what_a_ping_pong_takes_beyond_lines_is_a_difference, fresh,
			forget),
		cmocka_unit_test_setup_teardown(json_has_the_percentiles_of_each_cell,
						fresh, forget),
		cmocka_unit_test(cpu_time_is_that_of_what_was_moved),
		cmocka_unit_test(copies_are_those_of_the_way),
		cmocka_unit_test(a_baseline_tells_change_from_noise),
		cmocka_unit_test(what_is_no_baseline_is_refused),
		cmocka_unit_test_setup_teardown(
			of_too_many_rounds_of_a_baseline_the_first_count, fresh, forget),
		cmocka_unit_test_setup(a_baseline_with_odd_values_is_no_comparison,
				       fresh),
		cmocka_unit_test_setup(a_picture_has_a_curve_of_each_contestant, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
