/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_dest.c - the window shared by all QPs towards one destination process. */
#include "pair.h"
#include "qp.h"

enum {
	START = 32768,
	MIN = 8192,
	MAX = 262144,
	PKT = 4096
};

static struct pair *world(void)
{
	return pair_new(&(struct pair_cfg){ .devices = 1,
					    .window_start = START,
					    .window_min = MIN,
					    .window_max = MAX });
}

/* An RC QP towards @dest_qpn of the absent device. */
static struct pair_qp *qp_to(struct pair *p, uint32_t dest_qpn)
{
	struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_RC);
	struct rn_qp_attr attr = pair_attr(q, 1, dest_qpn);

	pair_modify_until(q, &attr, RN_QPS_RTS);
	return q;
}

/* What qp.c and requester.c do when the QP has nothing to send. */
static void unschedule(struct pair_qp *q)
{
	rn_list_remove(&q->qp->work_link);
}

static bool is_scheduled(const struct pair_qp *q)
{
	return rn_list_is_linked(&q->qp->work_link);
}

static void qps_to_one_process_share_a_window(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205), *c = qp_to(p, 0x106);

	(void)state;
	assert_ptr_equal(a->qp->dest, b->qp->dest);
	assert_ptr_not_equal(a->qp->dest, c->qp->dest);
	pair_free(p);
}

static void window_stops_a_qp_that_has_something_in_flight(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	while (rn_dest_may_send(a->qp, PKT))
		rn_dest_charge(a->qp, PKT);
	assert_int_equal(a->qp->req.in_flight, START);
	assert_int_equal(a->qp->dest->in_flight, START);

	/* b has nothing in flight: it always may. */
	assert_true(rn_dest_may_send(b->qp, PKT));
	rn_dest_charge(b->qp, PKT);
	assert_false(rn_dest_may_send(b->qp, PKT));
	assert_int_equal(a->qp->dest->in_flight, START + PKT);
	rn_dest_uncharge(a->qp, START);
	rn_dest_uncharge(b->qp, PKT);
	pair_free(p);
}

static void credit_schedules_waiting_qps_in_order_as_room_allows(void **state)
{
	struct pair *p = world();
	struct pair_qp *q[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		q[i] = qp_to(p, 0x100 * i + 5);
		rn_dest_charge(q[i]->qp, START / 2);
		assert_int_equal(rn_dest_may_send(q[i]->qp, PKT), i == 0);
		unschedule(q[i]);
	}
	assert_false(rn_dest_may_send(q[0]->qp, PKT));
	/* In flight 1.5 START; the window grows by what is acknowledged. */
	q[0]->qp->dest->threshold = 0;
	rn_dest_credit(q[0]->qp, PKT);
	for (unsigned i = 0; i < 3; i++)
		assert_false(is_scheduled(q[i]));
	rn_dest_credit(q[0]->qp, START / 2 - PKT - 1);
	assert_int_equal(q[0]->qp->dest->in_flight, START + 1);
	assert_false(is_scheduled(q[1]));
	rn_dest_credit(q[1]->qp, 2);
	assert_true(is_scheduled(q[1])); /* waited longest; room for one packet */
	assert_false(is_scheduled(q[2]));
	rn_dest_credit(q[1]->qp, 2 * PKT);
	assert_true(is_scheduled(q[2]));
	for (unsigned i = 0; i < 3; i++)
		rn_dest_uncharge(q[i]->qp, q[i]->qp->req.in_flight);
	pair_free(p);
}

static void qp_is_scheduled_when_its_own_last_byte_is_acknowledged(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	rn_dest_charge(a->qp, 10 * START);
	rn_dest_charge(b->qp, 1);
	assert_false(rn_dest_may_send(b->qp, PKT));
	unschedule(b);
	rn_dest_uncharge(b->qp, 1);
	assert_true(is_scheduled(b));
	assert_true(rn_dest_may_send(b->qp, PKT));
	rn_dest_uncharge(a->qp, 10 * START);
	pair_free(p);
}

static void window_doubles_per_round_trip_up_to_its_ceiling(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	uint32_t want = START;

	(void)state;
	for (unsigned trip = 0; trip < 5; trip++) {
		assert_int_equal(a->qp->dest->window, want);
		while (rn_dest_may_send(a->qp, PKT))
			rn_dest_charge(a->qp, PKT);
		while (a->qp->req.in_flight)
			rn_dest_credit(a->qp, PKT);
		want = want * 2 < MAX ? want * 2 : MAX;
	}
	assert_int_equal(a->qp->dest->window, MAX);
	pair_free(p);
}

static void loss_halves_once_per_round_trip_and_not_below_the_floor(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	rn_ns now = 0;

	(void)state;
	rn_dest_loss(a->qp, now);
	assert_int_equal(a->qp->dest->window, START / 2);
	rn_dest_loss(a->qp, now + RN_USEC(900));
	assert_int_equal(a->qp->dest->window, START / 2);
	for (unsigned i = 0; i < 5; i++)
		rn_dest_loss(a->qp, now += RN_MSEC(2));
	assert_int_equal(a->qp->dest->window, MIN);
	pair_free(p);
}

static void window_grows_by_a_step_per_round_trip_after_a_loss(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	uint32_t window;

	(void)state;
	rn_dest_loss(a->qp, 0);
	window = a->qp->dest->window;
	for (uint32_t acked = 0; acked < window; acked += PKT) {
		assert_int_equal(a->qp->dest->window, window);
		rn_dest_charge(a->qp, PKT);
		rn_dest_credit(a->qp, PKT);
	}
	assert_int_equal(a->qp->dest->window, window + RN_MTU_MAX);
	pair_free(p);
}

static void window_moves_to_another_member_when_its_owner_leaves(void **state)
{
	struct pair *p = world();
	struct pair_qp *q[4];
	struct rn_dest *d;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		q[i] = qp_to(p, 0x100 * i + 5);
		rn_dest_charge(q[i]->qp, START / 2);
	}
	rn_dest_loss(q[0]->qp, 0);
	assert_false(rn_dest_may_send(q[2]->qp, PKT));
	pair_qp_destroy(q[0]);
	d = q[1]->qp->dest;
	assert_ptr_equal(d, &q[3]->qp->own_dest);
	assert_ptr_equal(q[2]->qp->dest, d);
	assert_ptr_equal(q[3]->qp->dest, d);
	assert_int_equal(d->window, START / 2);
	assert_int_equal(d->in_flight, 3 * (START / 2));

	/* The one that waited is still on the list. */
	unschedule(q[2]);
	rn_dest_uncharge(q[1]->qp, START / 2);
	rn_dest_uncharge(q[3]->qp, START / 2);
	assert_false(is_scheduled(q[2]));
	rn_dest_uncharge(q[2]->qp, 1);
	assert_true(is_scheduled(q[2]));
	rn_dest_uncharge(q[2]->qp, START / 2 - 1);

	/* A newcomer joins the window, it does not start another. */
	q[0] = qp_to(p, 0x905);
	assert_ptr_equal(q[0]->qp->dest, d);
	pair_free(p);
}

static void last_member_takes_the_window_with_it(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b;

	(void)state;
	rn_dest_loss(a->qp, 0);
	assert_int_equal(pair_modify_state(a, RN_QPS_RESET), 0);
	assert_null(a->qp->dest);
	b = qp_to(p, 0x205);
	assert_int_equal(b->qp->dest->window, START);
	pair_free(p);
}

static void error_returns_what_was_in_flight_and_wakes_the_others(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	rn_dest_charge(a->qp, START);
	rn_dest_charge(b->qp, 1);
	assert_false(rn_dest_may_send(b->qp, PKT));
	unschedule(b);
	rn_qp_error(a->qp, p->now);
	assert_int_equal(a->qp->req.in_flight, 0);
	assert_int_equal(b->qp->dest->in_flight, 1);
	assert_true(is_scheduled(b));
	rn_dest_uncharge(b->qp, 1);
	pair_free(p);
}

static void unconnected_qps_have_no_window(void **state)
{
	struct pair *p = world();
	struct pair_qp *u = pair_qp_new(p, 0, RN_QPT_UD);

	(void)state;
	assert_true(rn_dest_may_send(u->qp, 1u << 30));
	rn_dest_charge(u->qp, 5);
	assert_int_equal(u->qp->req.in_flight, 0);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qps_to_one_process_share_a_window),
		cmocka_unit_test(window_stops_a_qp_that_has_something_in_flight),
		cmocka_unit_test(credit_schedules_waiting_qps_in_order_as_room_allows),
		cmocka_unit_test(qp_is_scheduled_when_its_own_last_byte_is_acknowledged),
		cmocka_unit_test(window_doubles_per_round_trip_up_to_its_ceiling),
		cmocka_unit_test(loss_halves_once_per_round_trip_and_not_below_the_floor),
		cmocka_unit_test(window_grows_by_a_step_per_round_trip_after_a_loss),
		cmocka_unit_test(window_moves_to_another_member_when_its_owner_leaves),
		cmocka_unit_test(last_member_takes_the_window_with_it),
		cmocka_unit_test(error_returns_what_was_in_flight_and_wakes_the_others),
		cmocka_unit_test(unconnected_qps_have_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
