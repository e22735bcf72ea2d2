/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cq_wall_clock.c - conversion of an instant to the time of day, with simulated
 * clocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "provider/verbs/queue/cq.h"

enum {
	QUICK = 25,   /* shortest time of a reading, in ns */
	LOST = 40000, /* time of a reading during which the thread loses the processor */
	READS = 1000,
};

/* The monotonic clock plus this is the wall clock. */
#define BEHIND UINT64_C(1700000000000000000)

static struct {
	uint64_t mono, behind; /* in ns */
	unsigned readings;
	/* each reading of this number loses the processor; 0: none */
	unsigned lost_every;
} clocks;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t now;

	clocks.readings++;
	/* A reading takes a time that varies and is not the same for both clocks. */
	clocks.mono += QUICK + clocks.readings * 7 % 13;
	if (clocks.lost_every && clocks.readings % clocks.lost_every == 0)
		clocks.mono += LOST;
	now = id == CLOCK_REALTIME ? clocks.mono - clocks.behind : clocks.mono;
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	clocks.mono = 2 * BEHIND;
	clocks.behind = BEHIND;
	clocks.readings = clocks.lost_every = 0;
	return 0;
}

static void an_instant_has_one_time_of_day(void **state)
{
	const uint64_t instant = clocks.mono;
	struct rnp_wall_clock c = { 0 };
	uint64_t first = rnp_wall_clock_at(&c, instant);

	(void)state;
	for (unsigned i = 0; i < READS; i++) {
		clocks.lost_every = i % 7;
		assert_true(rnp_wall_clock_at(&c, instant) == first);
		assert_true(rnp_wall_clock_at(&c, instant + i) == first + i);
	}
}

/* The error is at most half the time of the quickest try, whichever readings lose the
 * processor.
 */
static void it_is_as_exact_as_the_clocks_are_quick(void **state)
{
	(void)state;
	for (unsigned every = 0; every < 9; every++) {
		struct rnp_wall_clock c = { 0 };
		const uint64_t instant = clocks.mono;
		uint64_t wall, slack;

		clocks.lost_every = every;
		wall = rnp_wall_clock_at(&c, instant);
		/* Then each try, which is three readings, contains a slow one. */
		slack = every > 0 && every <= 3 ? 2 * LOST : 2 * QUICK;
		assert_in_range(wall + slack - (instant - BEHIND), 0, 2 * slack);
	}
}

static void a_clock_that_was_set_is_followed(void **state)
{
	static const uint64_t by[] = { 1000, 1000000, 3600000000000 };
	const uint64_t instant = clocks.mono;
	struct rnp_wall_clock c = { 0 };

	(void)state;
	rnp_wall_clock_at(&c, instant);
	for (unsigned i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		for (unsigned back = 0; back < 2; back++) {
			clocks.behind = back ? BEHIND + by[i] : BEHIND - by[i];
			assert_in_range(rnp_wall_clock_at(&c, instant) + 2 * QUICK -
						(instant - clocks.behind),
					0, 4 * QUICK);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_instant_has_one_time_of_day, setup),
		cmocka_unit_test_setup(it_is_as_exact_as_the_clocks_are_quick, setup),
		cmocka_unit_test_setup(a_clock_that_was_set_is_followed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
