/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_findings.c - what is reported of a check of the program, what a file of
 * suppressions leaves out, and what is wrong with such a file.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/types.h"
#include "transport/io/report/nearest.h"
#include "transport/io/report/report.h"
#include "transport/io/report/suppress.h"

static const char *const names[] = { "life/destroy-order", "life/leak-at-exit",
				     "state/attr-missing" };

static const char *name_of(const void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

static const struct rn_rule_names rules = { name_of, names, RN_ARRAY_SIZE(names) };

/* ------------------------------------------------------------------------- words */
static const char *nearest(const char *word)
{
	return rn_nearest(word, name_of, names, RN_ARRAY_SIZE(names));
}

static void the_nearest_word_has_the_fewest_letters_to_change(void **state)
{
	static const char *const alike[] = { "aaaa", "baaa", "abaa" };

	(void)state;
	assert_string_equal(nearest("life/destroy-order"), names[0]);
	assert_string_equal(nearest("life/leak-at-exot"), names[1]);
	assert_string_equal(nearest("state/atr-missing"), names[2]);
	assert_string_equal(nearest("sate/attrs-missing"), names[2]);
	/* Of several the first. */
	assert_string_equal(rn_nearest("caaa", name_of, alike, RN_ARRAY_SIZE(alike)),
			    "aaaa");
	assert_null(rn_nearest("a", name_of, alike, 0));
}

/* ----------------------------------------------------------------- suppressions */
static char path[] = "/tmp/rocin-report-XXXXXX", log_path[] = "/tmp/rocin-report-XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(path), log_fd = mkstemp(log_path);

	(void)state;
	return fd < 0 || log_fd < 0 || close(fd) || close(log_fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path) || unlink(log_path);
}

static void write_suppressions(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int read_suppressions(const char *text, struct rn_suppress *s, char err[256])
{
	write_suppressions(text);
	*err = '\0';
	return rn_suppress_read(s, path, &rules, err, 256);
}

static void a_line_names_a_rule_or_a_pattern_of_rules(void **state)
{
	static const char *const right[] = { "life/destroy-order\n",
					     "life/*  f*  lib*.so\n", "# nothing\n\n",
					     "*\n" };
	struct rn_suppress s;
	char err[256];

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(right); i++)
		if (read_suppressions(right[i], &s, err))
			fail_msg("%s: %s", right[i], err);
	assert_int_equal(s.count, 1);
	assert_true(rn_suppress_has(&s, "any", 0));
}

/* A rule that is not there would suppress nothing. */
static void a_line_that_is_wrong_is_refused_with_its_number(void **state)
{
	struct rn_suppress s;
	char err[256];

	(void)state;
	assert_int_equal(read_suppressions("life/*\nlife/leak-at-exot\n", &s, err),
			 -EINVAL);
	assert_non_null(strstr(err, ":2: there is no rule \"life/leak-at-exot\"; the "
				    "nearest is life/leak-at-exit"));
	assert_int_equal(read_suppressions("nowhere/*\n", &s, err), -EINVAL);
	assert_int_equal(read_suppressions("life/* a b c\n", &s, err), -EINVAL);
	assert_non_null(strstr(err, ":1: a suppression is RULE [FUNCTION [MODULE]]"));
}

/* ----------------------------------------------------------------------- reports */
static void read_file(const char *from, char text[4096])
{
	FILE *f = fopen(from, "re");

	assert_non_null(f);
	text[fread(text, 1, 4095, f)] = '\0';
	fclose(f);
}

static void read_log(char text[4096])
{
	read_file(log_path, text);
}

/* All three outputs have the same numbers. */
static void what_is_suppressed_is_counted_apart(void **state)
{
	static struct rn_report r = { .options = { .is_raw = true },
				      .setting = "TEST",
				      .suite = "test" };
	const struct rn_report_counts c = { 1, 4, 2, 7 };
	struct rn_report_finding f = {
		.rule = names[0], .severity = "error", .what = "an order", .body = ""
	};
	char junit[] = "/tmp/rocin-report-XXXXXX", json[] = "/tmp/rocin-report-XXXXXX";
	char text[4096];

	(void)state;
	close(mkstemp(junit));
	close(mkstemp(json));
	write_suppressions("life/*\n");
	strcpy(r.options.log, log_path);
	strcpy(r.options.suppress, path);
	strcpy(r.options.junit, junit);
	strcpy(r.options.json, json);
	rn_report_open(&r, &rules);
	assert_false(rn_report_write(&r, &f));
	f.rule = names[1];
	assert_false(rn_report_write(&r, &f));
	f.rule = names[2];
	assert_true(rn_report_write(&r, &f));
	rn_report_summary(&r, &c, true);
	rn_report_flush(&r);
	read_file(log_path, text);
	assert_non_null(strstr(
		text, "rocin: 1 finding (4 occurrences), and 2 suppressed (7) in "));
	read_file(json, text);
	assert_non_null(strstr(text, ",\"findings\":1,\"occurrences\":4,\"suppressed\":2,"
				     "\"suppressed_occurrences\":7}\n"));
	read_file(junit, text);
	assert_non_null(strstr(text, "tests=\"     3\" failures=\"     1\" "
				     "skipped=\"     2\">\n"));
	assert_non_null(strstr(text, "name=\"life/leak-at-exit\"><skipped type=\"error\" "
				     "message=\"suppressed\"></skipped></testcase>\n"));
	assert_null(strstr(text, "name=\"state/attr-missing\"><skipped"));
	close(r.log_fd);
	assert_int_equal(unlink(junit) | unlink(json), 0);
}

static void what_is_suppressed_is_not_reported(void **state)
{
	static struct rn_report r = { .options = { .is_raw = true },
				      .setting = "TEST",
				      .suite = "test" };
	struct rn_report_finding f = { .rule = names[0],
				       .severity = "error",
				       .what = "an order",
				       .body = "  first       line\n" };
	char text[4096];

	(void)state;
	write_suppressions("life/destroy-*\n");
	strcpy(r.options.log, log_path);
	strcpy(r.options.suppress, path);
	rn_report_open(&r, &rules);
	assert_false(rn_report_write(&r, &f));
	read_log(text);
	assert_string_equal(text, "");
	f.rule = names[2];
	f.what = "an attribute";
	assert_true(rn_report_write(&r, &f));
	read_log(text);
	assert_string_equal(text, "rocin: finding 1: an attribute\n"
				  "  first       line\n"
				  "  explain     rocin explain state/attr-missing\n");
	close(r.log_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_word_has_the_fewest_letters_to_change),
		cmocka_unit_test(a_line_names_a_rule_or_a_pattern_of_rules),
		cmocka_unit_test(a_line_that_is_wrong_is_refused_with_its_number),
		cmocka_unit_test(what_is_suppressed_is_not_reported),
		cmocka_unit_test(what_is_suppressed_is_counted_apart),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
