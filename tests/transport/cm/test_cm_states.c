/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_states.c - what the rules of group N leave open: refusals, patience, crossing
 * farewells, closing in each state, alternate paths, tables that are full.
 */
#include <errno.h>

#include "cm_fixture.h"

static void accept_it(void)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);

	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
}

/* Each field has a value that does not fit. */
static void refuse_offers(const struct rn_cm_route *route, const struct rn_cm_offer *good)
{
	for (unsigned i = 0; i < 7; i++) {
		struct rn_cm_offer offer = *good;
		struct rn_cm_conn *conn;

		offer.qpn = i == 0 ? 1 << 24 : offer.qpn;
		offer.psn = i == 1 ? 1 << 24 : offer.psn;
		offer.vendor_id = i == 2 ? 1 << 24 : 0;
		offer.transport = i == 3 ? 4 : 0;
		offer.ext_transport = i == 4 ? 8 : 0;
		offer.retry_count = i == 5 ? 8 : 7;
		offer.rnr_retry_count = i == 6 ? 255 : 7;
		assert_int_equal(
			rn_cm_connect(kit.a.cm, kit.now, 1, route, &offer, &conn),
			-EINVAL);
	}
}

static void a_call_in_another_state_changes_nothing(void **state)
{
	const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), -EINVAL);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), -EINVAL);
	assert_int_equal(rn_cm_reject(kit.b.cm, kit.now, passive, &no), -EINVAL);
	assert_int_equal(rn_cm_mra(kit.b.cm, passive, 20, false), -EINVAL);
	assert_int_equal(rn_cm_answer_alternate(kit.b.cm, passive, 0), -EINVAL);
	assert_int_equal(rn_cm_sidr_reply(kit.b.cm, passive, 0, &offer), -EINVAL);
	assert_int_equal(kit_state(active), RN_CM_ESTABLISHED);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	kit_quiet(&kit.a);
	kit_quiet(&kit.b);
	/* Nor does one whose arguments cannot be. */
	offer.data_len = RN_CM_REQ_DATA + 1;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now, 1, &route, &offer, &active),
			 -EINVAL);
	offer.data_len = 0;
	refuse_offers(&route, &offer);
	route.mtu = 6;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now, 1, &route, &offer, &active),
			 -EINVAL);
	route.mtu = 5;
	route.flow_label = 0x100000;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now, 1, &route, &offer, &active),
			 -EINVAL);
	route.flow_label = 0xfffff;
	route.flow.dst.raw[12] = 224;
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now, 1, &route, &offer, &active),
			 -EINVAL);
	route.flow.dst = (struct rn_gid){ { 0xfd } };
	assert_int_equal(rn_cm_connect(kit.a.cm, kit.now, 1, &route, &offer, &active),
			 -EINVAL);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 1);
}

static void requests_that_cannot_be_are_refused_with_the_reason(void **state)
{
	struct rn_cm_msg good, req, rej;
	struct kit_message tx;

	(void)state;
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &good);
	for (unsigned i = 0; i < 4; i++) {
		static const uint16_t reasons[] = { 9, 9, 12, 26 };

		req = good;
		if (i == 0)
			req.req.transport = RN_CM_TRANSPORT_RD;
		if (i == 1)
			req.req.transport = RN_CM_TRANSPORT_EXTENDED;
		if (i == 2)
			req.req.primary.remote_gid = kit.a.gid;
		if (i == 3)
			req.req.mtu = 0;
		tx = kit_compose(&kit.a, &kit.b, &req, 3);
		kit_give(&kit, &kit.b, &tx);
		kit_no_event(&kit.b);
		kit_take(&kit.b, RN_CM_REJ, &rej);
		assert_int_equal(rej.rej.reason, reasons[i]);
	}
	/* The address that would have done. */
	req = good;
	req.req.primary.remote_gid = kit.a.gid;
	tx = kit_compose(&kit.a, &kit.b, &req, 3);
	kit_give(&kit, &kit.b, &tx);
	kit_take(&kit.b, RN_CM_REJ, &rej);
	assert_int_equal(rej.rej.ari_len, 16);
	assert_memory_equal(rej.rej.ari, &kit.b.gid, 16);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void the_listener_that_asks_for_most_gets_the_request(void **state)
{
	struct rn_gid elsewhere = kit_ipv4(10, 77, 0, 9);
	struct rn_cm_listener here, other, again;
	struct rn_cm_msg rej;

	(void)state;
	rn_cm_listener_ip(&here, RN_CM_PS_TCP, KIT_PORT, &kit.b.gid);
	rn_cm_listener_ip(&other, RN_CM_PS_TCP, KIT_PORT, &elsewhere);
	rn_cm_listener_ip(&again, RN_CM_PS_TCP, KIT_PORT, &kit.b.gid);
	assert_int_equal(rn_cm_listen(kit.b.cm, &other), 0);
	assert_int_equal(rn_cm_listen(kit.b.cm, &here), 0);
	assert_int_equal(rn_cm_listen(kit.b.cm, &again), -EADDRINUSE);
	kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	assert_ptr_equal(kit_event(&kit.b, RN_CM_EV_REQ).listener, &here);
	assert_int_equal(here.pending_count, 1);
	rn_cm_unlisten(kit.b.cm, &here);
	rn_cm_unlisten(kit.b.cm, &kit.listener);
	/* One listens at this port, but not here. */
	kit_close(&kit);
	kit_open(&kit, KIT_CONNS);
	rn_cm_unlisten(kit.b.cm, &kit.listener);
	assert_int_equal(rn_cm_listen(kit.b.cm, &other), 0);
	kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	kit_take(&kit.b, RN_CM_REJ, &rej);
	assert_int_equal(rej.rej.reason, RN_CM_REJ_CONSUMER);
}

static void a_full_backlog_is_silence(void **state)
{
	struct rn_cm_msg msg;
	struct kit_message tx;

	(void)state;
	kit.listener.backlog = 1;
	passive = kit_request(&kit, &active);
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg.req.qpn = 0x12;
	tx = kit_compose(&kit.a, &kit.b, &msg, 9);
	kit_give(&kit, &kit.b, &tx);
	kit_quiet(&kit.b);
	kit_no_event(&kit.b);
	assert_int_equal(kit.b.stats[RN_CM_STAT_DROP_FULL], 1);
	/* The program has seen the first, so there is room. */
	rn_cm_taken(passive);
	kit_give(&kit, &kit.b, &tx);
	kit_event(&kit.b, RN_CM_EV_REQ);
}

static void who_is_accepted_leaves_the_backlog(void **state)
{
	struct rn_cm_msg msg;
	struct kit_message tx;

	(void)state;
	kit.listener.backlog = 1;
	passive = kit_request(&kit, &active);
	accept_it();
	kit_take(&kit.b, RN_CM_REP, &msg);
	kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg.req.qpn = 0x12;
	tx = kit_compose(&kit.a, &kit.b, &msg, 9);
	kit_give(&kit, &kit.b, &tx);
	kit_event(&kit.b, RN_CM_EV_REQ);
}

static void events_that_nobody_took_yet_wait_in_their_order(void **state)
{
	static const uint8_t data[RN_CM_RTU_DATA + 1];

	(void)state;
	passive = kit_request(&kit, &active);
	accept_it();
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, data, sizeof(data)), -EINVAL);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_RTU);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREQ);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	kit_no_event(&kit.b);
}

static void a_full_table_is_silence_and_enomem(void **state)
{
	struct rn_cm_route route = kit_route(&kit.b, &kit.a);
	struct rn_cm_offer offer = kit_offer(&kit.b, 1);
	struct rn_cm_conn *conn[KIT_CONNS], *more = NULL;

	(void)state;
	for (unsigned i = 0; i < KIT_CONNS; i++)
		assert_int_equal(
			rn_cm_connect(kit.b.cm, kit.now, 1, &route, &offer, &conn[i]), 0);
	assert_int_equal(rn_cm_connect(kit.b.cm, kit.now, 1, &route, &offer, &more),
			 -ENOMEM);
	assert_null(more);
	kit_connect(&kit);
	while (kit.b.stats[RN_CM_STAT_TX] < KIT_CONNS) {
		struct rn_cm_msg msg;

		kit_take(&kit.b, RN_CM_REQ, &msg);
	}
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	kit_quiet(&kit.b);
	kit_no_event(&kit.b);
	assert_int_equal(kit.b.stats[RN_CM_STAT_DROP_FULL], 1);
}

/* It is built once, in the packet that carries it, whose headers are written each time.
 */
static void what_is_said_again_is_the_packet_that_was_built(void **state)
{
	struct rn_cm_tx first, again;
	struct rn_gsi gsi = { 0 };
	uint8_t mad[RN_MAD_LEN];

	(void)state;
	kit_connect(&kit);
	assert_true(rn_cm_transmit(kit.a.cm, &first));
	memcpy(mad, first.pkt + RN_GSI_MAD_AT, sizeof(mad));
	rn_gsi_seal(&gsi, &first.flow, first.dest_qpn, first.pkt);
	kit_next_deadline(&kit, &kit.a);
	assert_true(rn_cm_transmit(kit.a.cm, &again));
	assert_ptr_equal(again.pkt, first.pkt);
	assert_memory_equal(again.pkt + RN_GSI_MAD_AT, mad, sizeof(mad));
	assert_int_equal(again.flow.sport, 0);
}

/* The last word of a connection that nobody holds, whose entry is free with that. */
static void a_last_word_outlives_its_connection(void **state)
{
	struct rn_mad_hdr hdr;
	struct rn_cm_tx tx;

	(void)state;
	passive = kit_request(&kit, &active);
	rn_cm_close(kit.b.cm, kit.now, passive);
	assert_true(rn_cm_transmit(kit.b.cm, &tx));
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
	rn_mad_hdr_parse(&hdr, tx.pkt + RN_GSI_MAD_AT);
	assert_int_equal(hdr.attr_id, RN_CM_REJ);
	assert_memory_equal(&tx.flow.dst, &kit.a.gid, sizeof(kit.a.gid));
}

static void disconnects_that_cross_end_it_once_on_each_side(void **state)
{
	struct kit_message from_a, from_b;
	struct rn_cm_msg msg;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	from_a = kit_take(&kit.a, RN_CM_DREQ, &msg);
	from_b = kit_take(&kit.b, RN_CM_DREQ, &msg);
	kit_give(&kit, &kit.a, &from_b);
	kit_give(&kit, &kit.b, &from_a);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREP);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREP);
	kit_event(&kit.a, RN_CM_EV_DISCONNECTED);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	kit_no_event(&kit.a);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(active), RN_CM_TIMEWAIT);
	assert_int_equal(kit_state(passive), RN_CM_TIMEWAIT);
}

static void a_peer_that_is_gone_is_disconnected_by_time(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	for (unsigned i = 0; i < 16; i++) {
		kit_take(&kit.a, RN_CM_DREQ, &msg);
		kit_no_event(&kit.a);
		kit_next_deadline(&kit, &kit.a);
	}
	kit_quiet(&kit.a);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_DISCONNECTED).status, -ETIMEDOUT);
	kit_next_deadline(&kit, &kit.a);
	kit_event(&kit.a, RN_CM_EV_TIMEWAIT_EXIT);
}

/* What the peer of a program that leaves hears. */
static void closing_before_an_answer_names_the_guid(void **state)
{
	struct rn_cm_event ev;
	struct rn_cm_msg rej;

	(void)state;
	passive = kit_request(&kit, &active);
	rn_cm_close(kit.a.cm, kit.now, active);
	rej = kit_pass(&kit, &kit.a, &kit.b, RN_CM_REJ);
	assert_int_equal(rej.rej.reason, RN_CM_REJ_TIMEOUT);
	assert_int_equal(rej.rej.ari_len, 8);
	ev = kit_event(&kit.b, RN_CM_EV_REJECTED);
	assert_ptr_equal(ev.conn, passive);
	assert_int_equal(ev.status, RN_CM_REJ_TIMEOUT);
	assert_int_equal(kit_state(passive), RN_CM_IDLE);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
}

static void closing_a_request_or_an_answer_rejects_it(void **state)
{
	struct rn_cm_msg rej;

	(void)state;
	passive = kit_request(&kit, &active);
	rn_cm_close(kit.b.cm, kit.now, passive);
	rej = kit_pass(&kit, &kit.b, &kit.a, RN_CM_REJ);
	assert_int_equal(rej.rej.reason, RN_CM_REJ_CONSUMER);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_REJECTED).status, 28);
	rn_cm_close(kit.a.cm, kit.now, active);

	passive = kit_request(&kit, &active);
	accept_it();
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	rn_cm_close(kit.a.cm, kit.now, active);
	rej = kit_pass(&kit, &kit.a, &kit.b, RN_CM_REJ);
	assert_int_equal(rej.rej.about, RN_CM_ABOUT_REP);
	assert_int_equal(kit_event(&kit.b, RN_CM_EV_REJECTED).status, 28);
	rn_cm_close(kit.b.cm, kit.now, passive);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void closing_what_is_established_disconnects_it(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	kit_establish(&kit, &active, &passive);
	rn_cm_close(kit.a.cm, kit.now, active);
	kit_take(&kit.a, RN_CM_DREQ, &msg); /* lost; it is sent again without an owner */
	kit_next_deadline(&kit, &kit.a);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREQ);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	rn_cm_close(kit.b.cm, kit.now, passive);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREP);
	kit_no_event(&kit.a);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 1);
	kit_next_deadline(&kit, &kit.a);
	rn_cm_expire(kit.b.cm, kit.now);
	kit_no_event(&kit.a);
	kit_no_event(&kit.b);
	assert_int_equal(rn_cm_conn_count(kit.a.cm), 0);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void an_mra_about_the_rep_makes_it_wait(void **state)
{
	rn_ns start;
	struct kit_message rep;
	struct rn_cm_msg msg;

	(void)state;
	passive = kit_request(&kit, &active);
	accept_it();
	rep = kit_take(&kit.b, RN_CM_REP, &msg);
	kit_give(&kit, &kit.a, &rep);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_mra(kit.a.cm, active, 32, false), -EINVAL);
	assert_int_equal(rn_cm_mra(kit.a.cm, active, 21, false), 0);
	msg = kit_pass(&kit, &kit.a, &kit.b, RN_CM_MRA);
	assert_int_equal(msg.mra.about, RN_CM_ABOUT_REP);
	assert_int_equal(kit_state(passive), RN_CM_MRA_REP_RCVD);
	start = kit.now;
	kit_next_deadline(&kit, &kit.b);
	assert_int_equal(kit.now - start, ((rn_ns)4096 << 21) + ((rn_ns)4096 << 19));
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_MRA); /* again */
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_RTU);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
}

/* An MRA about nothing, or two bits that mean nothing. */
static void an_mra_that_nobody_waits_for_is_ignored(void **state)
{
	struct rn_cm_msg mra = { .attr = RN_CM_MRA };

	(void)state;
	kit_establish(&kit, &active, &passive);
	for (uint8_t about = 0; about < 4; about++) {
		struct kit_message tx;

		mra.mra.local_id = rn_cm_conn_info(passive)->local_id;
		mra.mra.remote_id = rn_cm_conn_info(active)->local_id;
		mra.mra.about = about;
		tx = kit_compose(&kit.b, &kit.a, &mra, 1);
		kit_give(&kit, &kit.a, &tx);
		assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
	}
	assert_int_equal(kit.a.stats[RN_CM_STAT_DROP_STATE], 4);
}

static void messages_of_another_address_are_ignored(void **state)
{
	struct rn_cm_msg msg;
	struct kit_message tx;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	tx = kit_take(&kit.a, RN_CM_DREQ, &msg);
	tx.flow.src = kit_ipv4(10, 77, 0, 66);
	kit_give(&kit, &kit.b, &tx);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	kit_take(&kit.b, RN_CM_DREP, &msg); /* as to anybody whom it does not know */
}

static void who_is_asked_sees_the_path_from_its_end(void **state)
{
	const struct rn_cm_path_rec *path;

	(void)state;
	passive = kit_request(&kit, &active);
	path = &rn_cm_conn_info(passive)->qp.path;
	assert_memory_equal(&path->local_gid, &kit.b.gid, sizeof(kit.b.gid));
	assert_memory_equal(&path->remote_gid, &kit.a.gid, sizeof(kit.a.gid));
}

/* Answers to those whom nobody knows go back along the way that they came. */
static void answers_are_not_marked_as_congested(void **state)
{
	struct rn_cm_msg msg;
	struct kit_message tx;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	tx = kit_take(&kit.a, RN_CM_DREQ, &msg);
	tx.flow.src = kit_ipv4(10, 77, 0, 66);
	tx.flow.tclass = 0xbb;
	kit_give(&kit, &kit.b, &tx);
	tx = kit_take(&kit.b, RN_CM_DREP, &msg);
	assert_int_equal(tx.flow.tclass, 0xb8);
}

static void answers_beyond_their_room_are_dropped(void **state)
{
	struct rn_cm_msg msg;
	unsigned taken = 0;
	struct kit_message tx;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	tx = kit_take(&kit.a, RN_CM_DREQ, &msg);
	tx.flow.src = kit_ipv4(10, 77, 0, 66);
	for (unsigned i = 0; i < 1000; i++) {
		tx.mad[15] = (uint8_t)i; /* the low byte of the transaction */
		kit_give(&kit, &kit.b, &tx);
	}
	while (kit_transmit(&kit.b, &tx)) {
		assert_int_equal(tx.mad[15], taken & 0xff);
		taken++;
	}
	assert_in_range(taken, 1, 999);
}

static void a_listener_of_an_interface_hears_no_other(void **state)
{
	struct rn_cm_msg rej;

	(void)state;
	kit.listener.ifindex = 2; /* what comes, comes at 1 */
	kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	kit_no_event(&kit.b);
	kit_take(&kit.b, RN_CM_REJ, &rej);
	kit.listener.ifindex = 1;
	kit_connect(&kit);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_REQ);
	assert_ptr_equal(kit_event(&kit.b, RN_CM_EV_REQ).listener, &kit.listener);
}

/* In a table so small that addresses share a place. */
static void who_guesses_a_guid_has_not_the_address(void **state)
{
	struct rn_cm_msg rej;
	struct kit_message tx;

	(void)state;
	kit_close(&kit);
	kit_open(&kit, 1);
	passive = kit_request(&kit, &active);
	rn_cm_close(kit.a.cm, kit.now, active);
	tx = kit_take(&kit.a, RN_CM_REJ, &rej);
	for (unsigned i = 10; i < 250; i++) {
		tx.flow.src = kit_ipv4(10, 77, 0, (uint8_t)i);
		kit_give(&kit, &kit.b, &tx);
		kit_no_event(&kit.b);
	}
	tx.flow.src = kit.a.gid;
	kit_give(&kit, &kit.b, &tx);
	assert_ptr_equal(kit_event(&kit.b, RN_CM_EV_REJECTED).conn, passive);
}

static void an_alternate_path_is_offered_and_taken(void **state)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct kit_message lap;
	struct rn_cm_msg msg;

	(void)state;
	kit_establish(&kit, &active, &passive);
	route.flow.src = kit_ipv4(10, 78, 0, 1);
	route.flow.dst = kit_ipv4(10, 78, 0, 2);
	assert_int_equal(rn_cm_load_alternate(kit.a.cm, kit.now, active, &route), 0);
	assert_int_equal(rn_cm_load_alternate(kit.a.cm, kit.now, active, &route),
			 -EALREADY);
	lap = kit_take(&kit.a, RN_CM_LAP, &msg);
	kit_give(&kit, &kit.b, &lap);
	kit_event(&kit.b, RN_CM_EV_LAP);
	kit_give(&kit, &kit.b, &lap); /* the program thinks */
	kit_no_event(&kit.b);
	kit_quiet(&kit.b);
	assert_memory_equal(&rn_cm_conn_info(passive)->qp.alternate.local_gid,
			    &route.flow.dst, 16);
	assert_int_equal(rn_cm_answer_alternate(kit.b.cm, passive, RN_CM_APR_SUCCESS), 0);
	kit_take(&kit.b, RN_CM_APR, &msg); /* lost */
	kit_give(&kit, &kit.b, &lap);
	kit_no_event(&kit.b);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_APR);
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_APR).status, 0);
	assert_true(rn_cm_deadline(kit.a.cm) == RN_NEVER);
	/* And one that nobody answers. */
	assert_int_equal(rn_cm_load_alternate(kit.a.cm, kit.now, active, &route), 0);
	for (unsigned i = 0; i < 16; i++) {
		kit_take(&kit.a, RN_CM_LAP, &msg);
		kit_next_deadline(&kit, &kit.a);
	}
	assert_int_equal(kit_event(&kit.a, RN_CM_EV_APR).status, -ETIMEDOUT);
	assert_int_equal(kit_state(active), RN_CM_ESTABLISHED);
}

/* Found by `rocin sim --connections --seeds 14560`. */
static void an_old_offer_of_a_path_is_no_new_one(void **state)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct kit_message first, lap;
	struct rn_cm_msg msg;

	(void)state;
	kit_establish(&kit, &active, &passive);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rn_cm_load_alternate(kit.a.cm, kit.now, active, &route),
				 0);
		lap = kit_take(&kit.a, RN_CM_LAP, &msg);
		first = i ? first : lap;
		kit_give(&kit, &kit.b, &lap);
		kit_event(&kit.b, RN_CM_EV_LAP);
		assert_int_equal(
			rn_cm_answer_alternate(kit.b.cm, passive, RN_CM_APR_SUCCESS), 0);
		kit_pass(&kit, &kit.b, &kit.a, RN_CM_APR);
		kit_event(&kit.a, RN_CM_EV_APR);
		kit_give(&kit, &kit.b, &first);
		kit_no_event(&kit.b);
		if (i == 0)
			kit_take(&kit.b, RN_CM_APR, &msg);
		kit_quiet(&kit.b);
	}
}

static void a_stale_rep_is_refused(void **state)
{
	struct rn_cm_conn *first, *old;
	struct rn_cm_msg msg;
	struct kit_message rep;

	(void)state;
	kit_establish(&kit, &first, &old);
	/* b accepts another with the QP of the first, which it has forgotten. */
	active = kit_connect(&kit);
	kit_take(&kit.a, RN_CM_REQ, &msg);
	msg = (struct rn_cm_msg){
		.attr = RN_CM_REP,
		.rep = { .local_id = 0x777,
			 .remote_id = msg.req.local_id,
			 .qpn = 0x22,
			 .ca_guid = kit.b.guid },
	};
	rep = kit_compose(&kit.b, &kit.a, &msg, 1);
	kit_give(&kit, &kit.a, &rep);
	kit_take(&kit.a, RN_CM_REJ, &msg);
	assert_int_equal(msg.rej.reason, RN_CM_REJ_STALE_CONN);
	assert_int_equal(msg.rej.about, RN_CM_ABOUT_REP);
	kit_take(&kit.a, RN_CM_DREQ, &msg);
	assert_int_equal(kit_state(first), RN_CM_DREQ_SENT);
	assert_int_equal(kit_state(active), RN_CM_REQ_SENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_in_another_state_changes_nothing),
		TEST(requests_that_cannot_be_are_refused_with_the_reason),
		TEST(the_listener_that_asks_for_most_gets_the_request),
		TEST(a_full_backlog_is_silence),
		TEST(who_is_accepted_leaves_the_backlog),
		TEST(events_that_nobody_took_yet_wait_in_their_order),
		TEST(a_full_table_is_silence_and_enomem),
		TEST(what_is_said_again_is_the_packet_that_was_built),
		TEST(a_last_word_outlives_its_connection),
		TEST(disconnects_that_cross_end_it_once_on_each_side),
		TEST(a_peer_that_is_gone_is_disconnected_by_time),
		TEST(closing_before_an_answer_names_the_guid),
		TEST(closing_a_request_or_an_answer_rejects_it),
		TEST(closing_what_is_established_disconnects_it),
		TEST(an_mra_about_the_rep_makes_it_wait),
		TEST(an_mra_that_nobody_waits_for_is_ignored),
		TEST(messages_of_another_address_are_ignored),
		TEST(who_is_asked_sees_the_path_from_its_end),
		TEST(answers_are_not_marked_as_congested),
		TEST(answers_beyond_their_room_are_dropped),
		TEST(a_listener_of_an_interface_hears_no_other),
		TEST(who_guesses_a_guid_has_not_the_address),
		TEST(an_alternate_path_is_offered_and_taken),
		TEST(an_old_offer_of_a_path_is_no_new_one),
		TEST(a_stale_rep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
