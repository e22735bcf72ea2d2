/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_window.c - the window shared by all QPs towards one destination process. */
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	START = 32768,
	MIN = 8192,
	MAX = 262144,
	PKT = 4096,
	BURST = START / 3, /* a QP alone does not send less */
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
	assert_ptr_equal(a->qp->peer, b->qp->peer);
	assert_ptr_not_equal(a->qp->peer, c->qp->peer);
	pair_free(p);
}

static void window_stops_a_qp_that_has_something_in_flight(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	while (rn_window_may_send(a->qp, p->net->now, PKT))
		rn_window_charge(a->qp, p->net->now, PKT);
	assert_true(a->qp->req.in_flight > START - BURST);
	rn_window_charge(a->qp, p->net->now, START - a->qp->req.in_flight);
	assert_int_equal(a->qp->peer->in_flight, START);

	/* b has nothing in flight: it always may. */
	assert_true(rn_window_may_send(b->qp, p->net->now, PKT));
	rn_window_charge(b->qp, p->net->now, PKT);
	assert_false(rn_window_may_send(b->qp, p->net->now, PKT));
	assert_int_equal(a->qp->peer->in_flight, START + PKT);
	rn_window_uncharge(a->qp, START);
	rn_window_uncharge(b->qp, PKT);
	pair_free(p);
}

/* Many small super-packets are dear. */
static void qp_alone_waits_for_room_for_a_burst(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);
	struct rn_peer *d = a->qp->peer;

	(void)state;
	d->threshold = 0; /* no growth in between */
	while (rn_window_may_send(a->qp, p->net->now, PKT)) {
		rn_window_charge(a->qp, p->net->now, PKT);
		assert_true(d->in_flight <= START);
	}
	unschedule(a);
	rn_window_credit(a->qp, p->net->now, d->in_flight - (START - BURST) - 1);
	assert_true(START - d->in_flight > 2 * PKT);
	assert_false(is_scheduled(a));
	rn_window_credit(a->qp, p->net->now, 1);
	assert_true(is_scheduled(a));
	/* One that has begun is ended. */
	assert_true(rn_window_may_send(a->qp, p->net->now, PKT));
	assert_false(rn_window_closes(a->qp, PKT));
	rn_window_charge(a->qp, p->net->now, PKT);
	assert_true(rn_window_may_send(a->qp, p->net->now, PKT));
	assert_true(rn_window_closes(a->qp, PKT));
	rn_window_charge(a->qp, p->net->now, PKT);
	assert_false(rn_window_may_send(a->qp, p->net->now, PKT));
	unschedule(a);

	/* No acknowledgement may come of what has not asked for one. */
	a->qp->req.since_ack_req = 1;
	rn_window_credit(a->qp, p->net->now, PKT);
	assert_true(is_scheduled(a));
	a->qp->req.since_ack_req = 0;
	assert_false(rn_window_may_send(a->qp, p->net->now, PKT));
	unschedule(a);

	/* Nor is there one who says when the other's room becomes free. */
	rn_window_charge(b->qp, p->net->now, 1);
	rn_window_credit(a->qp, p->net->now, 1);
	assert_true(is_scheduled(a));
	rn_window_uncharge(a->qp, a->qp->req.in_flight);
	rn_window_uncharge(b->qp, b->qp->req.in_flight);
	pair_free(p);
}

static void credit_schedules_waiting_qps_in_order_as_room_allows(void **state)
{
	struct pair *p = world();
	struct pair_qp *q[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		q[i] = qp_to(p, 0x100 * i + 5);
		rn_window_charge(q[i]->qp, p->net->now, START / 2);
		assert_int_equal(rn_window_may_send(q[i]->qp, p->net->now, PKT), i == 0);
		unschedule(q[i]);
	}
	assert_false(rn_window_may_send(q[0]->qp, p->net->now, PKT));
	/* In flight 1.5 START; the window grows by what is acknowledged. */
	q[0]->qp->peer->threshold = 0;
	rn_window_credit(q[0]->qp, p->net->now, PKT);
	for (unsigned i = 0; i < 3; i++)
		assert_false(is_scheduled(q[i]));
	rn_window_credit(q[0]->qp, p->net->now, START / 2 - PKT - 1);
	assert_int_equal(q[0]->qp->peer->in_flight, START + 1);
	assert_false(is_scheduled(q[1]));
	rn_window_credit(q[1]->qp, p->net->now, 2);
	assert_true(is_scheduled(q[1])); /* waited longest; room for one packet */
	assert_false(is_scheduled(q[2]));
	rn_window_credit(q[1]->qp, p->net->now, 2 * PKT);
	assert_true(is_scheduled(q[2]));
	for (unsigned i = 0; i < 3; i++)
		rn_window_uncharge(q[i]->qp, q[i]->qp->req.in_flight);
	pair_free(p);
}

static void qp_is_scheduled_when_its_own_last_byte_is_acknowledged(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	rn_window_charge(a->qp, p->net->now, 10 * START);
	rn_window_charge(b->qp, p->net->now, 1);
	assert_false(rn_window_may_send(b->qp, p->net->now, PKT));
	unschedule(b);
	rn_window_uncharge(b->qp, 1);
	assert_true(is_scheduled(b));
	assert_true(rn_window_may_send(b->qp, p->net->now, PKT));
	rn_window_uncharge(a->qp, 10 * START);
	pair_free(p);
}

static void window_doubles_per_round_trip_up_to_its_ceiling(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	uint32_t want = START;

	(void)state;
	for (unsigned trip = 0; trip < 5; trip++) {
		assert_int_equal(a->qp->peer->window, want);
		while (rn_window_may_send(a->qp, p->net->now, PKT))
			rn_window_charge(a->qp, p->net->now, PKT);
		rn_window_charge(a->qp, p->net->now, want - a->qp->req.in_flight);
		while (a->qp->req.in_flight)
			rn_window_credit(a->qp, p->net->now, PKT);
		want = want * 2 < MAX ? want * 2 : MAX;
	}
	assert_int_equal(a->qp->peer->window, MAX);
	pair_free(p);
}

static void loss_starts_the_window_anew_below_what_was_too_much(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	struct rn_peer *d = a->qp->peer;

	(void)state;
	rn_window_charge(a->qp, p->net->now, START);
	rn_window_loss(a->qp, p->net->now);
	assert_int_equal(d->window, MIN);
	assert_int_equal(d->threshold, START * 3 / 4);
	rn_window_uncharge(a->qp, START);

	/* Lost again while it still doubles: a little less. */
	rn_window_charge(a->qp, p->net->now, MIN);
	rn_window_loss(a->qp, p->net->now + RN_USEC(50));
	assert_int_equal(d->window, MIN);
	assert_int_equal(d->threshold, START * 3 / 4 * 7 / 8);

	for (unsigned i = 0; i < 20; i++)
		rn_window_loss(a->qp, p->net->now += RN_MSEC(2));
	assert_int_equal(d->window, MIN);
	assert_int_equal(d->threshold, MIN);
	rn_window_uncharge(a->qp, MIN);
	pair_free(p);
}

static void one_overflow_that_two_qps_notice_counts_once(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	rn_window_charge(a->qp, p->net->now, PKT);
	rn_window_charge(b->qp, p->net->now, PKT);
	rn_window_loss(a->qp, p->net->now);
	rn_window_loss(b->qp, p->net->now + RN_USEC(100));
	assert_int_equal(a->qp->peer->cuts, 1);

	/* What b sends from now on is of another burst. */
	rn_window_uncharge(b->qp, PKT);
	rn_window_charge(b->qp, p->net->now, PKT);
	rn_window_loss(b->qp, p->net->now + RN_USEC(200));
	assert_int_equal(a->qp->peer->cuts, 2);
	rn_window_uncharge(a->qp, PKT);
	rn_window_uncharge(b->qp, PKT);
	pair_free(p);
}

/* Fill the window and have it acknowledged, in no time. */
static void round_trip(struct pair *p, struct pair_qp *q)
{
	uint32_t len;

	while (rn_window_may_send(q->qp, p->net->now, PKT))
		rn_window_charge(q->qp, p->net->now, PKT);
	for (len = q->qp->req.in_flight; len > 0; len -= PKT)
		rn_window_credit(q->qp, p->net->now, PKT);
}

static void window_feels_its_way_beyond_the_threshold(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);
	struct rn_peer *d = a->qp->peer;
	uint32_t before;

	(void)state;
	rn_window_loss(a->qp, p->net->now);
	while (d->window < d->threshold)
		round_trip(p, a);
	p->net->now += RN_MSEC(1);
	for (unsigned step = 1; step < 4; step++) {
		before = d->window;
		for (unsigned i = 0; i < 5; i++)
			round_trip(p, a);
		assert_int_equal(d->window, before + before / 32 * step + 1);
		p->net->now += RN_MSEC(1);
	}
	pair_free(p);
}

static void window_that_is_not_used_does_not_grow(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		rn_window_charge(a->qp, p->net->now, PKT);
		rn_window_credit(a->qp, p->net->now, PKT);
	}
	assert_int_equal(a->qp->peer->window, START);
	pair_free(p);
}

static void round_trip_time_is_rather_the_longest(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105);

	(void)state;
	rn_window_charge(a->qp, p->net->now, 2 * PKT);
	rn_window_credit(a->qp, p->net->now + 800, PKT);
	assert_int_equal(a->qp->peer->rtt, 800);
	rn_window_credit(a->qp, p->net->now + 9000, PKT); /* not the first of its burst */
	assert_int_equal(a->qp->peer->rtt, 800);
	rn_window_charge(a->qp, p->net->now, PKT);
	rn_window_credit(a->qp, p->net->now + 10, PKT);
	assert_int_equal(a->qp->peer->rtt, 700);
	pair_free(p);
}

static void window_moves_to_another_member_when_its_owner_leaves(void **state)
{
	struct pair *p = world();
	struct pair_qp *q[4];
	struct rn_peer *d;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		q[i] = qp_to(p, 0x100 * i + 5);
		rn_window_charge(q[i]->qp, p->net->now, START / 2);
	}
	rn_window_loss(q[0]->qp, 0);
	assert_false(rn_window_may_send(q[2]->qp, p->net->now, PKT));
	pair_qp_destroy(q[0]);
	d = q[1]->qp->peer;
	assert_ptr_equal(d, &q[3]->qp->own_peer);
	assert_ptr_equal(q[2]->qp->peer, d);
	assert_ptr_equal(q[3]->qp->peer, d);
	assert_int_equal(d->threshold, START * 3 / 4);
	assert_int_equal(d->in_flight, 3 * (START / 2));

	/* The one that waited is still on the list. */
	unschedule(q[2]);
	q[2]->qp->req.since_ack_req = 1; /* a packet's room will do */
	rn_window_uncharge(q[1]->qp, START / 2);
	rn_window_uncharge(q[3]->qp, START / 2);
	assert_false(is_scheduled(q[2]));
	rn_window_uncharge(q[2]->qp, START / 2 - MIN + 1);
	assert_true(is_scheduled(q[2]));
	rn_window_uncharge(q[2]->qp, MIN - 1);

	/* A newcomer joins the window, it does not start another. */
	q[0] = qp_to(p, 0x905);
	assert_ptr_equal(q[0]->qp->peer, d);
	pair_free(p);
}

static void last_member_takes_the_window_with_it(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b;

	(void)state;
	rn_window_loss(a->qp, 0);
	assert_int_equal(pair_modify_state(a, RN_QPS_RESET), 0);
	assert_null(a->qp->peer);
	b = qp_to(p, 0x205);
	assert_int_equal(b->qp->peer->window, START);
	pair_free(p);
}

static void error_returns_what_was_in_flight_and_wakes_the_others(void **state)
{
	struct pair *p = world();
	struct pair_qp *a = qp_to(p, 0x105), *b = qp_to(p, 0x205);

	(void)state;
	rn_window_charge(a->qp, p->net->now, START);
	rn_window_charge(b->qp, p->net->now, 1);
	assert_false(rn_window_may_send(b->qp, p->net->now, PKT));
	unschedule(b);
	rn_qp_error(a->qp, p->net->now);
	assert_int_equal(a->qp->req.in_flight, 0);
	assert_int_equal(b->qp->peer->in_flight, 1);
	assert_true(is_scheduled(b));
	rn_window_uncharge(b->qp, 1);
	pair_free(p);
}

static void unconnected_qps_have_no_window(void **state)
{
	struct pair *p = world();
	struct pair_qp *u = pair_qp_new(p, 0, RN_QPT_UD);

	(void)state;
	assert_true(rn_window_may_send(u->qp, p->net->now, 1u << 30));
	rn_window_charge(u->qp, p->net->now, 5);
	assert_int_equal(u->qp->req.in_flight, 0);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qps_to_one_process_share_a_window),
		cmocka_unit_test(window_stops_a_qp_that_has_something_in_flight),
		cmocka_unit_test(qp_alone_waits_for_room_for_a_burst),
		cmocka_unit_test(credit_schedules_waiting_qps_in_order_as_room_allows),
		cmocka_unit_test(qp_is_scheduled_when_its_own_last_byte_is_acknowledged),
		cmocka_unit_test(window_doubles_per_round_trip_up_to_its_ceiling),
		cmocka_unit_test(loss_starts_the_window_anew_below_what_was_too_much),
		cmocka_unit_test(one_overflow_that_two_qps_notice_counts_once),
		cmocka_unit_test(window_feels_its_way_beyond_the_threshold),
		cmocka_unit_test(window_that_is_not_used_does_not_grow),
		cmocka_unit_test(round_trip_time_is_rather_the_longest),
		cmocka_unit_test(window_moves_to_another_member_when_its_owner_leaves),
		cmocka_unit_test(last_member_takes_the_window_with_it),
		cmocka_unit_test(error_returns_what_was_in_flight_and_wakes_the_others),
		cmocka_unit_test(unconnected_qps_have_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
