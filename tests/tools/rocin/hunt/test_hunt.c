/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_hunt.c - the search for a schedule, and its shrinking, with a program made up: it
 * goes wrong if certain writes are late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/hunt/hunt.h"

/* The program makes @count writes, and goes wrong if all writes of @bad are late and no
 * write of @good is.
 */
static struct {
	unsigned count;
	const char *bad[4], *good[4];
	/* Only run number n is wrong, whatever is late; 0: no such run. */
	unsigned only;
	bool is_always_wrong;
} fake;

static void name_of(unsigned i, char name[64])
{
	snprintf(name, 64, "rocin%u qp %u request %u host page %u", i % 2, i / 2 % 3 + 1,
		 i / 12, i / 6 % 2);
}

static bool is_late(const struct rn_hunt_set *late, const char *name)
{
	return !late || rn_hunt_has(late, name);
}

int rn_hunt_run(struct rn_hunt *h, const struct rn_hunt_set *late,
		struct rn_hunt_end *end)
{
	char name[64];

	h->runs++;
	for (unsigned i = 0; i < fake.count; i++) {
		name_of(i, name);
		rn_hunt_add(is_late(late, name) ? &end->late : &end->landed, name);
	}
	end->is_wrong = fake.bad[0] != NULL;
	for (unsigned i = 0; i < 4 && fake.bad[i]; i++)
		end->is_wrong = end->is_wrong && rn_hunt_has(&end->late, fake.bad[i]);
	for (unsigned i = 0; i < 4 && fake.good[i]; i++)
		end->is_wrong = end->is_wrong && !rn_hunt_has(&end->late, fake.good[i]);
	end->is_wrong = end->is_wrong || fake.is_always_wrong;
	if (fake.only)
		end->is_wrong = h->runs == fake.only;
	return 0;
}

void rn_hunt_end_clear(struct rn_hunt_end *end)
{
	rn_hunt_clear(&end->late);
	rn_hunt_clear(&end->landed);
}

static void make(unsigned count, const char *bad0, const char *bad1, const char *good)
{
	memset(&fake, 0, sizeof(fake));
	fake.count = count;
	fake.bad[0] = bad0;
	fake.bad[1] = bad1;
	fake.good[0] = good;
}

/* Hunts; expects exactly the writes @want0 and @want1 (NULL: fewer). */
static void expect_found(const char *want0, const char *want1)
{
	struct rn_hunt h = { 0 };
	struct rn_hunt_set found = { 0 };

	assert_int_equal(rn_hunt_search(&h, 200, 1, &found), 1);
	assert_int_equal(rn_hunt_shrink(&h, &found), 1);
	assert_int_equal(found.count, (want0 != NULL) + (want1 != NULL));
	assert_true(!want0 || rn_hunt_has(&found, want0));
	assert_true(!want1 || rn_hunt_has(&found, want1));
	rn_hunt_clear(&found);
}

static void one_late_write_is_left_of_many(void **state)
{
	(void)state;
	make(500, "rocin1 qp 2 request 17 host page 1", NULL, NULL);
	expect_found("rocin1 qp 2 request 17 host page 1", NULL);
}

static void writes_that_must_both_be_late_are_left(void **state)
{
	(void)state;
	make(100, "rocin0 qp 1 request 0 host page 0",
	     "rocin1 qp 3 request 7 host page 1", NULL);
	expect_found("rocin0 qp 1 request 0 host page 0",
		     "rocin1 qp 3 request 7 host page 1");
}

/* With everything late the program is right: subsets find it, those of whole queues if
 * the other write is of another queue, those of messages or pages if it is not.
 */
static void a_write_that_must_not_be_late_is_left_out(void **state)
{
	static const char *const others[] = { "rocin0 qp 1 request 0 host page 0",
					      "rocin1 qp 2 request 4 host page 1",
					      "rocin1 qp 2 request 3 host page 0" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		make(100, "rocin1 qp 2 request 3 host page 1", NULL, others[i]);
		expect_found("rocin1 qp 2 request 3 host page 1", NULL);
	}
}

static void a_seed_draws_the_same_subsets(void **state)
{
	unsigned runs[2];

	(void)state;
	make(60, "rocin1 qp 2 request 3 host page 1", "rocin0 qp 2 request 2 host page 0",
	     "rocin1 qp 2 request 3 host page 0");
	for (unsigned i = 0; i < 2; i++) {
		struct rn_hunt h = { 0 };
		struct rn_hunt_set found = { 0 };

		assert_int_equal(rn_hunt_search(&h, 500, 7, &found), 1);
		runs[i] = h.runs;
		rn_hunt_clear(&found);
	}
	assert_int_equal(runs[0], runs[1]);
	assert_true(runs[0] > 2);
}

static void a_program_that_is_always_wrong_needs_no_late_write(void **state)
{
	(void)state;
	make(30, NULL, NULL, NULL);
	fake.is_always_wrong = true;
	expect_found(NULL, NULL);
}

/* Writes are left out only if the program goes wrong twice without them. */
static void what_went_wrong_once_only_is_not_shrunk(void **state)
{
	struct rn_hunt_set found = { 0 };
	struct rn_hunt h = { 0 };

	(void)state;
	for (unsigned only = 1; only <= 2; only++) {
		make(10, NULL, NULL, NULL);
		fake.only = only;
		h.runs = 0;
		if (only == 1)
			assert_int_equal(rn_hunt_search(&h, 5, 1, &found), 1);
		else
			h.runs = 1;
		assert_int_equal(rn_hunt_shrink(&h, &found), 0);
		assert_int_equal(found.count, 10);
	}
	rn_hunt_clear(&found);
}

static void a_right_program_is_run_as_often_as_asked(void **state)
{
	struct rn_hunt h = { 0 };
	struct rn_hunt_set found = { 0 };

	(void)state;
	make(40, NULL, NULL, NULL);
	assert_int_equal(rn_hunt_search(&h, 33, 1, &found), 0);
	assert_int_equal(h.runs, 33);
	assert_int_equal(found.count, 0);
}

static void a_schedule_is_read_as_it_was_written(void **state)
{
	struct rn_hunt_set set = { 0 }, again = { 0 }, pcie = { 0 };
	char path[] = "/tmp/rn-hunt-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	rn_hunt_add(&set, "rocin0 qp 1 response 2 gpu0 page 3");
	rn_hunt_add(&set, "nvme0 transfer 0 host page 0");
	rn_hunt_add(&set, "nvme0 transfer 0 host page 0");
	assert_int_equal(set.count, 2);
	assert_int_equal(rn_hunt_write(&set, path, "# late x\npcie typical\n"), 0);
	assert_int_equal(rn_hunt_read(&again, path, "late"), 0);
	assert_int_equal(again.count, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_string_equal(again.name[i], set.name[i]);
	assert_int_equal(rn_hunt_read(&pcie, path, "pcie"), 0);
	assert_int_equal(pcie.count, 1);
	assert_string_equal(pcie.name[0], "typical");
	unlink(path);
	assert_true(rn_hunt_read(&pcie, path, "late") < 0);
	rn_hunt_clear(&set);
	rn_hunt_clear(&again);
	rn_hunt_clear(&pcie);
}

/* A record has lines of several kinds. */
static void only_lines_of_the_word_are_read(void **state)
{
	static const char lines[] =
		"late qp1 a\nlatest qp1 b\nseen qp1 c\nlate\nlate qp2 d\n";
	char path[] = "/tmp/rn-hunt-XXXXXX";
	struct rn_hunt_set set = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
	close(fd);
	assert_int_equal(rn_hunt_read(&set, path, "late"), 0);
	unlink(path);
	assert_int_equal(set.count, 2);
	assert_true(rn_hunt_has(&set, "qp1 a"));
	assert_true(rn_hunt_has(&set, "qp2 d"));
	rn_hunt_clear(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_late_write_is_left_of_many),
		cmocka_unit_test(writes_that_must_both_be_late_are_left),
		cmocka_unit_test(a_write_that_must_not_be_late_is_left_out),
		cmocka_unit_test(a_seed_draws_the_same_subsets),
		cmocka_unit_test(a_program_that_is_always_wrong_needs_no_late_write),
		cmocka_unit_test(what_went_wrong_once_only_is_not_shrunk),
		cmocka_unit_test(only_lines_of_the_word_are_read),
		cmocka_unit_test(a_right_program_is_run_as_often_as_asked),
		cmocka_unit_test(a_schedule_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
