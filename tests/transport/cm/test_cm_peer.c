/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_peer.c - who a peer is, and what is taken from it: IDs, GUIDs, QPNs, retries,
 * depths, private data, ECE.
 */
#include <errno.h>

#include "cm_fixture.h"

static void give(struct end *from, struct end *to, const struct rn_cm_msg *msg)
{
	struct kit_message tx = kit_compose(from, to, msg, 1);

	kit_give(&kit, to, &tx);
}

static void ids_and_qpns_are_those_of_a_guid(void **state)
{
	struct rn_cm_msg req;

	(void)state;
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &req);
	give(&kit.a, &kit.b, &req);
	kit_event(&kit.b, RN_CM_EV_REQ);
	req.req.ca_guid++; /* another device of the same address */
	give(&kit.a, &kit.b, &req);
	kit_event(&kit.b, RN_CM_EV_REQ);
	kit_quiet(&kit.b);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 2);
}

static void request_is_early_until_somebody_listens(void **state)
{
	struct rn_flow flow = { .src = kit.a.gid, .dst = kit.b.gid };
	struct rn_cm_rx rx = { .flow = &flow, .may_wait = true };
	struct rn_cm_msg msg;
	struct kit_message tx;

	(void)state;
	rn_cm_unlisten(kit.b.cm, &kit.listener);
	active = kit_connect(&kit);
	tx = kit_take(&kit.a, RN_CM_REQ, &msg);
	rx.mad = tx.mad;
	rx.src_qpn = 1;
	assert_false(rn_cm_receive(kit.b.cm, kit.now, &rx));
	kit_quiet(&kit.b);
	kit_no_event(&kit.b);
	tx.mad[1] ^= 1; /* not a message of the connection manager */
	assert_true(rn_cm_receive(kit.b.cm, kit.now, &rx));
	tx.mad[1] ^= 1;
	assert_int_equal(rn_cm_listen(kit.b.cm, &kit.listener), 0);
	assert_true(rn_cm_receive(kit.b.cm, kit.now, &rx));
	kit_event(&kit.b, RN_CM_EV_REQ);
}

static void a_message_names_both_ends(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	kit_take(&kit.a, RN_CM_RTU, &msg);
	msg.rtu.local_id++;
	give(&kit.a, &kit.b, &msg);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_REP_SENT);
	msg.rtu.local_id--;
	give(&kit.a, &kit.b, &msg);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
}

static void who_rejects_a_request_has_no_id_yet(void **state)
{
	const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm_msg rej;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_reject(kit.b.cm, kit.now, passive, &no), 0);
	rej = kit_pass(&kit, &kit.b, &kit.a, RN_CM_REJ);
	assert_int_equal(rej.rej.local_id, 0);
	assert_int_equal(rej.rej.about, RN_CM_ABOUT_REQ);
	kit_event(&kit.a, RN_CM_EV_REJECTED);
	/* But has one once it has asked for patience. */
	rn_cm_close(kit.a.cm, kit.now, active);
	rn_cm_close(kit.b.cm, kit.now, passive);
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_mra(kit.b.cm, passive, 20, false), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_MRA);
	assert_int_equal(rn_cm_reject(kit.b.cm, kit.now, passive, &no), 0);
	rej = kit_pass(&kit, &kit.b, &kit.a, RN_CM_REJ);
	assert_int_equal(rej.rej.local_id, rn_cm_conn_info(passive)->local_id);
	kit_event(&kit.a, RN_CM_EV_REJECTED);
}

/* A message of the peer that names our ID, and changes nothing. */
static void show_our_id(void)
{
	const struct rn_cm_info *info = rn_cm_conn_info(passive);
	const struct rn_cm_msg mra = {
		.attr = RN_CM_MRA,
		.mra = { .local_id = info->remote_id,
			 .remote_id = info->local_id,
			 .about = RN_CM_ABOUT_REQ },
	};

	give(&kit.a, &kit.b, &mra);
}

/* Accept a REQ that names @retries and the timeout of @code, and never hear of it again,
 * from a peer whose address is known not to be forged.
 */
static void be_left_alone(uint8_t retries, uint8_t code)
{
	const rn_ns timeout = (rn_ns)4096 << code, early = RN_MSEC(200);
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	rn_ns begin, last, wait = 0;
	struct rn_cm_msg msg;

	active = kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg.req.max_cm_retries = retries;
	msg.req.local_resp_timeout = code;
	give(&kit.a, &kit.b, &msg);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	show_our_id();
	begin = kit.now;
	for (unsigned i = 0; i <= retries; i++) {
		kit_take(&kit.b, RN_CM_REP, &msg);
		kit_no_event(&kit.b);
		last = kit.now;
		kit_next_deadline(&kit, &kit.b);
		assert_true(kit.now - last >= wait);
		wait = kit.now - last;
		if (i == 0)
			assert_int_equal(wait, retries < 3 || timeout < early ? timeout
									      : early);
	}
	kit_event(&kit.b, RN_CM_EV_UNREACHABLE);
	assert_in_range(kit.now - begin, timeout * (retries + 1) - retries,
			timeout * (retries + 1));
	rn_cm_close(kit.b.cm, kit.now, passive);
	rn_cm_close(kit.a.cm, kit.now, active);
	kit_take(&kit.a, RN_CM_REJ, &msg);
}

static void repeats_keep_to_the_number_and_the_time_that_were_agreed(void **state)
{
	(void)state;
	for (uint8_t code = 0; code <= 25; code++)
		for (uint8_t retries = 0; retries <= 15; retries++)
			be_left_alone(retries, code);
}

static void a_rep_is_repeated_as_often_as_the_req_allows(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_msg msg;

	(void)state;
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg.req.max_cm_retries = 2;
	msg.req.local_resp_timeout = 10;
	give(&kit.a, &kit.b, &msg);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	for (unsigned i = 0; i < 3; i++) {
		kit_take(&kit.b, RN_CM_REP, &msg);
		kit_no_event(&kit.b);
		kit_next_deadline(&kit, &kit.b);
	}
	kit_quiet(&kit.b);
	assert_int_equal(kit_event(&kit.b, RN_CM_EV_UNREACHABLE).status, -ETIMEDOUT);
}

/* What is told to the peer does not change. */
static void a_scale_stretches_what_is_waited_for(void **state)
{
	static const uint32_t scale[2] = { 1, 1000 };
	rn_ns wait[2], after_mra[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct rn_cm_cfg cfg = { .conn_max = KIT_CONNS,
					       .seed = 10 + i,
					       .timeout_scale = scale[i] };
		struct rn_cm_msg mra;

		kit_close(&kit);
		kit_open(&kit, KIT_CONNS);
		kit.a.cm = rn_cm_init(kit.a.block, &cfg);
		passive = kit_request(&kit, &active);
		wait[i] = rn_cm_deadline(kit.a.cm) - kit.now;
		assert_int_equal(rn_cm_mra(kit.b.cm, passive, 20, false), 0);
		mra = kit_pass(&kit, &kit.b, &kit.a, RN_CM_MRA);
		assert_int_equal(mra.mra.service_timeout, 20);
		after_mra[i] = rn_cm_deadline(kit.a.cm) - kit.now;
	}
	assert_true(wait[1] == 1000 * wait[0]);
	assert_true(after_mra[1] == 1000 * after_mra[0]);
}

/* A peer that says 31 for every time would hold an entry for days. */
static void no_time_of_a_peer_is_longer_than_137_s(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	rn_ns start = kit.now;
	struct rn_cm_msg msg;

	(void)state;
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg.req.local_resp_timeout = 31;
	msg.req.max_cm_retries = 0;
	give(&kit.a, &kit.b, &msg);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	assert_int_equal(rn_cm_deadline(kit.b.cm) - start, (rn_ns)4096 << 25);
}

static void a_rep_grants_no_more_than_was_asked_for(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);

	(void)state;
	passive = kit_request(&kit, &active); /* takes 4, makes 2 */
	offer.resp_res = 16;
	offer.init_depth = 16;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_rd_atomic, 2);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_dest_rd_atomic, 4);
}

/* What the peer does not take, we must not send. */
static void a_rep_that_grants_less_is_obeyed(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_msg rep;

	(void)state;
	passive = kit_request(&kit, &active); /* takes 4, makes 2 */
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_take(&kit.b, RN_CM_REP, &rep);
	rep.rep.resp_res = 1;
	rep.rep.init_depth = 3;
	give(&kit.b, &kit.a, &rep);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_rd_atomic, 1);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_dest_rd_atomic, 3);
}

/* No READ or atomic at all, either way. */
static void a_rep_may_grant_nothing(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_msg rep;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_take(&kit.b, RN_CM_REP, &rep);
	rep.rep.resp_res = rep.rep.init_depth = 0;
	give(&kit.b, &kit.a, &rep);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_rd_atomic, 0);
	assert_int_equal(rn_cm_conn_info(active)->qp.max_dest_rd_atomic, 0);
}

static void an_rtu_is_repeated_with_its_private_data(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct kit_message rep;
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	rep = kit_take(&kit.b, RN_CM_REP, &msg);
	kit_give(&kit, &kit.a, &rep);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, (const uint8_t *)"go", 2), 0);
	kit_take(&kit.a, RN_CM_RTU, &msg); /* lost */
	kit_give(&kit, &kit.a, &rep);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_RTU);
	assert_memory_equal(kit_event(&kit.b, RN_CM_EV_ESTABLISHED).data, "go\0", 3);
}

/* Accept a REQ whose RTU never comes; the active side has all that it needs. */
static void lose_rtus(unsigned times)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_msg msg;

	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	kit_take(&kit.a, RN_CM_RTU, &msg);
	for (unsigned i = 1; i < times; i++) {
		do
			kit_next_deadline(&kit, &kit.b);
		while (kit.b.stats[RN_CM_STAT_RESENT] < i);
		kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
		kit_take(&kit.a, RN_CM_RTU, &msg);
	}
}

static void a_request_stands_for_the_rtu_before_the_rep_is_repeated(void **state)
{
	(void)state;
	lose_rtus(1);
	kit.b.qpn_with_request = 0x22;
	kit_no_event(&kit.b);
	kit_next_deadline(&kit, &kit.b);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	kit_no_event(&kit.b);
	kit_quiet(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	assert_true(rn_cm_deadline(kit.b.cm) == RN_NEVER);
	assert_int_equal(kit.b.asked, 1);
	assert_int_equal(kit.b.stats[RN_CM_STAT_RESENT], 0);
	/* An RTU that was late only is one that nobody expects. */
	assert_int_equal(rn_cm_established(kit.b.cm, passive), -EISCONN);
	/* The peer has shown itself, as by the RTU: the end of it is said again as often
	 * as to anybody.
	 */
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct rn_cm_msg msg;

		kit_take(&kit.b, RN_CM_DREQ, &msg);
		kit_next_deadline(&kit, &kit.b);
	}
}

/* A peer that is not proven gets three REPs, so three lost RTUs are all of them. */
static void a_request_stands_for_rtus_that_are_all_lost(void **state)
{
	(void)state;
	lose_rtus(3);
	do {
		kit_next_deadline(&kit, &kit.b);
		kit_no_event(&kit.b);
	} while (kit.b.asked < 15);
	kit_quiet(&kit.b);
	kit.b.qpn_with_request = 0x22;
	kit_next_deadline(&kit, &kit.b); /* when it would be given up */
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	assert_int_equal(kit.b.asked, 16);
}

static void a_request_at_another_qp_stands_for_no_rtu(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	lose_rtus(1);
	kit.b.qpn_with_request = 0x23;
	kit_next_deadline(&kit, &kit.b);
	kit_no_event(&kit.b);
	kit_take(&kit.b, RN_CM_REP, &msg);
	assert_int_equal(kit_state(passive), RN_CM_REP_SENT);
}

static void a_request_ends_the_patience_of_an_mra(void **state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);

	(void)state;
	passive = kit_request(&kit, &active);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_mra(kit.a.cm, active, 21, false), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_MRA);
	kit.b.qpn_with_request = 0x22;
	kit_next_deadline(&kit, &kit.b);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	kit_quiet(&kit.b);
}

/* Only who awaits an RTU is asked about: requests at a QP say nothing of a REQ, a DREQ or
 * an alternate path.
 */
static void a_request_stands_for_nothing_but_an_rtu(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	kit.a.qpn_with_request = 0x11;
	active = kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_next_deadline(&kit, &kit.a);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_no_event(&kit.a);
	assert_int_equal(kit.a.asked, 0);
	rn_cm_close(kit.a.cm, kit.now, active);
	kit_take(&kit.a, RN_CM_REJ, &msg);
	kit_establish(&kit, &active, &passive);
	kit.b.qpn_with_request = 0x22;
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	kit_take(&kit.b, RN_CM_DREQ, &msg);
	kit_next_deadline(&kit, &kit.b);
	kit_take(&kit.b, RN_CM_DREQ, &msg);
	assert_int_equal(kit.b.asked, 0);
}

static void a_qpn_is_free_for_its_owner_when_timewait_begins(void **state)
{
	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREQ);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREP);
	kit_event(&kit.a, RN_CM_EV_DISCONNECTED);
	assert_int_equal(kit_state(passive), RN_CM_TIMEWAIT);
	kit_request(&kit, &active);
	kit_quiet(&kit.b);
}

/* A REQ that was under way for long finds its connection gone. */
static void an_old_req_in_timewait_is_stale(void **state)
{
	struct kit_message req;
	struct rn_cm_msg msg;

	(void)state;
	active = kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_give(&kit, &kit.b, &req);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive,
				      &(struct rn_cm_offer){ .qpn = 0x22 }),
			 0);
	rn_cm_close(kit.b.cm, kit.now, passive);
	kit_take(&kit.b, RN_CM_REJ, &msg); /* lost */
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	kit_take(&kit.b, RN_CM_REJ, &msg);
	assert_int_equal(msg.rej.reason, RN_CM_REJ_STALE_CONN);
}

static void a_lost_sidr_rep_is_repeated(void **state)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer question = { 0 }, reply = kit_offer(&kit.b, 0x33);
	struct kit_message req, first, again;
	struct rn_cm_listener udp;
	struct rn_cm_msg msg;

	(void)state;
	/* A service that is none of the IP CM: without a header. */
	udp = (struct rn_cm_listener){ .service_id = 0x1234567800000001,
				       .service_mask = UINT64_MAX };
	assert_int_equal(rn_cm_listen(kit.b.cm, &udp), 0);
	assert_int_equal(rn_cm_sidr_request(kit.a.cm, kit.now, udp.service_id, &route,
					    &question, &active),
			 0);
	req = kit_take(&kit.a, RN_CM_SIDR_REQ, &msg);
	kit_give(&kit, &kit.b, &req);
	passive = kit_event(&kit.b, RN_CM_EV_SIDR_REQ).conn;
	kit_give(&kit, &kit.b, &req); /* the program thinks */
	kit_quiet(&kit.b);
	assert_int_equal(udp.pending_count, 1);
	assert_int_equal(rn_cm_sidr_reply(kit.b.cm, passive, 0, &reply), 0);
	assert_int_equal(udp.pending_count, 0);		/* room for another */
	first = kit_take(&kit.b, RN_CM_SIDR_REP, &msg); /* lost */
	rn_cm_close(kit.b.cm, kit.now, passive);
	kit_next_deadline(&kit, &kit.a);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_SIDR_REQ);
	kit_no_event(&kit.b);
	again = kit_take(&kit.b, RN_CM_SIDR_REP, &msg);
	assert_memory_equal(again.mad, first.mad, RN_MAD_LEN);
	kit_give(&kit, &kit.a, &again);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_SIDR_REP).status, 0);
	kit_next_deadline(&kit, &kit.b);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void enhanced_establishment_reaches_both_sides(void **state)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer offer = kit_offer(&kit.a, 0x11);
	uint8_t data[RN_CM_REQ_DATA];

	(void)state;
	kit_ip_data(&kit, data);
	offer.data = data;
	offer.data_len = sizeof(data);
	offer.vendor_id = 0x123456;
	offer.vendor_option = 0xabcdef01;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now,
				       rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT), &route,
				       &offer, &active),
			 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_conn_info(passive)->vendor_id, 0x123456);
	assert_int_equal(rn_cm_conn_info(passive)->vendor_option, 0xabcdef01);
	offer = kit_offer(&kit.b, 0x22);
	offer.vendor_id = 0x654321;
	offer.vendor_option = 7;
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_conn_info(active)->vendor_id, 0x654321);
	assert_int_equal(rn_cm_conn_info(active)->vendor_option, 7);
}

/* An XRC initiator is connected to the target QP, which the REP has as its EECN. */
static void an_xrc_target_is_named_as_a_context(void **state)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer offer = kit_offer(&kit.a, 0x11);
	struct rn_cm_msg rep;
	uint8_t data[RN_CM_REQ_DATA];

	(void)state;
	kit_ip_data(&kit, data);
	offer.data = data;
	offer.data_len = sizeof(data);
	offer.transport = RN_CM_TRANSPORT_EXTENDED;
	offer.ext_transport = 1;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now,
				       rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT), &route,
				       &offer, &active),
			 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	offer = kit_offer(&kit.b, 0x22);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	rep = kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	assert_int_equal(rep.rep.qpn, 0);
	assert_int_equal(rep.rep.eecn, 0x22);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_conn_info(active)->qp.dest_qpn, 0x22);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_and_qpns_are_those_of_a_guid),
		TEST(request_is_early_until_somebody_listens),
		TEST(a_message_names_both_ends),
		TEST(who_rejects_a_request_has_no_id_yet),
		TEST(a_rep_is_repeated_as_often_as_the_req_allows),
		TEST(repeats_keep_to_the_number_and_the_time_that_were_agreed),
		TEST(a_scale_stretches_what_is_waited_for),
		TEST(no_time_of_a_peer_is_longer_than_137_s),
		TEST(a_rep_grants_no_more_than_was_asked_for),
		TEST(a_rep_that_grants_less_is_obeyed),
		TEST(a_rep_may_grant_nothing),
		TEST(an_rtu_is_repeated_with_its_private_data),
		TEST(a_request_stands_for_the_rtu_before_the_rep_is_repeated),
		TEST(a_request_stands_for_rtus_that_are_all_lost),
		TEST(a_request_at_another_qp_stands_for_no_rtu),
		TEST(a_request_ends_the_patience_of_an_mra),
		TEST(a_request_stands_for_nothing_but_an_rtu),
		TEST(a_qpn_is_free_for_its_owner_when_timewait_begins),
		TEST(an_old_req_in_timewait_is_stale),
		TEST(a_lost_sidr_rep_is_repeated),
		TEST(enhanced_establishment_reaches_both_sides),
		TEST(an_xrc_target_is_named_as_a_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
