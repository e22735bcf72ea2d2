/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fault_book.c - rules as text, added to and taken from. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/rocin/fault/book.h"

static void add(struct rn_fault_book *b, const char *text, bool is_old)
{
	char err[300] = "";

	if (rn_fault_book_add(b, text, "test", is_old, err, sizeof(err)))
		fail_msg("%s", err);
}

static void expect_text(const struct rn_fault_book *b, const char *want)
{
	char *text = rn_fault_book_text(b);

	assert_string_equal(text, want);
	free(text);
}

static void text_is_one_rule_a_line_and_the_seed(void **state)
{
	struct rn_fault_book b;

	(void)state;
	rn_fault_book_init(&b);
	expect_text(&b, "seed=1\n");
	add(&b, "# of today\n drop nth=3 ;kill# now\n\nseed=5 ; ;", false);
	add(&b, "delay=2ms", false);
	expect_text(&b, "seed=5\ndrop nth=3\nkill\ndelay=2ms\n");
	rn_fault_book_free(&b);
}

static void places_say_which_rules_were_there(void **state)
{
	struct rn_fault_book b;

	(void)state;
	rn_fault_book_init(&b);
	add(&b, "seed=9\ndrop\nkill\nmark\n", true);
	assert_true(rn_fault_book_remove(&b, 1));
	add(&b, "kill", false);
	assert_int_equal(b.count, 3);
	assert_int_equal(b.from[0], 0);
	assert_int_equal(b.from[1], 2);
	assert_int_equal(b.from[2], 255);
	assert_false(rn_fault_book_remove(&b, 3));
	expect_text(&b, "seed=9\ndrop\nmark\nkill\n");
	rn_fault_book_free(&b);
}

static void text_that_is_wrong_changes_nothing(void **state)
{
	struct rn_fault_book b;
	char many[6 * 64 + 1] = "", err[300] = "";

	(void)state;
	rn_fault_book_init(&b);
	add(&b, "drop", true);
	assert_int_equal(
		rn_fault_book_add(&b, "kill\nlose\n", "my file", false, err, sizeof(err)),
		-EINVAL);
	assert_non_null(strstr(err, "my file:2: \"lose\""));
	for (unsigned i = 0; i < 64; i++)
		strcat(many, "kill;");
	assert_int_equal(rn_fault_book_add(&b, many, "my file", false, err, sizeof(err)),
			 -EINVAL);
	assert_non_null(strstr(err, "64 come with my file"));
	expect_text(&b, "seed=1\ndrop\n");
	rn_fault_book_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_one_rule_a_line_and_the_seed),
		cmocka_unit_test(places_say_which_rules_were_there),
		cmocka_unit_test(text_that_is_wrong_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
