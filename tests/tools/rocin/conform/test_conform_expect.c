/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_conform_expect.c - profiles of deviations: which failures they explain, and which
 * of them are repaired.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/cmd.h"
#include "tools/rocin/conform/expect.h"

void rn_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint_error(fmt, ap);
	va_end(ap);
}

static const char profile[] = "# two deviations\n"
			      "deviation late\n"
			      "says It is late.\n"
			      "fails A-header/*.scn nothing left*\n"
			      "fails B-sequence/B1.scn another opcode\n"
			      "deviation deaf\n"
			      "fails A-header/A2.scn no completion came\n";

static int read_profile(void **state)
{
	static struct rn_expect e;
	char path[] = "/tmp/rocin-expect-XXXXXX";
	int fd = mkstemp(path), rc = -1;

	if (fd < 0)
		return -1;
	if (write(fd, profile, sizeof(profile) - 1) == sizeof(profile) - 1)
		rc = rn_expect_read(&e, path);
	close(fd);
	unlink(path);
	*state = &e;
	return rc;
}

static int free_profile(void **state)
{
	rn_expect_free(*state);
	return 0;
}

/* Is the failure in the @at-th line `fails' repaired? */
static bool is_repaired(const struct rn_expect *e, size_t at)
{
	assert_true(at < e->failures);
	return rn_expect_is_repaired(&e->failure[at]);
}

static void a_failure_is_explained_by_its_scenario_and_its_text(void **state)
{
	struct rn_expect *e = *state;

	assert_int_equal(e->deviations, 2);
	assert_string_equal(e->deviation[0].says, "It is late.");
	assert_int_equal(
		rn_expect_note(e, "/x/A-header/A1.scn", "nothing left | expected"), 0);
	assert_int_equal(rn_expect_note(e, "/x/A-header/A2.scn", "no completion came"),
			 1);
	assert_int_equal(rn_expect_note(e, "/x/A-header/A1.scn", "no completion came"),
			 RN_EXPECT_NONE);
	assert_int_equal(rn_expect_note(e, "/x/C-length/C1.scn", "nothing left"),
			 RN_EXPECT_NONE);
	assert_int_equal(e->deviation[0].scenarios, 1);
	assert_int_equal(e->deviation[1].scenarios, 1);
}

/* What was not run may fail as before. */
static void what_was_run_and_never_failed_so_is_repaired(void **state)
{
	struct rn_expect *e = *state;

	for (size_t i = 0; i < e->failures; i++)
		assert_false(is_repaired(e, i));
	(void)rn_expect_note(e, "A-header/A1.scn", NULL);
	assert_true(is_repaired(e, 0));
	assert_false(is_repaired(e, 1));
	assert_false(is_repaired(e, 2));
	/* One scenario of several fails as ever, and one in another way. */
	(void)rn_expect_note(e, "A-header/A2.scn", "nothing left");
	assert_false(is_repaired(e, 0));
	assert_true(is_repaired(e, 2));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, read_profile, free_profile)
	const struct CMUnitTest tests[] = {
		TEST(a_failure_is_explained_by_its_scenario_and_its_text),
		TEST(what_was_run_and_never_failed_so_is_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
