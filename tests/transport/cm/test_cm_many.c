/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_many.c - thousands of connections at a time, and IPv6. */
#include "cm_kit.h"

enum {
	MANY = 3000,
	BATCH = 8, /* requests under way at a time */
};

static struct kit kit;

static int setup(void **state)
{
	(void)state;
	kit_open(&kit, MANY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_close(&kit);
	return 0;
}

static struct rn_cm_conn *connect_qp(uint32_t qpn)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer offer = kit_offer(&kit.a, qpn);
	uint8_t data[RN_CM_REQ_DATA];
	struct rn_cm_conn *conn = NULL;

	kit_ip_data(&kit, data);
	offer.psn = qpn;
	offer.data = data;
	offer.data_len = sizeof(data);
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now,
				       rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT), &route,
				       &offer, &conn),
			 0);
	return conn;
}

static uint64_t drawn;

static uint64_t draw(void)
{
	return ++drawn;
}

/* Where the caller has better numbers than a sequence, the ids are those. */
static void ids_come_from_the_source_that_is_given(void **state)
{
	const struct rn_cm_cfg cfg = { .conn_max = MANY, .draw = draw };

	(void)state;
	rn_cm_init(kit.a.block, &cfg);
	for (unsigned i = 1; i < 8; i++) {
		const struct rn_cm_conn *conn = connect_qp(i);

		assert_int_equal(rn_cm_conn_info(conn)->local_id, drawn);
	}
}

/* Everything that both ends have to say to each other. */
static void exchange(void)
{
	struct kit_message tx;
	bool more = true;

	while (more) {
		more = false;
		while (kit_transmit(&kit.a, &tx)) {
			kit_give(&kit, &kit.b, &tx);
			more = true;
		}
		while (kit_transmit(&kit.b, &tx)) {
			kit_give(&kit, &kit.a, &tx);
			more = true;
		}
	}
}

/* QP n of a is connected to QP n of b, which says so. */
static void establish_batch(uint32_t first)
{
	struct rn_cm_event ev;

	for (uint32_t i = 0; i < BATCH; i++)
		connect_qp(first + i);
	exchange();
	for (unsigned i = 0; i < BATCH; i++) {
		struct rn_cm_conn *conn = kit_event(&kit.b, RN_CM_EV_REQ).conn;
		struct rn_cm_offer offer =
			kit_offer(&kit.b, rn_cm_conn_info(conn)->qp.dest_qpn);

		offer.psn = offer.qpn;
		assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, conn, &offer), 0);
	}
	exchange();
	for (unsigned i = 0; i < BATCH; i++) {
		const struct rn_cm_qp *qp;

		ev = kit_event(&kit.a, RN_CM_EV_REP);
		qp = &rn_cm_conn_info(ev.conn)->qp;
		assert_int_equal(qp->dest_qpn, qp->rq_psn); /* its own */
		assert_int_equal(qp->dest_qpn, qp->sq_psn);
		assert_int_equal(rn_cm_ready(kit.a.cm, ev.conn, NULL, 0), 0);
	}
	exchange();
	for (unsigned i = 0; i < BATCH; i++)
		kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
}

static void thousands_are_made_and_broken(void **state)
{
	struct rn_cm_conn *conn[MANY];
	struct rn_cm_event ev;

	(void)state;
	for (uint32_t first = 0; first < MANY; first += BATCH)
		establish_batch(0x100 + first);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), MANY);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), MANY);
	/* A QPN again: each of them is known. */
	for (uint32_t i = 0; i < MANY; i++) {
		struct rn_cm_msg req = {
			.attr = RN_CM_REQ,
			.req = { .local_id = 1, .ca_guid = kit.a.guid, .qpn = 0x100 + i },
		};
		struct kit_message tx = kit_compose(&kit.a, &kit.b, &req, 1);
		struct rn_cm_msg msg;

		kit_give(&kit, &kit.b, &tx);
		kit_take(&kit.b, RN_CM_REJ, &msg);
		assert_int_equal(msg.rej.reason, RN_CM_REJ_STALE_CONN);
		kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREQ);
		ev = kit_event(&kit.a, RN_CM_EV_DISCONNECTED);
		assert_int_equal(rn_cm_conn_info(ev.conn)->qp.dest_qpn, 0x100 + i);
		conn[i] = ev.conn;
	}
	for (uint32_t i = 0; i < MANY; i++)
		rn_cm_close(kit.a.cm, kit.now, conn[i]);
	exchange();
	while (rn_cm_next_event(kit.b.cm, &ev))
		rn_cm_close(kit.b.cm, kit.now, ev.conn);
	exchange();
	while (rn_cm_deadline(kit.b.cm) != RN_NEVER)
		kit_next_deadline(&kit, &kit.b);
	/* A call does not act on all of them. */
	for (unsigned left = MANY; left;) {
		unsigned next = left > RN_CM_EXPIRE_MAX ? left - RN_CM_EXPIRE_MAX : 0;

		assert_int_equal(rn_cm_conn_count(kit.a.cm), left);
		assert_true(rn_cm_deadline(kit.a.cm) <= kit.now);
		rn_cm_expire(kit.a.cm, kit.now);
		left = next;
	}
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void ipv6_is_connected_as_ipv4_is(void **state)
{
	struct rn_gid v4_any = kit_ipv4(0, 0, 0, 0);
	struct rn_cm_listener here, v4;
	struct rn_cm_ip_hdr ip;
	struct rn_cm_event ev;

	(void)state;
	kit.a.gid = (struct rn_gid){ { 0xfe, 0x80, [15] = 1 } };
	kit.b.gid = (struct rn_gid){ { 0xfe, 0x80, [15] = 2 } };
	rn_cm_unlisten(kit.b.cm, &kit.listener);
	rn_cm_listener_ip(&v4, RN_CM_PS_TCP, KIT_PORT, &v4_any);
	assert_int_equal(rn_cm_listen(kit.b.cm, &v4), 0);
	rn_cm_listener_ip(&here, RN_CM_PS_TCP, KIT_PORT, &kit.b.gid);
	here.ifindex = 1;
	assert_int_equal(rn_cm_listen(kit.b.cm, &here), 0);
	kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	ev = kit_event(&kit.b, RN_CM_EV_REQ);
	assert_ptr_equal(ev.listener, &here);
	assert_int_equal(rn_cm_ip_hdr_parse(&ip, ev.data), 0);
	assert_memory_equal(&ip.dst, &kit.b.gid, 16);
	/* Link-local addresses are answered by the interface by which they came. */
	assert_int_equal(rn_cm_conn_info(ev.conn)->flow.ifindex, 1);
	assert_memory_equal(&rn_cm_conn_info(ev.conn)->flow.dst, &kit.a.gid, 16);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_come_from_the_source_that_is_given),
		TEST(thousands_are_made_and_broken),
		TEST(ipv6_is_connected_as_ipv4_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
