/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_unreliable.c - what UC and UD send queues put on the wire. */
#include "rocin/transport.h"
#include "tests/kit/device/req_kit.h"

/* ------------------------------------------------------------------- UC, UD */
static void uc_completes_when_the_last_packet_left(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UC, RN_QPS_RTS, NULL);

	(void)state;
	post(&r, 1, RN_WR_SEND, 3000);
	assert_false(raw_expect(&r, RN_UC_SEND_FIRST, 200)->ack_req);
	assert_false(raw_expect(&r, RN_UC_SEND_MIDDLE, 201)->ack_req);
	assert_false(raw_expect(&r, RN_UC_SEND_LAST, 202)->ack_req);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	post(&r, 2, RN_WR_RDMA_WRITE_WITH_IMM, 8);
	raw_expect(&r, RN_UC_WRITE_ONLY_IMM, 203);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	pair_run_for(r.p, 10 * ACK_TIMEOUT);
	raw_expect_silence(&r);
	req_free(&r);
}

static void uc_with_a_bad_lkey_stops_sending_only(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UC, RN_QPS_RTS, NULL);

	(void)state;
	post_bad_lkey(&r, 1);
	pair_expect_wc(r.q->scq, 1, RN_WC_LOC_PROT_ERR);
	raw_expect_silence(&r);
	expect_state(&r, RN_QPS_SQE);
	post(&r, 2, RN_WR_SEND, 8);
	pair_expect_wc(r.q->scq, 2, RN_WC_WR_FLUSH_ERR);

	assert_int_equal(pair_post_recv_mr(r.q, 7, r.mr, 0, 1024), 0);
	raw_send(&r, RAW(.op = RN_UC_SEND_ONLY, .psn = 100, .len = 10));
	pair_expect_wc(r.q->rcq, 7, RN_WC_SUCCESS);

	assert_int_equal(pair_modify_state(r.q, RN_QPS_RTS), 0);
	post(&r, 3, RN_WR_SEND, 8);
	raw_expect(&r, RN_UC_SEND_ONLY, 200);
	pair_expect_wc(r.q->scq, 3, RN_WC_SUCCESS);
	req_free(&r);
}

static void post_datagram(struct raw *r, uint64_t wr_id, uint32_t len, uint32_t qkey,
			  uint8_t sgid_index)
{
	struct rn_av av = { .dgid = r->p->gid[1],
			    .sgid_index = sgid_index,
			    .hop_limit = 33,
			    .tclass = 8 };
	struct rn_sge sge = pair_sge(r->mr, 0, len);
	struct rn_send_wr wr = {
		.wr_id = wr_id,
		.opcode = RN_WR_SEND_WITH_IMM,
		.flags = RN_SEND_SIGNALED,
		.imm = 9,
		.av = &av,
		.remote_qpn = 0x4321,
		.remote_qkey = qkey,
		.sg = &sge,
		.num_sge = 1,
	};

	assert_int_equal(pair_post_send(r->q, &wr), 0);
}

static void a_datagram_goes_where_its_address_says(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);
	const struct raw_packet *k;

	(void)state;
	fill(r.mr);
	post_datagram(&r, 1, 1024, 0x1234, 0);
	k = raw_expect(&r, RN_UD_SEND_ONLY_IMM, 200);
	assert_int_equal(k->dest_qpn, 0x4321);
	assert_int_equal(k->deth.qkey, 0x1234);
	assert_int_equal(k->deth.src_qpn, r.q->qpn);
	assert_int_equal(k->imm, 9);
	assert_false(k->ack_req);
	assert_memory_equal(k->payload, r.mr->data, 1024);
	assert_int_equal(r.p->record[0]->tx.dest_qpn, 0x4321);
	assert_int_equal(r.p->record[0]->flow.hop_limit, 33);
	assert_int_equal(r.p->record[0]->flow.tclass, 8);
	assert_memory_equal(&r.p->record[0]->flow.dst, &r.p->gid[1],
			    sizeof(struct rn_gid));
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	post_datagram(&r, 2, 0, 0x1234, 0);
	raw_expect(&r, RN_UD_SEND_ONLY_IMM, 201);
	req_free(&r);
}

static void a_privileged_qkey_means_that_of_the_qp(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);

	(void)state;
	post_datagram(&r, 1, 8, 0x80000000, 0);
	assert_int_equal(raw_expect(&r, RN_UD_SEND_ONLY_IMM, 200)->deth.qkey, 0x1ee7);
	req_free(&r);
}

static void a_datagram_over_the_port_mtu_vanishes_without_error(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);

	(void)state;
	r.p->frozen = true;
	post_datagram(&r, 1, 1025, 0x1234, 0);
	post_datagram(&r, 2, 1024, 0x1234, 0);
	r.p->frozen = false;
	pair_flush(r.p);
	raw_expect(&r, RN_UD_SEND_ONLY_IMM, 200);
	raw_expect_silence(&r);
	pair_expect_wc(r.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	req_free(&r);
}

static void a_datagram_from_an_unused_gid_stops_the_send_queue(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);
	static const struct rn_gid none;

	(void)state;
	rn_dev_set_gid(r.p->dev[0], 0, &none);
	post_datagram(&r, 1, 8, 0x1234, 0);
	raw_expect_silence(&r);
	pair_expect_wc(r.q->scq, 1, RN_WC_LOC_QP_OP_ERR);
	expect_state(&r, RN_QPS_SQE);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_completes_when_the_last_packet_left),
		cmocka_unit_test(uc_with_a_bad_lkey_stops_sending_only),
		cmocka_unit_test(a_datagram_goes_where_its_address_says),
		cmocka_unit_test(a_privileged_qkey_means_that_of_the_qp),
		cmocka_unit_test(a_datagram_over_the_port_mtu_vanishes_without_error),
		cmocka_unit_test(a_datagram_from_an_unused_gid_stops_the_send_queue),
	};

	return cmocka_run_group_tests_name("unreliable", tests, NULL, NULL);
}
