/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mcast.c - multicast groups: J9 to J11 and J13 of tests/rules.md. */
#include "rocin/queue_pair.h"
#include "tests/kit/device/raw.h"

enum {
	QKEY = 0x1ee7,
	MEMBERS = 3,
	RECV_LEN = 256,
	IPV4_AT = 20,
};

static const struct rn_gid group4 = {
	.raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3 }
};
static const struct rn_gid other4 = {
	.raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 4 }
};
static const struct rn_gid group6 = { .raw = { 0xff, 0x05, [15] = 0x42 } };

/* A device with three UD QPs in RTS; the first is r.q. */
struct world {
	struct raw r;
	struct pair_qp *q[MEMBERS];
	struct rn_mcast m[MEMBERS];
	struct pair_mr *recv; /* receive i of QP j at (4 j + i) * RECV_LEN */
	struct rn_flow flow;  /* of the peer to group4 */
};

static struct world new_world_with(bool ipv6, enum rn_cc_mode cc)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .ipv6 = ipv6, .cc = cc };
	struct world w = { .r = raw_new(&cfg, RN_QPT_UD, RN_QPS_RTS, NULL) };

	w.recv = pair_mr_new(w.r.p, 0, MEMBERS * 4 * RECV_LEN, RN_ACCESS_LOCAL_WRITE);
	w.q[0] = w.r.q;
	for (unsigned i = 1; i < MEMBERS; i++) {
		struct rn_qp_attr attr;

		w.q[i] = pair_qp_new(w.r.p, 0, RN_QPT_UD);
		attr = pair_attr(w.q[i], 0, RAW_PEER_QPN);
		pair_modify_until(w.q[i], &attr, RN_QPS_RTS);
	}
	w.flow = raw_flow(&w.r);
	w.flow.dst = ipv6 ? group6 : group4;
	return w;
}

static struct world new_world(bool ipv6)
{
	return new_world_with(ipv6, RN_CC_OFF);
}

static void attach(struct world *w, unsigned i)
{
	rn_mcast_attach(w->r.p->dev[0], &w->m[i], w->q[i]->qp, &w->flow.dst);
}

static void free_world(struct world *w)
{
	for (unsigned i = 0; i < MEMBERS; i++)
		if (rn_mcast_find(w->r.p->dev[0], w->q[i]->qp, &w->flow.dst))
			rn_mcast_detach(w->r.p->dev[0], &w->m[i]);
	raw_free(&w->r);
}

static void post(struct world *w, unsigned i, uint64_t wr_id, uint32_t len)
{
	uint32_t at = (4 * i + (uint32_t)wr_id - 1) * RECV_LEN;

	assert_int_equal(pair_post_recv_mr(w->q[i], wr_id, w->recv, at, len), 0);
}

static const uint8_t *data_of(const struct world *w, unsigned i, uint64_t wr_id)
{
	return w->recv->data + (4 * i + wr_id - 1) * RECV_LEN;
}

/* A packet of the peer to QPN 0xffffff, unless it says otherwise. */
static void inject(struct world *w, const struct rn_gid *dst,
		   const struct raw_packet *packet)
{
	struct raw_packet k = *packet;
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	struct rn_flow flow = w->flow;
	uint32_t len;

	if (!k.dest_qpn)
		k.dest_qpn = RN_QPN_MULTICAST;
	flow.dst = *dst;
	len = raw_encode(&w->r, &k, buf);
	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	pair_inject(w->r.p, 0, &flow, buf, len);
}

static void expect_copy(struct world *w, unsigned i, uint64_t wr_id, uint32_t psn,
			uint32_t len)
{
	struct rn_cqe cqe = pair_expect_wc(w->q[i]->rcq, wr_id, RN_WC_SUCCESS);
	const uint8_t *data = data_of(w, i, wr_id) + RN_GRH_LEN;

	assert_int_equal(cqe.byte_len, RN_GRH_LEN + len);
	assert_int_equal(cqe.qpn, w->q[i]->qpn);
	assert_int_equal(cqe.src_qpn, RAW_PEER_QPN);
	assert_true(pair_cqe_flags(&cqe) & RN_WC_GRH);
	for (uint32_t b = 0; b < len; b++)
		assert_int_equal(data[b], (uint8_t)(psn + b));
	pair_expect_no_wc(w->q[i]->rcq);
}

static uint64_t stat(const struct world *w, enum rn_stat which)
{
	return pair_stat(w->r.p, 0, which);
}

/* ---------------------------------------------------------------- receiving */
static void each_member_gets_one_copy(void **state)
{
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	attach(&w, 2);
	for (unsigned i = 0; i < MEMBERS; i++)
		post(&w, i, 1, RECV_LEN);
	inject(&w, &group4,
	       RAW(.op = RN_UD_SEND_ONLY, .psn = 9, .deth.qkey = QKEY, .len = 100));
	expect_copy(&w, 0, 1, 9, 100);
	expect_copy(&w, 2, 1, 9, 100);
	pair_expect_no_wc(w.q[1]->rcq);
	assert_int_equal(stat(&w, RN_STAT_RX_SENDS), 2);
	assert_int_equal(stat(&w, RN_STAT_RX_PACKETS), 1);
	assert_int_equal(stat(&w, RN_STAT_RX_MULTICAST), 1);
	raw_expect_silence(&w.r);
	free_world(&w);
}

static void the_ip_header_names_the_ipv4_group(void **state)
{
	static const uint8_t to[4] = { 239, 1, 2, 3 };
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	post(&w, 0, 1, RECV_LEN);
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY, .len = 4));
	expect_copy(&w, 0, 1, 0, 4);
	assert_int_equal(data_of(&w, 0, 1)[IPV4_AT], 0x45);
	assert_memory_equal(data_of(&w, 0, 1) + IPV4_AT + 16, to, 4);
	free_world(&w);
}

static void the_ip_header_names_the_ipv6_group(void **state)
{
	struct world w = new_world(true);

	(void)state;
	attach(&w, 0);
	post(&w, 0, 1, RECV_LEN);
	inject(&w, &group6, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY, .len = 4));
	expect_copy(&w, 0, 1, 0, 4);
	assert_memory_equal(data_of(&w, 0, 1) + 24, group6.raw, 16);
	free_world(&w);
}

static void an_immediate_comes_to_each_member(void **state)
{
	struct world w = new_world(false);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		attach(&w, i);
		post(&w, i, 1, RECV_LEN);
	}
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY_IMM, .deth.qkey = QKEY, .imm = 77));
	for (unsigned i = 0; i < 2; i++) {
		struct rn_cqe cqe = pair_expect_wc(w.q[i]->rcq, 1, RN_WC_SUCCESS);

		assert_int_equal(pair_cqe_flags(&cqe), RN_WC_GRH | RN_WC_WITH_IMM);
		assert_int_equal(cqe.imm, 77);
	}
	free_world(&w);
}

static void members_that_share_receives_take_one_each(void **state)
{
	struct world w = new_world(false);
	struct pair_srq *s = pair_srq_new(w.r.p, 0, 4, 0);
	const struct rn_qp_init init = { .type = RN_QPT_UD, .srq = s->srq };
	struct pair_qp *q[2];
	struct rn_mcast m[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rn_qp_attr attr;

		q[i] = pair_qp_new_with(w.r.p, 0, &init);
		attr = pair_attr(q[i], 0, RAW_PEER_QPN);
		pair_modify_until(q[i], &attr, RN_QPS_RTS);
		rn_mcast_attach(w.r.p->dev[0], &m[i], q[i]->qp, &group4);
		assert_int_equal(pair_post_srq_mr(s, i + 1, w.recv, 0, RECV_LEN), 0);
	}
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY));
	for (unsigned i = 0; i < 2; i++) {
		pair_expect_wc(q[i]->rcq, i + 1, RN_WC_SUCCESS);
		rn_mcast_detach(w.r.p->dev[0], &m[i]);
	}
	free_world(&w);
}

/* Each member would: the sender would be told of one mark by all of them. */
static void marks_to_a_group_are_counted_and_not_answered(void **state)
{
	(void)state;
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		struct world w = new_world_with(ipv6, RN_CC_ON);
		const struct rn_gid own = raw_flow(&w.r).dst, group = w.flow.dst;

		for (unsigned i = 0; i < MEMBERS; i++) {
			attach(&w, i);
			post(&w, i, 1, RECV_LEN);
		}
		w.flow.tclass |= RN_ECN_CE;
		inject(&w, &group,
		       RAW(.op = RN_UD_SEND_ONLY, .psn = 9, .deth.qkey = QKEY, .len = 4));
		for (unsigned i = 0; i < MEMBERS; i++)
			expect_copy(&w, i, 1, 9, 4);
		raw_expect_silence(&w.r);
		assert_int_equal(stat(&w, RN_STAT_NP_ECN_MARKED), MEMBERS);
		assert_int_equal(stat(&w, RN_STAT_NP_CNP_SENT), 0);
		/* Nor do they keep one to a member alone from being answered. */
		post(&w, 0, 2, RECV_LEN);
		inject(&w, &own,
		       RAW(.op = RN_UD_SEND_ONLY, .psn = 10, .deth.qkey = QKEY, .len = 4,
			   .dest_qpn = w.q[0]->qpn));
		raw_expect(&w.r, RN_CNP, 0);
		pair_expect_wc(w.q[0]->rcq, 2, RN_WC_SUCCESS);
		free_world(&w);
	}
}

/* Member 0 lacks something, which is counted; member 1 gets its copy. */
static void expect_only_the_second(struct world *w, enum rn_stat counted)
{
	uint64_t before = stat(w, counted);

	post(w, 1, 1, RECV_LEN);
	inject(w, &group4,
	       RAW(.op = RN_UD_SEND_ONLY, .psn = 3, .deth.qkey = QKEY, .len = 8));
	pair_expect_no_wc(w->q[0]->rcq);
	expect_copy(w, 1, 1, 3, 8);
	assert_int_equal(stat(w, counted), before + 1);
}

static void a_member_with_another_qkey_gets_nothing(void **state)
{
	struct world w = new_world(false);
	const struct rn_qp_attr attr = { .qkey = QKEY + 1 };

	(void)state;
	attach(&w, 0);
	attach(&w, 1);
	post(&w, 0, 1, RECV_LEN);
	assert_int_equal(rn_qp_modify(w.r.p->dev[0], w.q[0]->qp, w.r.p->net->now, &attr,
				      RN_ATTR_QKEY),
			 0);
	expect_only_the_second(&w, RN_STAT_RX_BAD_QKEY);
	free_world(&w);
}

static void a_member_without_a_receive_gets_nothing(void **state)
{
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	attach(&w, 1);
	expect_only_the_second(&w, RN_STAT_RX_NO_RECV);
	free_world(&w);
}

static void a_member_whose_receive_is_short_keeps_it(void **state)
{
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	attach(&w, 1);
	post(&w, 0, 1, RN_GRH_LEN + 7);
	expect_only_the_second(&w, RN_STAT_RX_NO_RECV);
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY, .len = 7));
	expect_copy(&w, 0, 1, 0, 7);
	free_world(&w);
}

static void a_member_in_a_state_that_does_not_receive_gets_nothing(void **state)
{
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	attach(&w, 1);
	assert_int_equal(pair_modify_state(w.q[0], RN_QPS_RESET), 0);
	expect_only_the_second(&w, RN_STAT_RX_BAD_STATE);
	/* It is a member still. */
	assert_int_equal(rn_mcast_members(w.r.p->dev[0], &group4), 2);
	free_world(&w);
}

static void a_member_whose_receive_opens_nothing_ends_alone(void **state)
{
	struct world w = new_world(false);
	struct pair_mr *gone = pair_mr_new(w.r.p, 0, RECV_LEN, RN_ACCESS_LOCAL_WRITE);

	(void)state;
	attach(&w, 0);
	attach(&w, 1);
	assert_int_equal(pair_post_recv_mr(w.q[0], 1, gone, 0, RECV_LEN), 0);
	pair_mr_remove(gone);
	post(&w, 1, 1, RECV_LEN);
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY, .len = 5));
	pair_expect_wc(w.q[0]->rcq, 1, RN_WC_LOC_PROT_ERR);
	expect_copy(&w, 1, 1, 0, 5);
	assert_int_equal(rn_qp_state(w.q[0]->qp), RN_QPS_ERR);
	assert_int_equal(rn_qp_state(w.q[1]->qp), RN_QPS_RTS);
	free_world(&w);
}

static void expect_dropped(struct world *w, const struct rn_gid *dst,
			   const struct raw_packet *k, enum rn_stat counted)
{
	uint64_t before = stat(w, counted);

	inject(w, dst, k);
	for (unsigned i = 0; i < MEMBERS; i++)
		pair_expect_no_wc(w->q[i]->rcq);
	assert_int_equal(stat(w, counted), before + 1);
	raw_expect_silence(&w->r);
}

static void what_is_for_no_member_is_counted_and_dropped(void **state)
{
	struct world w = new_world(false);
	const struct raw_packet good = { .op = RN_UD_SEND_ONLY, .deth.qkey = QKEY };
	const struct raw_packet uc = { .op = RN_UC_SEND_ONLY };
	const struct raw_packet unknown = { .op = 0x61 };
	const struct raw_packet pkey = { .op = RN_UD_SEND_ONLY,
					 .pkey = 0x1234,
					 .deth.qkey = QKEY };

	(void)state;
	attach(&w, 1);
	post(&w, 1, 1, RECV_LEN);
	/* A group that nobody joined; a member's QPN number with a unicast address. */
	expect_dropped(&w, &other4, &good, RN_STAT_RX_UNKNOWN_QP);
	expect_dropped(&w, &w.r.p->gid[0], &good, RN_STAT_RX_UNKNOWN_QP);
	expect_dropped(&w, &group4, &uc, RN_STAT_RX_BAD_OPCODE);
	expect_dropped(&w, &group4, &unknown, RN_STAT_RX_BAD_OPCODE);
	expect_dropped(&w, &group4, &pkey, RN_STAT_RX_BAD_PKEY);
	inject(&w, &group4, &good);
	expect_copy(&w, 1, 1, 0, 0);
	free_world(&w);
}

static void a_packet_to_a_group_without_a_deth_is_short(void **state)
{
	struct world w = new_world(false);
	const struct rn_bth bth = { .opcode = RN_UD_SEND_ONLY,
				    .pkey = RN_PKEY_DEFAULT,
				    .dest_qpn = RN_QPN_MULTICAST };
	uint8_t buf[RN_BTH_LEN + RN_ICRC_LEN];

	(void)state;
	attach(&w, 0);
	post(&w, 0, 1, RECV_LEN);
	rn_bth_emit(buf, &bth);
	rn_icrc_seal(&w.flow, 0, buf, RN_BTH_LEN);
	pair_inject(w.r.p, 0, &w.flow, buf, sizeof(buf));
	assert_int_equal(stat(&w, RN_STAT_RX_SHORT), 1);
	pair_expect_no_wc(w.q[0]->rcq);
	free_world(&w);
}

static void a_qpn_of_its_own_is_reached_by_the_group_address(void **state)
{
	struct world w = new_world(false);

	(void)state;
	attach(&w, 0);
	post(&w, 0, 1, RECV_LEN);
	post(&w, 1, 1, RECV_LEN);
	inject(&w, &group4,
	       RAW(.op = RN_UD_SEND_ONLY, .dest_qpn = w.q[1]->qpn, .deth.qkey = QKEY));
	pair_expect_no_wc(w.q[0]->rcq);
	expect_copy(&w, 1, 1, 0, 0);
	free_world(&w);
}

/* ------------------------------------------------------------ who is a member */
static void who_has_left_gets_nothing_more(void **state)
{
	struct world w = new_world(false);
	struct rn_dev *dev = w.r.p->dev[0];

	(void)state;
	for (unsigned i = 0; i < MEMBERS; i++)
		attach(&w, i);
	assert_int_equal(rn_mcast_members(dev, &group4), MEMBERS);
	rn_mcast_detach(dev, &w.m[1]);
	assert_int_equal(rn_mcast_members(dev, &group4), MEMBERS - 1);
	assert_null(rn_mcast_find(dev, w.q[1]->qp, &group4));
	assert_ptr_equal(rn_mcast_find(dev, w.q[2]->qp, &group4), &w.m[2]);
	for (unsigned i = 0; i < MEMBERS; i++)
		post(&w, i, 1, RECV_LEN);
	inject(&w, &group4, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY));
	expect_copy(&w, 0, 1, 0, 0);
	pair_expect_no_wc(w.q[1]->rcq);
	expect_copy(&w, 2, 1, 0, 0);
	free_world(&w);
}

static void many_groups_of_one_qp_are_told_apart(void **state)
{
	static struct rn_mcast m[1000];
	struct world w = new_world(false);
	struct rn_dev *dev = w.r.p->dev[0];
	struct rn_gid gid = group4;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(m); i++) {
		gid.raw[14] = (uint8_t)(100 + i / 256);
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(rn_mcast_members(dev, &gid), 0);
		rn_mcast_attach(dev, &m[i], w.q[0]->qp, &gid);
		assert_int_equal(rn_mcast_members(dev, &gid), 1);
		assert_ptr_equal(rn_mcast_find(dev, w.q[0]->qp, &gid), &m[i]);
	}
	post(&w, 0, 1, RECV_LEN);
	inject(&w, &m[500].mgid, RAW(.op = RN_UD_SEND_ONLY, .deth.qkey = QKEY));
	expect_copy(&w, 0, 1, 0, 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(m); i++)
		rn_mcast_detach(dev, &m[i]);
	assert_int_equal(rn_mcast_members(dev, &gid), 0);
	free_world(&w);
}

/* ------------------------------------------------------------------- sending */
static void a_send_to_a_group_leaves_once(void **state)
{
	struct world w = new_world(false);
	struct pair_mr *mr = pair_mr_new(w.r.p, 0, 64, 0);
	struct rn_sge sge = pair_sge(mr, 0, 64);
	const struct rn_av av = { .dgid = group4, .hop_limit = 1 };
	const struct rn_av one = { .dgid = w.r.p->gid[1], .hop_limit = 1 };
	struct rn_send_wr wr = { .wr_id = 5,
				 .opcode = RN_WR_SEND,
				 .flags = RN_SEND_SIGNALED,
				 .sg = &sge,
				 .num_sge = 1,
				 .av = &av,
				 .remote_qpn = RN_QPN_MULTICAST,
				 .remote_qkey = QKEY };
	const struct raw_packet *k;

	(void)state;
	/* Its own copy is the network's to bring. */
	attach(&w, 0);
	post(&w, 0, 1, RECV_LEN);
	assert_int_equal(pair_post_send(w.q[0], &wr), 0);
	k = raw_expect(&w.r, RN_UD_SEND_ONLY, 200);
	assert_int_equal(k->dest_qpn, RN_QPN_MULTICAST);
	assert_int_equal(k->deth.qkey, QKEY);
	assert_int_equal(k->len, 64);
	assert_memory_equal(w.r.p->record[0]->flow.dst.raw, group4.raw, 16);
	assert_int_equal(w.r.p->record[0]->flow.hop_limit, 1);
	assert_int_equal(stat(&w, RN_STAT_TX_MULTICAST), 1);
	pair_expect_wc(w.q[0]->scq, 5, RN_WC_SUCCESS);
	pair_expect_no_wc(w.q[0]->rcq);
	/* One to a single queue pair does not count as one to a group. */
	wr.av = &one;
	wr.remote_qpn = 0x77;
	assert_int_equal(pair_post_send(w.q[0], &wr), 0);
	assert_int_equal(raw_expect(&w.r, RN_UD_SEND_ONLY, 201)->dest_qpn, 0x77);
	assert_int_equal(stat(&w, RN_STAT_TX_MULTICAST), 1);
	raw_expect_silence(&w.r);
	free_world(&w);
}

static void an_mgid_is_of_ipv6_or_a_mapped_ipv4_group(void **state)
{
	static const struct {
		struct rn_gid gid;
		bool is;
	} rows[] = {
		{ { { 0xff } }, true },
		{ { { 0xff, 0x0e, [10] = 0xff, [11] = 0xff, [12] = 239 } }, true },
		{ { { [10] = 0xff, [11] = 0xff, [12] = 224 } }, true },
		{ { { [10] = 0xff, [11] = 0xff, [12] = 239, 255, 255, 255 } }, true },
		{ { { [10] = 0xff, [11] = 0xff, [12] = 223 } }, false },
		{ { { [10] = 0xff, [11] = 0xff, [12] = 240 } }, false },
		{ { { [12] = 239 } }, false },
		{ { { 0xfe, 0x80, [15] = 1 } }, false },
		{ { { 0 } }, false },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++)
		assert_int_equal(rn_gid_is_multicast(&rows[i].gid), rows[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_member_gets_one_copy),
		cmocka_unit_test(the_ip_header_names_the_ipv4_group),
		cmocka_unit_test(the_ip_header_names_the_ipv6_group),
		cmocka_unit_test(an_immediate_comes_to_each_member),
		cmocka_unit_test(members_that_share_receives_take_one_each),
		cmocka_unit_test(marks_to_a_group_are_counted_and_not_answered),
		cmocka_unit_test(a_member_with_another_qkey_gets_nothing),
		cmocka_unit_test(a_member_without_a_receive_gets_nothing),
		cmocka_unit_test(a_member_whose_receive_is_short_keeps_it),
		cmocka_unit_test(a_member_in_a_state_that_does_not_receive_gets_nothing),
		cmocka_unit_test(a_member_whose_receive_opens_nothing_ends_alone),
		cmocka_unit_test(what_is_for_no_member_is_counted_and_dropped),
		cmocka_unit_test(a_packet_to_a_group_without_a_deth_is_short),
		cmocka_unit_test(a_qpn_of_its_own_is_reached_by_the_group_address),
		cmocka_unit_test(who_has_left_gets_nothing_more),
		cmocka_unit_test(many_groups_of_one_qp_are_told_apart),
		cmocka_unit_test(a_send_to_a_group_leaves_once),
		cmocka_unit_test(an_mgid_is_of_ipv6_or_a_mapped_ipv4_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
