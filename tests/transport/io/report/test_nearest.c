/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_nearest.c - the known word that a misspelt one stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/io/report/nearest.h"

static const char *const words[] = {
	"life/destroy-order",	"life/use-after-destroy",    "state/attr-missing",
	"state/access-missing", "queues/receives-exhausted", "memory/wrong-lkey",
};

static const char *word_at(const void *arg, size_t i)
{
	(void)arg;
	return words[i];
}

static const char *nearest(const char *word)
{
	return rn_nearest(word, word_at, NULL, sizeof(words) / sizeof(*words));
}

static void letters_may_be_wrong(void **state)
{
	(void)state;
	assert_string_equal(nearest("life/destroy-oder"), "life/destroy-order");
	assert_string_equal(nearest("state/attr-mising"), "state/attr-missing");
	assert_string_equal(nearest("state/access_missing"), "state/access-missing");
}

static void parts_may_stand_in_another_order(void **state)
{
	(void)state;
	assert_string_equal(nearest("life/order-destroy"), "life/destroy-order");
	assert_string_equal(nearest("memory/lkey-wrong"), "memory/wrong-lkey");
	assert_string_equal(nearest("exhausted-receives"), "queues/receives-exhausted");
	assert_string_equal(nearest("mising attr"), "state/attr-missing");
}

static void the_category_may_be_wrong_or_missing(void **state)
{
	(void)state;
	assert_string_equal(nearest("wrong-lkey"), "memory/wrong-lkey");
	assert_string_equal(nearest("queues/access-missing"), "state/access-missing");
	assert_string_equal(nearest("use-after-destroy"), "life/use-after-destroy");
}

static const char *long_or_short(const void *arg, size_t i)
{
	static const char *const names[] = { "queues/post/lost-wakeup-late",
					     "queues/lost-wakeup" };

	(void)arg;
	return names[i];
}

/* Each part that is missing counts. */
static void what_lacks_fewer_parts_is_nearer(void **state)
{
	(void)state;
	assert_string_equal(rn_nearest("wakeup-lost", long_or_short, NULL, 2),
			    "queues/lost-wakeup");
	assert_string_equal(rn_nearest("lost-wakeup", long_or_short, NULL, 2),
			    "queues/lost-wakeup");
	assert_string_equal(rn_nearest("late-lost-wakeup-post", long_or_short, NULL, 2),
			    "queues/post/lost-wakeup-late");
}

static void anything_has_a_nearest_word(void **state)
{
	(void)state;
	assert_non_null(nearest(""));
	assert_non_null(nearest("//--"));
	assert_null(rn_nearest("word", word_at, NULL, 0));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_may_be_wrong),
		cmocka_unit_test(parts_may_stand_in_another_order),
		cmocka_unit_test(the_category_may_be_wrong_or_missing),
		cmocka_unit_test(what_lacks_fewer_parts_is_nearer),
		cmocka_unit_test(anything_has_a_nearest_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
