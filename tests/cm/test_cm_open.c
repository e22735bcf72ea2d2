/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_open.c - rules N1 to N8, N14 to N16, N19 and N20 of tests/rules.md: how
 * connections are made. One test each. */
#include <errno.h>

#include "cm_fixture.h"

static void n1_a_request_to_nobody_is_refused_with_reason_8(void **state)
{
	struct rn_cm_event ev;
	struct rn_cm_tx req, rej;
	struct rn_mad_hdr asked, answered;
	struct rn_cm_msg q, r;

	(void)state;
	rn_cm_unlisten(kit.b.cm, &kit.listener);
	active = kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &q);
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	rej = kit_take(&kit.b, RN_CM_REJ, &r);
	kit_quiet(&kit.b);
	assert_int_equal(r.rej.reason, RN_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(r.rej.about, RN_CM_ABOUT_REQ);
	assert_int_equal(r.rej.local_id, 0);
	assert_int_equal(r.rej.remote_id, q.req.local_id);
	rn_mad_hdr_parse(&asked, req.mad);
	rn_mad_hdr_parse(&answered, rej.mad);
	assert_int_equal(answered.tid, asked.tid);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);

	kit_give(&kit, &kit.a, &rej);
	ev = kit_event(&kit.a, RN_CM_EV_REJECTED);
	assert_ptr_equal(ev.conn, active);
	assert_int_equal(ev.status, RN_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(kit_state(active), RN_CM_IDLE);
	assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
}

static void n2_a_request_is_announced_with_its_private_data(void **state)
{
	const struct rn_cm_info *info;
	struct rn_cm_event ev;
	struct rn_cm_ip_hdr ip;

	(void)state;
	active = kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	ev = kit_event(&kit.b, RN_CM_EV_REQ);
	kit_no_event(&kit.b);
	assert_ptr_equal(ev.listener, &kit.listener);
	assert_int_equal(ev.data_len, 92);
	assert_int_equal(rn_cm_ip_hdr_parse(&ip, ev.data), 0);
	assert_int_equal(ip.src_port, 50000);
	assert_memory_equal(&ip.src, &kit.a.gid, 16);
	assert_memory_equal(&ip.dst, &kit.b.gid, 16);
	assert_memory_equal(ev.data + RN_CM_IP_HDR_LEN, "abcdefgh", 8);
	info = rn_cm_conn_info(ev.conn);
	assert_int_equal(info->state, RN_CM_REQ_RCVD);
	assert_false(info->is_active);
	assert_int_equal(info->service_id, 0x01061c06);
	assert_int_equal(info->remote_guid, kit.a.guid);
	assert_memory_equal(&info->flow.src, &kit.b.gid, 16);
	assert_memory_equal(&info->flow.dst, &kit.a.gid, 16);
	assert_int_equal(info->qp.dest_qpn, 0x11);
	assert_int_equal(info->qp.sq_psn, 0x111);
	/* Its 4 to receive are what we may have under way, and the other way round. */
	assert_int_equal(info->qp.max_rd_atomic, 4);
	assert_int_equal(info->qp.max_dest_rd_atomic, 2);
	assert_int_equal(info->qp.retry_cnt, 7);
	assert_int_equal(info->qp.rnr_retry, 6);
	assert_int_equal(info->qp.path_mtu, 3);
	assert_int_equal(info->qp.timeout, 19);
	assert_int_equal(info->qp.pkey, 0xffff);
	assert_memory_equal(&info->qp.path.local_gid, &kit.b.gid, 16);
	assert_memory_equal(&info->qp.path.remote_gid, &kit.a.gid, 16);
}

static void n3_an_accepted_request_gets_a_rep(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	const struct rn_cm_qp *qp;
	struct rn_cm_event ev;
	struct rn_cm_msg rep;

	(void)state;
	passive = kit_request(&kit, &active);
	offer.resp_res = 1; /* less than what a would make */
	offer.init_depth = 3;
	offer.data = (const uint8_t *)"welcome";
	offer.data_len = 7;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	rep = kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	assert_int_equal(rep.rep.local_id, rn_cm_conn_info(passive)->local_id);
	assert_int_equal(rep.rep.remote_id, rn_cm_conn_info(active)->local_id);
	assert_int_equal(rep.rep.qpn, 0x22);
	assert_int_equal(rep.rep.start_psn, 0x122);
	assert_int_equal(rep.rep.resp_res, 1);
	assert_int_equal(rep.rep.init_depth, 3);
	assert_int_equal(rep.rep.ca_guid, kit.b.guid);
	ev = kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(ev.data_len, 196);
	assert_memory_equal(ev.data, "welcome\0", 8);
	qp = &rn_cm_conn_info(active)->qp;
	assert_int_equal(qp->dest_qpn, 0x22);
	assert_int_equal(qp->rq_psn, 0x111);
	assert_int_equal(qp->sq_psn, 0x122);
	assert_int_equal(qp->max_rd_atomic, 1);
	assert_int_equal(qp->max_dest_rd_atomic, 3);
	assert_int_equal(qp->rnr_retry, 6);
	qp = &rn_cm_conn_info(passive)->qp;
	assert_int_equal(qp->rq_psn, 0x122);
	assert_int_equal(qp->max_dest_rd_atomic, 1);
	assert_int_equal(qp->max_rd_atomic, 3);
}

static void n4_a_duplicate_request_is_no_second_one(void **state)
{
	struct rn_cm_msg msg, again;
	struct rn_cm_tx req;

	(void)state;
	active = kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_give(&kit, &kit.b, &req);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	kit_quiet(&kit.b);
	/* An MRA that was promised is sent now. */
	assert_int_equal(rn_cm_mra(kit.b.cm, passive, RN_CM_MRA_TIMEOUT, true), 0);
	kit_quiet(&kit.b);
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	kit_take(&kit.b, RN_CM_MRA, &again);
	assert_int_equal(again.mra.about, RN_CM_ABOUT_REQ);
	assert_int_equal(again.mra.service_timeout, 24);
	assert_int_equal(again.mra.remote_id, msg.req.local_id);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 1);
	assert_int_equal(kit.b.stats[RN_CM_STAT_DUPLICATES], 2);
}

static void n5_a_rep_is_sent_again_without_an_answer(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_tx first, again;
	rn_ns start = kit.now;
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	first = kit_take(&kit.b, RN_CM_REP, &msg);
	kit_quiet(&kit.b);
	kit_next_deadline(&kit, &kit.b);
	assert_int_equal(kit.now - start, code(20)); /* 4.3 s */
	again = kit_take(&kit.b, RN_CM_REP, &msg);
	assert_memory_equal(again.mad, first.mad, RN_MAD_LEN);
	/* As often as the REQ allows; then nobody is there. */
	for (int i = 1; i < 15; i++) {
		kit_next_deadline(&kit, &kit.b);
		kit_take(&kit.b, RN_CM_REP, &msg);
	}
	kit_no_event(&kit.b);
	kit_next_deadline(&kit, &kit.b);
	kit_quiet(&kit.b);
	assert_int_equal(kit_event(&kit.b, RN_CM_EV_UNREACHABLE).status, -ETIMEDOUT);
	assert_int_equal(kit.now - start, 16 * code(20));
}

static void n6_an_rtu_establishes(void **state)
{
	(void)state;
	kit_establish(&kit, &active, &passive);
	kit_quiet(&kit.a);
	kit_quiet(&kit.b);
	kit_no_event(&kit.a);
	kit_no_event(&kit.b);
	assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
	assert_true(rn_cm_deadline(kit.b.cm) == RN_NEVER);
}

static void n7_data_instead_of_the_rtu_establishes(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_established(kit.b.cm, passive), -EINVAL);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	assert_int_equal(rn_cm_established(kit.b.cm, passive), 0);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	assert_int_equal(rn_cm_established(kit.b.cm, passive), -EISCONN);
	/* The RTU comes late. */
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_RTU);
	kit_no_event(&kit.b);
	assert_true(rn_cm_deadline(kit.b.cm) == RN_NEVER);
}

static void n8_a_duplicate_rep_gets_the_rtu_again(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_tx rep, first, again;
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	rep = kit_take(&kit.b, RN_CM_REP, &msg);
	kit_give(&kit, &kit.a, &rep);
	kit_event(&kit.a, RN_CM_EV_REP);
	kit_give(&kit, &kit.a, &rep); /* the program still thinks */
	kit_quiet(&kit.a);
	kit_no_event(&kit.a);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	first = kit_take(&kit.a, RN_CM_RTU, &msg);
	kit_give(&kit, &kit.a, &rep);
	again = kit_take(&kit.a, RN_CM_RTU, &msg);
	assert_memory_equal(again.mad, first.mad, RN_MAD_LEN);
	kit_no_event(&kit.a);
}

static void n14_without_an_answer_a_request_is_sent_16_times(void **state)
{
	rn_ns start = kit.now, apart = 2 * code(18) + code(20); /* 6.4 s */
	struct rn_cm_tx first, again;
	struct rn_cm_event ev;
	struct rn_cm_msg msg;

	(void)state;
	active = kit_connect(&kit);
	first = kit_take(&kit.a, RN_CM_REQ, &msg);
	for (int i = 1; i < 16; i++) {
		kit_next_deadline(&kit, &kit.a);
		assert_int_equal(kit.now - start, i * apart);
		again = kit_take(&kit.a, RN_CM_REQ, &msg);
		assert_memory_equal(again.mad, first.mad, RN_MAD_LEN);
		kit_no_event(&kit.a);
	}
	kit_next_deadline(&kit, &kit.a);
	assert_int_equal(kit.now - start, 16 * apart);
	kit_quiet(&kit.a);
	ev = kit_event(&kit.a, RN_CM_EV_UNREACHABLE);
	assert_ptr_equal(ev.conn, active);
	assert_int_equal(ev.status, -ETIMEDOUT);
	assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
	rn_cm_close(kit.a.cm, kit.now, active);
	kit_quiet(&kit.a);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
}

static void n15_a_refusal_shows_its_private_data(void **state)
{
	const struct rn_cm_no no = {
		.reason = RN_CM_REJ_CONSUMER,
		.data = (const uint8_t *)"not today",
		.data_len = 9,
	};
	struct rn_cm_event ev;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_reject(kit.b.cm, kit.now, passive, &no), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REJ);
	ev = kit_event(&kit.a, RN_CM_EV_REJECTED);
	assert_int_equal(ev.status, 28);
	assert_int_equal(ev.data_len, 148);
	assert_memory_equal(ev.data, "not today\0", 10);
	assert_int_equal(kit_state(active), RN_CM_IDLE);
	assert_int_equal(kit_state(passive), RN_CM_IDLE);
}

static void n16_an_ip_cm_header_of_another_version_is_refused(void **state)
{
	static const uint8_t versions[][2] = { { 0x10, 0x40 }, { 0x00, 0x50 } };
	struct rn_cm_msg msg;
	struct rn_cm_tx tx;

	(void)state;
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(versions); i++) {
		struct rn_cm_msg rej;

		msg.req.data[0] = versions[i][0];
		msg.req.data[1] = versions[i][1];
		tx = kit_compose(&kit.a, &kit.b, &msg, 5);
		kit_give(&kit, &kit.b, &tx);
		kit_no_event(&kit.b);
		kit_take(&kit.b, RN_CM_REJ, &rej);
		assert_int_equal(rej.rej.reason, RN_CM_REJ_CONSUMER);
		assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
	}
}

static void n19_an_mra_makes_a_request_wait(void **state)
{
	rn_ns start = kit.now;
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_mra(kit.b.cm, passive, 20, false), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_MRA);
	assert_int_equal(kit_state(active), RN_CM_MRA_REQ_RCVD);
	kit_quiet(&kit.a);
	kit_next_deadline(&kit, &kit.a);
	assert_int_equal(kit.now - start, code(20) + code(19));
	kit_take(&kit.a, RN_CM_REQ, &msg);
}

static void n20_a_mad_of_another_class_version_is_dropped(void **state)
{
	static const struct {
		unsigned byte;
		uint8_t value;
	} wrong[] = { { 0, 2 }, { 1, 4 }, { 2, 1 }, { 2, 3 }, { 3, 0x81 } };
	struct rn_cm_msg msg;
	struct rn_cm_tx req;

	(void)state;
	kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &msg);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rn_cm_tx bad = req;

		bad.mad[wrong[i].byte] = wrong[i].value;
		kit_give(&kit, &kit.b, &bad);
		kit_quiet(&kit.b);
		kit_no_event(&kit.b);
	}
	assert_int_equal(kit.b.stats[RN_CM_STAT_DROP_HEADER], RN_ARRAY_SIZE(wrong));
	kit_give(&kit, &kit.b, &req);
	kit_event(&kit.b, RN_CM_EV_REQ);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(n1_a_request_to_nobody_is_refused_with_reason_8),
		TEST(n2_a_request_is_announced_with_its_private_data),
		TEST(n3_an_accepted_request_gets_a_rep),
		TEST(n4_a_duplicate_request_is_no_second_one),
		TEST(n5_a_rep_is_sent_again_without_an_answer),
		TEST(n6_an_rtu_establishes),
		TEST(n7_data_instead_of_the_rtu_establishes),
		TEST(n8_a_duplicate_rep_gets_the_rtu_again),
		TEST(n14_without_an_answer_a_request_is_sent_16_times),
		TEST(n15_a_refusal_shows_its_private_data),
		TEST(n16_an_ip_cm_header_of_another_version_is_refused),
		TEST(n19_an_mra_makes_a_request_wait),
		TEST(n20_a_mad_of_another_class_version_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
