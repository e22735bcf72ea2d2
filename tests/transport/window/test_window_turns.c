/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_window_turns.c - many QPs that wait for one window take turns. */
#include "rocin/transport.h"
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	START = 32768,
	MIN = 8192,
	MAX = 262144,
	PKT = 4096
};

enum {
	CROWD = 40
};

/* A world where the window is full of packets of @talker and CROWD others, which have
 * nothing in flight, wait.
 */
struct crowd {
	struct pair *p;
	struct pair_cq *cq; /* of them all */
	struct pair_qp *talker, *q[CROWD];
	struct rn_peer *d;
};

static struct pair *world(void)
{
	return pair_new(&(struct pair_cfg){ .devices = 1,
					    .window_start = START,
					    .window_min = MIN,
					    .window_max = MAX });
}

/* An RC QP towards @dest_qpn of the absent device. */
static struct pair_qp *qp_to(struct crowd *c, uint32_t dest_qpn)
{
	struct rn_qp_init init = { .type = RN_QPT_RC,
				   .send_cq = &c->cq->cq,
				   .recv_cq = &c->cq->cq };
	struct pair_qp *q = pair_qp_new_with(c->p, 0, &init);
	struct rn_qp_attr attr = pair_attr(q, 1, dest_qpn);

	pair_modify_until(q, &attr, RN_QPS_RTS);
	return q;
}

/* What device.c does when the QP has nothing to send. */
static void unschedule(struct pair_qp *q)
{
	rn_list_remove(&q->qp->work_link);
}

static bool is_scheduled(const struct pair_qp *q)
{
	return rn_list_is_linked(&q->qp->work_link);
}

static struct crowd crowd_new(void)
{
	struct crowd c = { .p = world() };

	c.cq = pair_cq_new(c.p, 0, PAIR_CQ_DEFAULT);
	c.talker = qp_to(&c, 0x105);
	c.d = c.talker->qp->peer;
	rn_window_charge(c.talker->qp, c.p->net->now, START);
	for (unsigned i = 0; i < CROWD; i++) {
		c.q[i] = qp_to(&c, 0x100 * (i + 2) + 5);
		while (c.d->waiters == i &&
		       rn_window_may_send(c.q[i]->qp, c.p->net->now, PKT))
			rn_window_charge(c.q[i]->qp, c.p->net->now, 1);
		unschedule(c.q[i]);
	}
	for (unsigned i = 0; i < CROWD; i++)
		if (c.q[i]->qp->req.in_flight)
			rn_window_uncharge(c.q[i]->qp, 1);
	assert_int_equal(c.d->in_flight, START);
	assert_int_equal(c.d->waiters, CROWD);
	return c;
}

static void crowd_free(struct crowd *c)
{
	for (unsigned i = 0; i < CROWD; i++)
		rn_window_uncharge(c->q[i]->qp, c->q[i]->qp->req.in_flight);
	rn_window_uncharge(c->talker->qp, c->talker->qp->req.in_flight);
	pair_free(c->p);
}

static void many_wait_even_with_nothing_in_flight(void **state)
{
	struct crowd c = crowd_new();

	(void)state;
	for (unsigned i = 0; i < CROWD; i++)
		assert_false(rn_window_may_send(c.q[i]->qp, c.p->net->now, PKT));
	assert_int_equal(c.d->waiters, CROWD);
	crowd_free(&c);
}

static void turns_are_granted_in_order_and_end(void **state)
{
	struct crowd c = crowd_new();
	const uint32_t turn = START / 4;

	(void)state;
	rn_window_credit(c.talker->qp, c.p->net->now, turn);
	/* What has become free, and what the window has grown by. */
	assert_true(is_scheduled(c.q[0]));
	assert_int_equal(c.d->granted, c.q[0]->qp->req.grant + c.q[1]->qp->req.grant);
	assert_true(c.d->in_flight + c.d->granted <= c.d->window + c.d->window / 16);
	assert_true(c.q[0]->qp->req.grant >= turn);
	while (rn_window_may_send(c.q[0]->qp, c.p->net->now, PKT / 4))
		rn_window_charge(c.q[0]->qp, c.p->net->now, PKT / 4);
	assert_true(c.q[0]->qp->req.in_flight >= turn - PKT / 4);
	/* It is the last in the line now. */
	assert_ptr_equal(rn_list_last(&c.d->waiting), &c.q[0]->qp->window_link);
	crowd_free(&c);
}

static void unused_turn_is_the_next_ones(void **state)
{
	struct crowd c = crowd_new();

	(void)state;
	c.d->threshold = 0; /* the window stays */
	rn_window_credit(c.talker->qp, c.p->net->now, 2 * PKT);
	assert_true(is_scheduled(c.q[0]));
	assert_false(is_scheduled(c.q[1]));
	unschedule(c.q[0]);
	rn_window_yield(c.q[0]->qp);
	assert_int_equal(c.q[0]->qp->req.grant, 0);
	assert_true(is_scheduled(c.q[1]));
	/* Nor does one that dies keep it. */
	rn_qp_error(c.q[1]->qp, c.p->net->now);
	assert_true(is_scheduled(c.q[2]));
	crowd_free(&c);
}

/* They do not ask again while they wait: it is known that the window limits them. */
static void window_grows_as_long_as_qps_wait(void **state)
{
	struct crowd c = crowd_new();

	(void)state;
	rn_window_uncharge(c.talker->qp, START);
	assert_int_equal(c.d->in_flight, 0);
	assert_true(c.d->waiters > 0 && is_scheduled(c.q[0]));
	assert_true(rn_window_may_send(c.q[0]->qp, c.p->net->now, PKT));
	rn_window_charge(c.q[0]->qp, c.p->net->now, PKT);
	rn_window_credit(c.q[0]->qp, c.p->net->now, PKT);
	assert_int_equal(c.d->window, START + PKT);
	crowd_free(&c);
}

static void turn_ends_when_the_window_is_cut(void **state)
{
	struct crowd c = crowd_new();

	(void)state;
	rn_window_credit(c.talker->qp, c.p->net->now, START / 4);
	assert_true(c.q[0]->qp->req.grant >= PKT);
	rn_window_loss(c.talker->qp, c.p->net->now);
	assert_false(rn_window_may_send(c.q[0]->qp, c.p->net->now, PKT));
	assert_int_equal(c.q[0]->qp->req.grant, 0);
	crowd_free(&c);
}

static void half_of_what_leaves_an_overfull_window_is_replaced(void **state)
{
	struct crowd c = crowd_new();
	unsigned scheduled = 0;

	(void)state;
	rn_window_loss(c.talker->qp, c.p->net->now);
	assert_int_equal(c.d->window, MIN);
	rn_window_uncharge(c.talker->qp, 4 * (PKT + 256));
	for (unsigned i = 0; i < CROWD; i++)
		scheduled += is_scheduled(c.q[i]);
	assert_int_equal(scheduled, 2);
	crowd_free(&c);
}

static void who_waits_behind_the_dead_gets_a_turn_in_the_end(void **state)
{
	struct crowd c = crowd_new();
	unsigned scheduled = 0;

	(void)state;
	for (unsigned ms = 0; ms < 3; ms++)
		rn_dev_expire(c.p->dev[0], c.p->net->now += RN_MSEC(1));
	for (unsigned i = 0; i < CROWD; i++)
		scheduled += is_scheduled(c.q[i]);
	assert_int_equal(scheduled, 3);
	assert_true(rn_window_may_send(c.q[0]->qp, c.p->net->now, PKT));
	/* With nobody waiting nothing need be watched. */
	for (unsigned i = 0; i < CROWD; i++)
		rn_window_withdraw(c.q[i]->qp);
	rn_dev_expire(c.p->dev[0], c.p->net->now += RN_MSEC(1));
	assert_false(rn_timer_is_armed(&c.d->watch));
	crowd_free(&c);
}

static void crowd_moves_with_the_window(void **state)
{
	struct crowd c = crowd_new();

	(void)state;
	assert_ptr_equal(c.d, &c.talker->qp->own_peer);
	pair_qp_destroy(c.talker);
	c.d = c.q[0]->qp->peer;
	assert_ptr_equal(c.d, &c.q[CROWD - 1]->qp->own_peer);
	assert_true(rn_timer_is_armed(&c.d->watch));
	assert_int_equal(c.d->in_flight, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_true(is_scheduled(c.q[i]));
	for (unsigned i = 0; i < CROWD; i++)
		rn_window_withdraw(c.q[i]->qp);
	assert_int_equal(c.d->waiters, 0);
	assert_int_equal(c.d->granted, 0);
	pair_free(c.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_wait_even_with_nothing_in_flight),
		cmocka_unit_test(turns_are_granted_in_order_and_end),
		cmocka_unit_test(unused_turn_is_the_next_ones),
		cmocka_unit_test(window_grows_as_long_as_qps_wait),
		cmocka_unit_test(turn_ends_when_the_window_is_cut),
		cmocka_unit_test(half_of_what_leaves_an_overfull_window_is_replaced),
		cmocka_unit_test(who_waits_behind_the_dead_gets_a_turn_in_the_end),
		cmocka_unit_test(crowd_moves_with_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
