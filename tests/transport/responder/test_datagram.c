/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_datagram.c - UC and UD on the receiving side: I1 to I6, J1 to J6 and J12
 * of tests/rules.md.
 */
#include "tests/kit/device/rc0.h"

enum {
	QKEY = 0x1ee7,
	IPV4_AT = 20
};

/* ----------------------------------------------------------------------- UC */
static struct rc0 uc_rts(unsigned recvs)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_UC, RN_QPS_RTS, NULL);

	rc0_post(&t, recvs);
	return t;
}

static void a_uc_send_completes_without_an_answer(void **state)
{
	struct rc0 t = uc_rts(2);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 9));
	rc0_expect_receive(&t, 1, 9);
	rc0_expect_pattern(rc0_recv_data(&t, 1), 100, 9);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_uc_message_of_three_packets_completes_once(void **state)
{
	struct rc0 t = uc_rts(1);
	struct rn_cqe cqe;

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_MIDDLE, .psn = 101, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST_IMM, .psn = 102, .imm = 5, .len = 1));
	cqe = rc0_expect_receive(&t, 1, 2049);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_WITH_IMM);
	assert_int_equal(cqe.imm, 5);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_loss_costs_its_message_and_the_receive_is_used_again(void **state)
{
	struct rc0 t = uc_rts(1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 102, .len = 8));
	rc0_expect_nothing(&t);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 103, .len = 7));
	rc0_expect_receive(&t, 1, 7);
	rc0_expect_pattern(rc0_recv_data(&t, 1), 103, 7);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_message_after_a_loss_is_taken_from_its_first_packet(void **state)
{
	struct rc0 t = uc_rts(1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	/* 101 is lost; 102 is the Last, 103 starts the next message. */
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 102, .len = 8));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 103, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 104, .len = 8));
	rc0_expect_receive(&t, 1, 1032);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_new_message_ends_the_one_in_progress(void **state)
{
	struct rc0 t = uc_rts(1);

	(void)state;
	/* The rest of the first message was lost, and with luck the PSN fits. */
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_WRITE_ONLY, .psn = 101, .reth = rc0_reth(&t, 0, 8),
			   .len = 8));
	rc0_expect_pattern(t.r.mr->data, 101, 8);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_MIDDLE, .psn = 102, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 103, .len = 3));
	rc0_expect_receive(&t, 1, 3);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_bad_packet_costs_the_rest_of_its_message(void **state)
{
	struct rc0 t = uc_rts(1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_MIDDLE, .psn = 101, .len = 1000));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_MIDDLE, .psn = 102, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 103, .len = 4));
	rc0_expect_nothing(&t);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 104, .len = 4));
	rc0_expect_receive(&t, 1, 4);
	rc0_free(&t);
}

static void any_psn_is_taken_at_the_start_of_a_uc_message(void **state)
{
	struct rc0 t = uc_rts(2);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 90, .len = 1));
	rc0_expect_receive(&t, 1, 1);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 0x900000, .len = 2));
	rc0_expect_receive(&t, 2, 2);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* Whatever is wrong, a UC message is dropped in silence and the next one is taken. */
static void expect_uc_dropped(const struct raw_packet *pkt, enum rn_stat stat)
{
	struct rc0 t = uc_rts(1);
	uint64_t before = rc0_stat(&t, stat);
	struct raw_packet k = *pkt;

	if (k.reth.dma_len)
		k.reth.va += t.r.mr->mr.va;
	raw_send(&t.r, &k);
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, stat), before + 1);
	assert_int_equal(rc0_state(&t), RN_QPS_RTS);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 101, .len = 4));
	rc0_expect_receive(&t, 1, 4);
	rc0_free(&t);
}

static void bad_uc_messages_are_dropped(void **state)
{
	(void)state;
	/* Unknown key; READ and reserved opcodes; lengths; an end without a beginning. */
	expect_uc_dropped(RAW(.op = RN_UC_WRITE_ONLY, .psn = 100,
			      .reth = { 0, 0xbad00, 8 }, .len = 8),
			  RN_STAT_RX_DROPPED);
	expect_uc_dropped(RAW(.op = 0x2c, .psn = 100), RN_STAT_RX_BAD_OPCODE);
	expect_uc_dropped(RAW(.op = 0x38, .psn = 100), RN_STAT_RX_BAD_OPCODE);
	expect_uc_dropped(RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1000),
			  RN_STAT_RX_DROPPED);
	expect_uc_dropped(RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 1028),
			  RN_STAT_RX_DROPPED);
	expect_uc_dropped(RAW(.op = RN_UC_SEND_LAST, .psn = 100, .len = 1),
			  RN_STAT_RX_DROPPED);
}

static void without_a_receive_uc_messages_are_dropped(void **state)
{
	struct rc0 t = uc_rts(0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 4));
	raw_send(&t.r, RAW(.op = RN_UC_WRITE_ONLY_IMM, .psn = 101,
			   .reth = rc0_reth(&t, 0, 4), .len = 4));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_NO_RECV), 2);
	/* Plain writes need none. */
	raw_send(&t.r, RAW(.op = RN_UC_WRITE_ONLY, .psn = 102, .reth = rc0_reth(&t, 0, 4),
			   .len = 4));
	rc0_expect_pattern(t.r.mr->data, 102, 4);
	rc0_free(&t);
}

static void a_uc_message_longer_than_the_receive_is_dropped(void **state)
{
	struct rc0 t = uc_rts(0);

	(void)state;
	rc0_post_len(&t, 1100);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 100, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 101, .len = 77));
	rc0_expect_nothing(&t);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_FIRST, .psn = 102, .len = 1024));
	raw_send(&t.r, RAW(.op = RN_UC_SEND_LAST, .psn = 103, .len = 76));
	rc0_expect_receive(&t, 1, 1100);
	rc0_free(&t);
}

static void a_uc_receive_that_opens_nothing_ends_the_qp(void **state)
{
	struct rc0 t = uc_rts(2);

	(void)state;
	pair_mr_remove(t.recv);
	raw_send(&t.r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 4));
	pair_expect_wc(t.r.q->rcq, 1, RN_WC_LOC_PROT_ERR);
	pair_expect_wc(t.r.q->rcq, 2, RN_WC_WR_FLUSH_ERR);
	assert_int_equal(rc0_state(&t), RN_QPS_ERR);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* ----------------------------------------------------------------------- UD */
static struct rc0 ud_rts(bool ipv6, unsigned recvs)
{
	struct rc0 t = rc0_new(&(struct pair_cfg){ .mtu_max = 1024, .ipv6 = ipv6 },
			       RN_QPT_UD, RN_QPS_RTS, NULL);

	rc0_post(&t, recvs);
	return t;
}

static uint16_t sum16(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void a_datagram_comes_with_its_ipv4_header(void **state)
{
	/* Version and words, ToS, length 20 + 8 + 12 + 8 + 100 + 4, no id, DF, TTL 64,
	 * UDP, (checksum), 127.0.0.2 to 127.0.0.1.
	 */
	static const uint8_t ipv4[20] = { 0x45, 0, 0,	152, 0, 0, 0x40, 0, 64, 17,
					  0,	0, 127, 0,   0, 2, 127,	 0, 0,	1 };
	struct rc0 t = ud_rts(false, 1);
	const uint8_t *data = rc0_recv_data(&t, 1);
	struct rn_cqe cqe;

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .psn = 7, .ack_req = true,
			   .deth = { .qkey = QKEY, .src_qpn = 0x123456 }, .len = 100));
	cqe = rc0_expect_receive(&t, 1, 140);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_GRH);
	assert_int_equal(cqe.src_qpn, 0x123456);
	assert_int_equal(cqe.sgid_index, 0);
	assert_int_equal(cqe.pkey_index, 0);
	assert_int_equal(cqe.sl, RN_L3_IPV4);
	for (unsigned i = 0; i < IPV4_AT; i++)
		assert_int_equal(data[i], 0);
	assert_memory_equal(data + IPV4_AT, ipv4, 10);
	assert_memory_equal(data + IPV4_AT + 12, ipv4 + 12, 8);
	assert_int_equal(sum16(data + IPV4_AT, 20), 0xffff);
	rc0_expect_pattern(data + 40, 7, 100);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void traffic_class_and_ttl_are_those_of_the_packet(void **state)
{
	struct rc0 t = ud_rts(false, 1);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }), buf);
	const uint8_t *ipv4 = rc0_recv_data(&t, 1) + IPV4_AT;

	(void)state;
	flow.tclass = 0xb9;
	flow.hop_limit = 3;
	pair_inject(t.r.p, 0, &flow, buf, len);
	rc0_expect_receive(&t, 1, 40);
	assert_int_equal(ipv4[1], 0xb9);
	assert_int_equal(ipv4[8], 3);
	assert_int_equal(sum16(ipv4, 20), 0xffff);
	rc0_free(&t);
}

static void the_ipv4_checksum_is_right_when_carries_carry(void **state)
{
	struct rc0 t = ud_rts(false, 0);
	struct rn_flow flow = raw_flow(&t.r);
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];
	uint32_t len = raw_encode(
		&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }), buf);
	/* Version to protocol, 127.0 and 127.0.0.1: all but the last word of the source.
	 */
	uint32_t rest = 0x4500 + 20 + 8 + len + 0x4000 + 0x4011 + 0x7f00 + 0x7f00 + 1;
	unsigned found = 0;

	(void)state;
	for (uint32_t word = 0; word < 0x10000; word++) {
		uint32_t sum = rest + word;

		if ((sum & 0xffff) + (sum >> 16) < 0x10000)
			continue;
		flow.src.raw[14] = (uint8_t)(word >> 8);
		flow.src.raw[15] = (uint8_t)word;
		rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
		rc0_post(&t, 1);
		pair_inject(t.r.p, 0, &flow, buf, len);
		rc0_expect_receive(&t, t.posted, 40);
		assert_int_equal(sum16(rc0_recv_data(&t, t.posted) + IPV4_AT, 20),
				 0xffff);
		found++;
	}
	assert_int_not_equal(found, 0);
	rc0_free(&t);
}

static void a_datagram_comes_with_its_ipv6_header(void **state)
{
	/* Version 6, length 8 + 12 + 8 + 5 + 3 + 4, UDP, hop limit 64. */
	static const uint8_t ipv6[8] = { 0x60, 0, 0, 0, 0, 40, 17, 64 };
	struct rc0 t = ud_rts(true, 1);
	const uint8_t *data = rc0_recv_data(&t, 1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 5));
	assert_int_equal(rc0_expect_receive(&t, 1, 45).sl, RN_L3_IPV6);
	assert_memory_equal(data, ipv6, 8);
	assert_memory_equal(data + 8, t.r.p->gid[1].raw, 16);
	assert_memory_equal(data + 24, t.r.p->gid[0].raw, 16);
	rc0_expect_pattern(data + 40, 0, 5);
	rc0_free(&t);
}

static void a_wrong_qkey_is_counted_and_dropped(void **state)
{
	struct rc0 t = ud_rts(false, 1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY + 1 }));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_BAD_QKEY), 1);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }));
	rc0_expect_receive(&t, 1, 40);
	rc0_free(&t);
}

static void a_datagram_too_long_for_the_receive_leaves_it_for_the_next(void **state)
{
	struct rc0 t = ud_rts(false, 0);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }));
	rc0_post_len(&t, 60);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 21));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_NO_RECV), 2);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 20));
	rc0_expect_receive(&t, 1, 60);
	rc0_free(&t);
}

static void a_datagram_longer_than_the_port_mtu_is_dropped(void **state)
{
	struct rc0 t = ud_rts(false, 1);

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 1025));
	rc0_expect_nothing(&t);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 1024));
	rc0_expect_receive(&t, 1, 1064);
	rc0_free(&t);
}

static void a_datagram_may_carry_an_immediate(void **state)
{
	struct rc0 t = ud_rts(false, 1);
	struct rn_cqe cqe;

	(void)state;
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY_IMM, .imm = 0xabcdef01,
			   .deth = { .qkey = QKEY }, .len = 2));
	cqe = rc0_expect_receive(&t, 1, 42);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_GRH | RN_WC_WITH_IMM);
	assert_int_equal(cqe.imm, 0xabcdef01);
	rc0_free(&t);
}

static void other_opcodes_of_the_ud_class_are_ignored(void **state)
{
	struct rc0 t = ud_rts(false, 1);

	(void)state;
	for (unsigned op = 0x60; op < 0x80; op++)
		if (op != RN_UD_SEND_ONLY && op != RN_UD_SEND_ONLY_IMM)
			raw_send(&t.r, RAW(.op = (uint8_t)op, .len = 8));
	rc0_expect_nothing(&t);
	assert_int_equal(rc0_stat(&t, RN_STAT_RX_BAD_OPCODE), 30);
	rc0_free(&t);
}

static void a_ud_receive_that_opens_nothing_ends_the_qp(void **state)
{
	struct rc0 t = ud_rts(false, 0);
	const struct rn_sge sg[] = {
		pair_sge(t.recv, 0, 64),
		{ .addr = t.recv->mr.va, .len = 64, .lkey = 0xbad00 },
	};

	(void)state;
	assert_int_equal(pair_post_recv(t.r.q, &(struct rn_recv_wr){ .wr_id = 9,
								     .sg = sg,
								     .num_sge = 2 }),
			 0);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }, .len = 25));
	pair_expect_wc(t.r.q->rcq, 9, RN_WC_LOC_PROT_ERR);
	assert_int_equal(rc0_state(&t), RN_QPS_ERR);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

static void a_solicited_datagram_fires_a_cq_armed_for_it(void **state)
{
	struct rc0 t = ud_rts(false, 2);
	struct rn_event ev;

	(void)state;
	rn_cq_arm(&t.r.q->rcq->cq, RN_CQ_ARM_SOLICITED);
	raw_send(&t.r, RAW(.op = RN_UD_SEND_ONLY, .deth = { .qkey = QKEY }));
	assert_false(pair_next_event(t.r.p, &ev));
	raw_send(&t.r,
		 RAW(.op = RN_UD_SEND_ONLY, .solicited = true, .deth = { .qkey = QKEY }));
	assert_true(pair_next_event(t.r.p, &ev));
	assert_true(ev.completion);
	rc0_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_uc_send_completes_without_an_answer),
		cmocka_unit_test(a_uc_message_of_three_packets_completes_once),
		cmocka_unit_test(a_loss_costs_its_message_and_the_receive_is_used_again),
		cmocka_unit_test(a_message_after_a_loss_is_taken_from_its_first_packet),
		cmocka_unit_test(a_new_message_ends_the_one_in_progress),
		cmocka_unit_test(a_bad_packet_costs_the_rest_of_its_message),
		cmocka_unit_test(any_psn_is_taken_at_the_start_of_a_uc_message),
		cmocka_unit_test(bad_uc_messages_are_dropped),
		cmocka_unit_test(without_a_receive_uc_messages_are_dropped),
		cmocka_unit_test(a_uc_message_longer_than_the_receive_is_dropped),
		cmocka_unit_test(a_uc_receive_that_opens_nothing_ends_the_qp),
		cmocka_unit_test(a_datagram_comes_with_its_ipv4_header),
		cmocka_unit_test(traffic_class_and_ttl_are_those_of_the_packet),
		cmocka_unit_test(the_ipv4_checksum_is_right_when_carries_carry),
		cmocka_unit_test(a_datagram_comes_with_its_ipv6_header),
		cmocka_unit_test(a_wrong_qkey_is_counted_and_dropped),
		cmocka_unit_test(
			a_datagram_too_long_for_the_receive_leaves_it_for_the_next),
		cmocka_unit_test(a_datagram_longer_than_the_port_mtu_is_dropped),
		cmocka_unit_test(a_datagram_may_carry_an_immediate),
		cmocka_unit_test(other_opcodes_of_the_ud_class_are_ignored),
		cmocka_unit_test(a_ud_receive_that_opens_nothing_ends_the_qp),
		cmocka_unit_test(a_solicited_datagram_fires_a_cq_armed_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
