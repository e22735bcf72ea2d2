/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_doorbell_model.c - nobody sleeps over a packet, in any order of what the processes
 * do.
 *
 * The doorbell and the two ends of the ring are compiled for the machine of tso.h and
 * called here as a back end calls them. Each rule of the protocol is then broken, to see
 * that the search would have found that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "transport/io/shm/ring.h"
#include "transport/io/shm/ring_layout.h"
#include "tso.h"

enum {
	RINGS = 2,
	STEP = RN_RING_ALIGN,
};

static _Alignas(4096) uint8_t page[RN_DOORBELL_BYTES];
static struct rn_doorbell *const bell = (void *)page;
static struct rn_ring_shared ring[RINGS];

/* Of this search. */
static unsigned bursts; /* per producer */
static unsigned rings;

/* ------------------------------------------------------------------ producers */
static void ring_bell(unsigned i)
{
	if (rn_doorbell_ring(bell, i))
		tso_wake();
}

static void produce(unsigned i)
{
	struct rn_ring_send s = { .shared = &ring[i], .size = RN_RING_SIZE_MIN };

	for (unsigned n = 0; n < bursts; n++) {
		s.tail += STEP;
		rn_ring_publish(&s);
		ring_bell(i);
	}
}

static void produce_0(void)
{
	produce(0);
}

static void produce_1(void)
{
	produce(1);
}

/* All but the last are shown to whoever is awake. */
static void show_and_publish(void)
{
	struct rn_ring_send s = { .shared = &ring[0], .size = RN_RING_SIZE_MIN };

	for (unsigned n = 0; n < bursts; n++) {
		s.tail += STEP;
		rn_ring_show(&s);
	}
	if (rn_ring_publish(&s))
		ring_bell(0);
}

static void show_and_ring(void)
{
	struct rn_ring_send s = { .shared = &ring[0], .size = RN_RING_SIZE_MIN };

	for (unsigned n = 0; n < bursts; n++) {
		s.tail += STEP;
		rn_ring_show(&s);
		ring_bell(0);
	}
}

static void ring_before_publishing(void)
{
	struct rn_ring_send s = { .shared = &ring[0], .size = RN_RING_SIZE_MIN };

	for (unsigned n = 0; n < bursts; n++) {
		s.tail += STEP;
		ring_bell(0);
		rn_ring_publish(&s);
	}
}

/* ------------------------------------------------------------------- consumers */
static void read_ring(struct rn_ring_recv *r)
{
	r->head = r->tail = tso_load(&r->shared->tail);
}

static bool all_read(const struct rn_ring_recv *r)
{
	for (unsigned i = 0; i < rings; i++)
		if (r[i].head != (uint64_t)bursts * STEP)
			return false;
	return true;
}

#define CONSUMER(r) \
	struct rn_ring_recv r[RINGS] = { { .shared = &ring[0] }, { .shared = &ring[1] } }

/* Few peers: look at each ring. */
static bool scan(struct rn_ring_recv *r)
{
	bool found = false;

	for (unsigned i = 0; i < rings; i++)
		found = rn_ring_waits(&r[i]) || found;
	return found;
}

static void read_all(struct rn_ring_recv *r)
{
	for (unsigned i = 0; i < rings; i++)
		read_ring(&r[i]);
}

static void sleep_by_scan(void)
{
	CONSUMER(r);

	while (!all_read(r)) {
		rn_doorbell_announce(bell);
		if (scan(r))
			rn_doorbell_awake(bell);
		else
			tso_sleep();
		read_all(r);
	}
}

static void scan_before_announcing(void)
{
	CONSUMER(r);

	while (!all_read(r)) {
		if (!scan(r)) {
			rn_doorbell_announce(bell);
			tso_sleep();
		}
		read_all(r);
	}
}

/* Many peers: look at the bits. */
static void read_rung(struct rn_ring_recv *r, uint64_t rung)
{
	for (unsigned i = 0; i < rings; i++)
		if (rung >> i & 1)
			read_ring(&r[i]);
}

static void sleep_by_bits(void)
{
	CONSUMER(r);

	while (!all_read(r)) {
		uint64_t rung;

		rn_doorbell_announce(bell);
		rung = rn_doorbell_take(bell, 0);
		if (rung)
			rn_doorbell_awake(bell);
		else
			tso_sleep();
		read_rung(r, rung);
	}
}

static void take_before_announcing(void)
{
	CONSUMER(r);

	while (!all_read(r)) {
		uint64_t rung = rn_doorbell_take(bell, 0);

		if (!rung) {
			rn_doorbell_announce(bell);
			tso_sleep();
		}
		read_rung(r, rung);
	}
}

/* A budget of one packet each time: what is left is remembered, or not. */
static void sleep_with_budget(bool remember)
{
	CONSUMER(r);

	while (!all_read(r)) {
		uint64_t rung;

		rn_doorbell_announce(bell);
		rung = rn_doorbell_take(bell, 0);
		if (!rung) {
			tso_sleep();
			continue;
		}
		rn_doorbell_awake(bell);
		r[0].head += rn_ring_waits(&r[0]) ? STEP : 0;
		if (remember && rn_ring_waits(&r[0]))
			rn_doorbell_remember(bell, 0);
	}
}

static void remember_the_rest(void)
{
	sleep_with_budget(true);
}

static void forget_the_rest(void)
{
	sleep_with_budget(false);
}

/* ---------------------------------------------------------------------- search */
static struct tso_result run(void (*producer)(void), void (*consumer)(void),
			     struct tso_rules rules, unsigned ring_count, unsigned count)
{
	void (*const thread[])(void) = { consumer, producer, produce_1 };
	struct tso_result r;

	rings = ring_count;
	bursts = count;
	r = tso_explore(thread, 1 + ring_count, rules);
	assert_true(r.ends > 0);
	return r;
}

static const struct tso_rules x86, any_order = { .any_order = true };

static void nobody_sleeps_over_a_packet_when_rings_are_scanned(void **state)
{
	(void)state;
	assert_int_equal(run(produce_0, sleep_by_scan, x86, 1, 3).stuck, 0);
	assert_int_equal(run(produce_0, sleep_by_scan, x86, 2, 1).stuck, 0);
	assert_int_equal(run(produce_0, sleep_by_scan, any_order, 1, 3).stuck, 0);
	assert_int_equal(run(show_and_publish, sleep_by_scan, x86, 1, 3).stuck, 0);
	assert_int_equal(run(show_and_publish, sleep_by_scan, any_order, 1, 3).stuck, 0);
}

static void nobody_sleeps_over_a_packet_when_bits_are_taken(void **state)
{
	(void)state;
	assert_int_equal(run(produce_0, sleep_by_bits, x86, 1, 3).stuck, 0);
	assert_int_equal(run(produce_0, sleep_by_bits, x86, 2, 1).stuck, 0);
	assert_int_equal(run(produce_0, sleep_by_bits, any_order, 1, 3).stuck, 0);
	assert_int_equal(run(show_and_publish, sleep_by_bits, x86, 1, 3).stuck, 0);
	assert_int_equal(run(show_and_publish, sleep_by_bits, any_order, 1, 3).stuck, 0);
	assert_int_equal(run(produce_0, remember_the_rest, x86, 1, 3).stuck, 0);
}

/* The search is not empty: it goes through thousands of states. */
static void search_is_a_search(void **state)
{
	(void)state;
	assert_true(run(produce_0, sleep_by_bits, x86, 2, 1).states > 1000);
}

static void each_broken_rule_is_found(void **state)
{
	struct tso_rules weak_sleeping = { .weak = page };
	struct tso_rules weak_tail = { .weak = &ring[0].tail };
	const struct {
		const char *what;
		void (*producer)(void), (*consumer)(void);
		struct tso_rules rules;
	} rows[] = {
		{ "a store of sleeping that waits", produce_0, sleep_by_scan,
		  weak_sleeping },
		{ "the same with bits", produce_0, sleep_by_bits, weak_sleeping },
		{ "a store of the tail that waits", produce_0, sleep_by_scan, weak_tail },
		{ "shown and not published", show_and_ring, sleep_by_scan, x86 },
		{ "rung before published", ring_before_publishing, sleep_by_scan, x86 },
		{ "the same with bits", ring_before_publishing, sleep_by_bits, x86 },
		{ "scanned before announced", produce_0, scan_before_announcing, x86 },
		{ "taken before announced", produce_0, take_before_announcing, x86 },
		{ "not dry and forgotten", produce_0, forget_the_rest, x86 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct tso_result r =
			run(rows[i].producer, rows[i].consumer, rows[i].rules, 1, 2);

		if (r.stuck == 0)
			fail_msg("not found: %s", rows[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_sleeps_over_a_packet_when_rings_are_scanned),
		cmocka_unit_test(nobody_sleeps_over_a_packet_when_bits_are_taken),
		cmocka_unit_test(search_is_a_search),
		cmocka_unit_test(each_broken_rule_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
