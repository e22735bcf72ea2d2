/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_far_copy_pace.c - long packets of a stream take the faster way into a ring, also
 * after it has become another one. The clock and the costs are the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "transport/io/shm/far_copy.h"

enum {
	PACKETS = 64,	/* of a burst */
	BYTES = 4160,	/* of a record */
	SETTLED = 1024, /* bursts: more than enough */
};

/* ns of a packet: by string instructions, past the caches. */
struct costs {
	rn_ns each[2];
};

static const struct costs near_by = { { 200, 330 } };
static const struct costs far_away = { { 510, 430 } };
static const struct costs alike = { { 440, 430 } };

static rn_ns now;

/* One end of a wire. */
struct sender {
	struct rn_copy_pace pace;
	uint64_t tail;
	bool past_caches;
};

static int set_up(void **state)
{
	now = RN_MSEC(1000);
	*state = calloc(1, sizeof(struct sender));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void burst(struct sender *w, const struct costs *c, rn_ns lost)
{
	rn_copy_pace_begin(&w->pace, now, w->tail);
	w->tail += PACKETS * BYTES;
	now += PACKETS * c->each[w->past_caches] + lost;
	w->past_caches = rn_copy_pace_end(&w->pace, now, w->tail, w->past_caches);
	now += RN_USEC(7); /* the program's */
}

/* Return: how many of @count bursts go past the caches. */
static unsigned bursts_past(struct sender *w, const struct costs *c, unsigned count)
{
	unsigned past = 0;

	for (unsigned i = 0; i < count; i++) {
		past += w->past_caches;
		burst(w, c, 0);
	}
	return past;
}

static void faster_way_is_found_and_the_other_tried_now_and_then(void **state)
{
	struct sender *w = *state;

	bursts_past(w, &near_by, SETTLED);
	assert_in_range(bursts_past(w, &near_by, 1000), 1, 30);
	bursts_past(w, &far_away, SETTLED);
	assert_in_range(bursts_past(w, &far_away, 1000), 970, 999);
	bursts_past(w, &near_by, SETTLED);
	assert_in_range(bursts_past(w, &near_by, 1000), 1, 30);
}

static void what_is_little_faster_is_not_worth_a_change(void **state)
{
	struct sender *w = *state;

	bursts_past(w, &alike, SETTLED);
	assert_in_range(bursts_past(w, &alike, 1000), 1, 30);
}

/* The processor was somebody else's for a while, once in each way. */
static void burst_that_was_interrupted_says_little(void **state)
{
	struct sender *w = *state;

	bursts_past(w, &near_by, SETTLED);
	while (!w->past_caches)
		burst(w, &near_by, 0);
	burst(w, &near_by, RN_MSEC(4));
	burst(w, &near_by, RN_MSEC(4));
	assert_false(w->past_caches);
	assert_in_range(bursts_past(w, &near_by, 1000), 1, 30);
}

static void burst_that_was_not_timed_changes_nothing(void **state)
{
	struct sender *w = *state;

	for (unsigned i = 0; i < 1000; i++) {
		assert_false(rn_copy_pace_end(&w->pace, now, i, false));
		assert_true(rn_copy_pace_end(&w->pace, now, i, true));
	}
	assert_int_equal(w->pace.bursts, 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(faster_way_is_found_and_the_other_tried_now_and_then),
		test(what_is_little_faster_is_not_worth_a_change),
		test(burst_that_was_interrupted_says_little),
		test(burst_that_was_not_timed_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
