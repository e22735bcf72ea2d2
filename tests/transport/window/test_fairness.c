/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fairness.c - a thousand busy QPs through one device: each gets its share.
 *
 * usage: test_fairness [MESSAGES]	through each QP; many take a while
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rocin/queue_pair.h"
#include "tests/kit/device/many.h"

enum {
	QPS = 1000,
	DEPTH = 32,
	/* How far the QPs may be apart: two turns of a window of 1 MiB, in messages. */
	APART_MAX = 2 * (64 << 10) / (64 + 256),
	/* And in the long run, in parts of what each sends, with fewer requests posted
	 * than a turn takes: of whom some are not acknowledged yet it uses less of its
	 * turn than the others, and nobody gives it more later. That happens to the same
	 * ones again and again (1.6 %), and not to those who have enough for every turn.
	 */
	APART_SHARE = 32,
	FEW = 100,
	DEEP = 512, /* more than two turns */
	LONG = 10 * RN_FAIRNESS_MESSAGES,
};

static unsigned messages = RN_FAIRNESS_MESSAGES;

struct range {
	uint32_t least, most;
};

static struct range range_of(const uint32_t *count, unsigned n)
{
	struct range r = { .least = UINT32_MAX };

	for (unsigned i = 0; i < n; i++) {
		r.least = count[i] < r.least ? count[i] : r.least;
		r.most = count[i] > r.most ? count[i] : r.most;
	}
	return r;
}

/* Each QP is kept busy until it has sent @each messages. Return: how far they were apart
 * at most, at any moment.
 */
static uint32_t run(struct many *m, unsigned each)
{
	struct range r = { 0 };
	uint32_t apart = 0;

	while (r.least < each) {
		for (unsigned i = 0; i < m->cfg.qps; i++)
			while (m->posted[i] < each && many_post(m, i))
				;
		many_step(m);
		r = range_of(m->completed, m->cfg.qps);
		apart = r.most - r.least > apart ? r.most - r.least : apart;
	}
	assert_int_equal(m->failures, 0);
	for (unsigned i = 0; i < m->cfg.qps; i++) {
		assert_int_equal(m->completed[i], each);
		assert_int_equal(m->received[i], each);
	}
	return apart;
}

/* Each of @qps sends @each messages, with up to @depth requests posted, and none is more
 * than @most behind another.
 */
static void stay_together(unsigned qps, unsigned depth, unsigned each, uint32_t most)
{
	struct many *m = many_new(&(struct many_cfg){ .qps = qps,
						      .depth = depth,
						      .len = 64,
						      .room = 1 << 13,
						      .step_ns = RN_USEC(10) });
	uint32_t apart = run(m, each);

	print_message("%u messages through each of %u QPs: at most %u apart\n", each, qps,
		      apart);
	assert_true(apart <= most);
	assert_int_equal(m->overflows, 0);
	many_free(m);
}

static void busy_qps_progress_alike(void **state)
{
	(void)state;
	stay_together(QPS, DEPTH, messages, APART_MAX + messages / APART_SHARE);
}

/* However long that goes on, and no more leaves than the window lets through. */
static void qps_with_work_for_every_turn_stay_together(void **state)
{
	(void)state;
	stay_together(FEW, DEEP, LONG, APART_MAX);
}

/* A receive queue that overflows, and a wire that loses one packet of a hundred: nobody
 * starves, though who is unlucky falls behind for a while.
 */
static void nobody_starves_when_packets_are_lost(void **state)
{
	struct many *m = many_new(&(struct many_cfg){ .qps = QPS,
						      .depth = DEPTH,
						      .len = 64,
						      .room = 700,
						      .loss_pct = 1,
						      .step_ns = RN_USEC(100) });
	uint32_t apart = run(m, 200);

	(void)state;
	print_message("with losses: at most %u of 200 apart, %llu overflows, %llu sent "
		      "again\n",
		      apart, (unsigned long long)m->overflows,
		      (unsigned long long)m->side[0].stats[RN_STAT_RETRANSMITTED]);
	many_free(m);
}

static void to_error(struct many *m, unsigned side, unsigned i)
{
	const struct rn_qp_attr attr = { .state = RN_QPS_ERR };

	assert_int_equal(rn_qp_modify(m->side[side].dev, m->qp[side][i], m->now, &attr,
				      RN_ATTR_STATE),
			 0);
}

/* A third of the QPs send to dead ones, which fills the window, and a third die with what
 * they have on the way; the others end long before the retries of the first do.
 */
static void the_dead_do_not_keep_the_others_waiting(void **state)
{
	struct many *m = many_new(&(struct many_cfg){ .qps = 300,
						      .depth = DEPTH,
						      .len = 64,
						      .room = 1 << 13,
						      .step_ns = RN_USEC(10) });
	const unsigned each = 100;
	const rn_ns begin = m->now;
	unsigned left = m->cfg.qps / 3;

	(void)state;
	for (unsigned i = 0; i < m->cfg.qps; i += 3)
		to_error(m, 1, i);
	for (unsigned step = 0; left > 0; step++) {
		for (unsigned i = 0; i < m->cfg.qps; i++)
			while (m->posted[i] < each && (i % 3 != 1 || step < 20) &&
			       many_post(m, i))
				;
		if (step == 20)
			for (unsigned i = 1; i < m->cfg.qps; i += 3)
				to_error(m, 0, i);
		many_step(m);
		left = 0;
		for (unsigned i = 2; i < m->cfg.qps; i += 3)
			left += m->completed[i] < each;
		assert_true(m->now - begin < RN_MSEC(1000));
	}
	print_message("beside the dead: %llu us\n",
		      (unsigned long long)((m->now - begin) / 1000));
	many_free(m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_qps_progress_alike),
		cmocka_unit_test(qps_with_work_for_every_turn_stay_together),
		cmocka_unit_test(nobody_starves_when_packets_are_lost),
		cmocka_unit_test(the_dead_do_not_keep_the_others_waiting),
	};

	if (argc > 1)
		messages = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
