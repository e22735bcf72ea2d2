/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cq_moderate.c - completion events by count and by period. */
#include "rocin/transport.h"
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

#define PERIOD RN_USEC(50)

struct fixture {
	struct pair *p;
	struct rn_dev *dev;
	struct pair_cq *cq;
	struct pair_qp *q;
};

static struct fixture fixture_new(uint32_t count, rn_ns period)
{
	struct fixture f = { .p = pair_new(&(struct pair_cfg){ .devices = 1 }) };

	f.dev = f.p->dev[0];
	f.cq = pair_cq_new(f.p, 0, 16);
	f.q = pair_qp_new_with(f.p, 0,
			       &(struct rn_qp_init){ .type = RN_QPT_UD,
						     .send_cq = &f.cq->cq,
						     .recv_cq = &f.cq->cq });
	rn_cq_moderate(f.dev, &f.cq->cq, count, period);
	return f;
}

static void push_at(struct fixture *f, rn_ns at, bool solicited)
{
	struct rn_completion c = { .opcode = RN_WC_RECV, .solicited = solicited };

	rn_cq_push(f->dev, &f->cq->cq, f->q->qp, at, &c);
}

static unsigned events(struct fixture *f)
{
	struct rn_event ev;
	unsigned n = 0;

	while (rn_dev_event(f->dev, &ev)) {
		assert_true(ev.completion);
		n++;
	}
	return n;
}

static void the_count_fires(void **state)
{
	struct fixture f = fixture_new(3, PERIOD);
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	push_at(&f, now + 1, false);
	assert_int_equal(events(&f), 0);
	push_at(&f, now + 2, false);
	assert_int_equal(events(&f), 1);
	assert_int_equal(rn_dev_deadline(f.dev), RN_NEVER);
	/* It was armed for one event. */
	push_at(&f, now + 3, false);
	assert_int_equal(rn_dev_deadline(f.dev), RN_NEVER);
	pair_free(f.p);
}

static void the_period_fires_and_counts_from_the_first(void **state)
{
	struct fixture f = fixture_new(3, PERIOD);
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	push_at(&f, now + PERIOD / 2, false);
	assert_int_equal(rn_dev_deadline(f.dev), now + PERIOD);
	rn_dev_expire(f.dev, now + PERIOD - 1);
	assert_int_equal(events(&f), 0);
	rn_dev_expire(f.dev, now + PERIOD);
	assert_int_equal(events(&f), 1);
	assert_int_equal(rn_dev_deadline(f.dev), RN_NEVER);
	pair_free(f.p);
}

static void nothing_is_held_back_with_either_of_them_0(void **state)
{
	static const struct {
		uint32_t count;
		rn_ns period;
	} rows[] = { { 0, 0 }, { 5, 0 }, { 0, PERIOD }, { 1, PERIOD } };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct fixture f = fixture_new(rows[i].count, rows[i].period);

		rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
		push_at(&f, f.p->net->now, false);
		assert_int_equal(events(&f), 1);
		pair_free(f.p);
	}
}

static void what_the_queue_is_not_armed_for_does_not_count(void **state)
{
	struct fixture f = fixture_new(2, PERIOD);
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_SOLICITED);
	push_at(&f, now, true);
	push_at(&f, now, false);
	assert_int_equal(events(&f), 0);
	push_at(&f, now, true);
	assert_int_equal(events(&f), 1);
	pair_free(f.p);
}

static void what_is_held_back_obeys_new_values(void **state)
{
	struct fixture f = fixture_new(9, PERIOD);
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	push_at(&f, now, false);
	rn_cq_moderate(f.dev, &f.cq->cq, 9, 2 * PERIOD);
	assert_int_equal(rn_dev_deadline(f.dev), now + 2 * PERIOD);
	rn_cq_moderate(f.dev, &f.cq->cq, 2, PERIOD);
	assert_int_equal(events(&f), 1);

	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	rn_cq_moderate(f.dev, &f.cq->cq, 0, 0);
	assert_int_equal(events(&f), 1);
	assert_int_equal(rn_dev_deadline(f.dev), RN_NEVER);
	pair_free(f.p);
}

static void a_queue_that_goes_takes_its_event_with_it(void **state)
{
	struct fixture f = fixture_new(9, PERIOD);
	struct pair_cq *other = pair_cq_new(f.p, 0, 4);
	struct rn_completion c = { .opcode = RN_WC_RECV };
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_moderate(f.dev, &other->cq, 9, 2 * PERIOD);
	rn_cq_arm(&other->cq, RN_CQ_ARM_NEXT);
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	rn_cq_push(f.dev, &other->cq, f.q->qp, now, &c);
	push_at(&f, now, false);
	rn_cq_fini(f.dev, &other->cq);
	assert_int_equal(rn_dev_deadline(f.dev), now + PERIOD);
	rn_dev_expire(f.dev, now + 3 * PERIOD);
	assert_int_equal(events(&f), 1);
	pair_free(f.p);
}

static void a_dead_device_holds_nothing_back(void **state)
{
	struct fixture f = fixture_new(9, PERIOD);
	rn_ns now = f.p->net->now;

	(void)state;
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	rn_dev_error(f.dev, now);
	assert_int_equal(events(&f), 1);
	rn_cq_arm(&f.cq->cq, RN_CQ_ARM_NEXT);
	push_at(&f, now, false);
	assert_int_equal(events(&f), 1);
	pair_free(f.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_count_fires),
		cmocka_unit_test(the_period_fires_and_counts_from_the_first),
		cmocka_unit_test(nothing_is_held_back_with_either_of_them_0),
		cmocka_unit_test(what_the_queue_is_not_armed_for_does_not_count),
		cmocka_unit_test(what_is_held_back_obeys_new_values),
		cmocka_unit_test(a_queue_that_goes_takes_its_event_with_it),
		cmocka_unit_test(a_dead_device_holds_nothing_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
