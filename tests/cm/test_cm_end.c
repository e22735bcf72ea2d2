/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_end.c - rules N9 to N13 of tests/rules.md, how connections end, and N17 and
 * N18, datagram services. One test each. */
#include "cm_fixture.h"

static void n9_a_dreq_for_another_qp_is_ignored(void **state)
{
	struct rn_cm_msg msg;
	struct rn_cm_tx tx;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	kit_take(&kit.a, RN_CM_DREQ, &msg);
	assert_int_equal(msg.dreq.remote_qpn, 0x22);
	msg.dreq.remote_qpn = 0x23;
	tx = kit_compose(&kit.a, &kit.b, &msg, 77);
	kit_give(&kit, &kit.b, &tx);
	kit_quiet(&kit.b);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
}

static void n10_a_dreq_disconnects_and_is_answered(void **state)
{
	struct rn_mad_hdr asked, answered;
	struct rn_cm_tx dreq, drep;
	struct rn_cm_event ev;
	struct rn_cm_msg q, p;
	rn_ns start;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(
		rn_cm_disconnect(kit.a.cm, kit.now, active, (const uint8_t *)"bye", 3),
		0);
	dreq = kit_take(&kit.a, RN_CM_DREQ, &q);
	kit_give(&kit, &kit.b, &dreq);
	ev = kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	assert_ptr_equal(ev.conn, passive);
	assert_int_equal(ev.status, 0);
	assert_memory_equal(ev.data, "bye\0", 4);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	drep = kit_take(&kit.b, RN_CM_DREP, &p);
	assert_int_equal(p.drep.local_id, q.dreq.remote_id);
	assert_int_equal(p.drep.remote_id, q.dreq.local_id);
	rn_mad_hdr_parse(&asked, dreq.mad);
	rn_mad_hdr_parse(&answered, drep.mad);
	assert_int_equal(answered.tid, asked.tid);
	start = kit.now;
	kit_give(&kit, &kit.a, &drep);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_DISCONNECTED).status, 0);
	/* Time-wait is the path's ACK timeout: 2.1 s. */
	assert_int_equal(kit_state(active), RN_CM_TIMEWAIT);
	kit_next_deadline(&kit, &kit.a);
	assert_int_equal(kit.now - start, code(19));
	kit_event(&kit.a, RN_CM_EV_TIMEWAIT_EXIT);
	rn_cm_expire(kit.b.cm, kit.now);
	kit_event(&kit.b, RN_CM_EV_TIMEWAIT_EXIT);
	rn_cm_close(kit.a.cm, kit.now, active);
	rn_cm_close(kit.b.cm, kit.now, passive);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void n11_a_dreq_of_an_unknown_connection_is_answered(void **state)
{
	const struct rn_cm_msg dreq = {
		.attr = RN_CM_DREQ,
		.dreq = { .local_id = 0x1234, .remote_id = 0x5678, .remote_qpn = 9 },
	};
	struct rn_cm_tx tx = kit_compose(&kit.a, &kit.b, &dreq, 0xabcdef);
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	(void)state;
	kit_give(&kit, &kit.b, &tx);
	kit_no_event(&kit.b);
	tx = kit_take(&kit.b, RN_CM_DREP, &msg);
	assert_int_equal(msg.drep.local_id, 0x5678);
	assert_int_equal(msg.drep.remote_id, 0x1234);
	rn_mad_hdr_parse(&hdr, tx.mad);
	assert_int_equal(hdr.tid, 0xabcdef);
}

static void n12_a_dreq_in_timewait_is_answered_again(void **state)
{
	struct rn_cm_msg msg;
	struct rn_cm_tx dreq;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	dreq = kit_take(&kit.a, RN_CM_DREQ, &msg);
	kit_give(&kit, &kit.b, &dreq);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	kit_take(&kit.b, RN_CM_DREP, &msg); /* lost */
	kit_next_deadline(&kit, &kit.b);    /* its time-wait ends first */
	kit_event(&kit.b, RN_CM_EV_TIMEWAIT_EXIT);
	rn_cm_close(kit.b.cm, kit.now, passive);
	kit_next_deadline(&kit, &kit.a);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREQ);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREP);
	kit_event(&kit.a, RN_CM_EV_DISCONNECTED);
	kit_no_event(&kit.b);
	/* And while it lasts. */
	kit_next_deadline(&kit, &kit.a);
	kit_event(&kit.a, RN_CM_EV_TIMEWAIT_EXIT);
	rn_cm_close(kit.a.cm, kit.now, active);
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	dreq = kit_take(&kit.a, RN_CM_DREQ, &msg);
	kit_give(&kit, &kit.b, &dreq);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	kit_give(&kit, &kit.b, &dreq); /* the program has not answered yet */
	kit_quiet(&kit.b);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	kit_take(&kit.b, RN_CM_DREP, &msg);
	kit_give(&kit, &kit.b, &dreq);
	kit_take(&kit.b, RN_CM_DREP, &msg);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_TIMEWAIT);
}

static void n13_a_qp_that_asks_anew_ends_its_old_connection(void **state)
{
	struct rn_cm_msg msg;
	struct rn_cm_tx req;

	(void)state;
	kit_establish(&kit, &active, &passive);
	/* a has forgotten, and uses the QPN again. */
	kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	kit_take(&kit.b, RN_CM_REJ, &msg);
	assert_int_equal(msg.rej.reason, RN_CM_REJ_STALE_CONN);
	assert_int_equal(msg.rej.about, RN_CM_ABOUT_REQ);
	kit_take(&kit.b, RN_CM_DREQ, &msg);
	assert_int_equal(msg.dreq.local_id, rn_cm_conn_info(passive)->local_id);
	assert_int_equal(msg.dreq.remote_qpn, 0x11);
	assert_int_equal(kit_state(passive), RN_CM_DREQ_SENT);
	assert_int_equal(kit.b.stats[RN_CM_STAT_STALE], 1);
}

/* A listener for datagrams beside that of connections, and a question for it. */
static struct rn_cm_conn *ask_for_datagrams(uint16_t port)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer offer = { 0 };
	uint8_t data[RN_CM_REQ_DATA];
	struct rn_cm_conn *conn = NULL;

	kit_ip_data(&kit, data);
	offer.data = data;
	offer.data_len = sizeof(data);
	assert_int_equal(rn_cm_sidr_request(kit.a.cm, kit.now,
					    rn_cm_service_id(RN_CM_PS_UDP, port), &route,
					    &offer, &conn),
			 0);
	return conn;
}

static void n17_a_datagram_service_names_its_qp(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x33);
	struct rn_cm_listener udp;
	struct rn_cm_event ev;
	struct rn_cm_msg msg;

	(void)state;
	offer.qkey = 0x01234567;
	rn_cm_listener_ip(&udp, RN_CM_PS_UDP, KIT_PORT, &kit.b.gid);
	assert_int_equal(rn_cm_listen(kit.b.cm, &udp), 0);
	active = ask_for_datagrams(KIT_PORT);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_SIDR_REQ);
	ev = kit_event(&kit.b, RN_CM_EV_SIDR_REQ);
	assert_ptr_equal(ev.listener, &udp);
	assert_int_equal(ev.data_len, 216);
	passive = ev.conn;
	assert_int_equal(rn_cm_sidr_reply(kit.b.cm, passive, RN_CM_SIDR_SUCCESS, &offer),
			 0);
	msg = kit_pass(&kit, &kit.b, &kit.a, RN_CM_SIDR_REP);
	assert_int_equal(msg.sidr_rep.status, 0);
	assert_int_equal(msg.sidr_rep.qpn, 0x33);
	assert_int_equal(msg.sidr_rep.qkey, 0x01234567);
	assert_int_equal(msg.sidr_rep.service_id, 0x01111c06);
	ev = kit_event(&kit.a, RN_CM_EV_SIDR_REP);
	assert_ptr_equal(ev.conn, active);
	assert_int_equal(ev.status, 0);
	assert_int_equal(rn_cm_conn_info(active)->qp.dest_qpn, 0x33);
	assert_int_equal(rn_cm_conn_info(active)->qp.qkey, 0x01234567);
	assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
}

static void n18_a_datagram_service_that_nobody_has_is_status_1(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	active = ask_for_datagrams(KIT_PORT);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_SIDR_REQ);
	kit_no_event(&kit.b);
	msg = kit_pass(&kit, &kit.b, &kit.a, RN_CM_SIDR_REP);
	assert_int_equal(msg.sidr_rep.status, RN_CM_SIDR_UNSUPPORTED);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_SIDR_REP).status, 1);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(n9_a_dreq_for_another_qp_is_ignored),
		TEST(n10_a_dreq_disconnects_and_is_answered),
		TEST(n11_a_dreq_of_an_unknown_connection_is_answered),
		TEST(n12_a_dreq_in_timewait_is_answered_again),
		TEST(n13_a_qp_that_asks_anew_ends_its_old_connection),
		TEST(n17_a_datagram_service_names_its_qp),
		TEST(n18_a_datagram_service_that_nobody_has_is_status_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
