/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_raw_packet.c - queue pairs that send and receive whole Ethernet frames. */
#include "rocin/raw_packet.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/kit/device/pair.h"

enum {
	LEN = 70000, /* of the buffer: longer than any frame */
	RECV_AT = 0,
};

static uint8_t frame[RN_FRAME_MAX];
static uint32_t flags; /* of the frame transmitted last */

struct world {
	struct pair *p;
	struct pair_qp *q;
	struct pair_mr *mr;
};

static struct world new_world(const struct pair_cfg *cfg, enum rn_qp_state until)
{
	static const struct pair_cfg plain;
	struct world w = { .p = pair_new(cfg ? cfg : &plain) };
	struct rn_qp_attr attr = { .port_num = 1 };
	static const enum rn_qp_state way[] = { RN_QPS_INIT, RN_QPS_RTR, RN_QPS_RTS };

	w.q = pair_qp_new(w.p, 0, RN_QPT_RAW_PACKET);
	w.mr = pair_mr_new(w.p, 0, LEN, RN_ACCESS_LOCAL_WRITE);
	for (uint32_t i = 0; i < LEN; i++)
		w.mr->data[i] = (uint8_t)(i * 3 + i / 256);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(way) && way[i] <= until; i++) {
		attr.state = way[i];
		assert_int_equal(
			rn_qp_modify(w.p->dev[0], w.q->qp, w.p->net->now, &attr,
				     RN_ATTR_STATE | (i == 0 ? RN_ATTR_PORT : 0)),
			0);
	}
	return w;
}

static struct world rts(void)
{
	return new_world(NULL, RN_QPS_RTS);
}

static int post(struct world *w, uint64_t wr_id, uint32_t offset, uint32_t len,
		uint32_t send_flags)
{
	struct rn_sge sge = pair_sge(w->mr, offset, len);
	struct rn_send_wr wr = { .wr_id = wr_id,
				 .opcode = RN_WR_SEND,
				 .flags = send_flags | RN_SEND_SIGNALED,
				 .sg = &sge,
				 .num_sge = 1 };

	if (send_flags & RN_SEND_INLINE)
		sge.addr = (uintptr_t)w->mr->data + offset;
	return pair_post_send(w->q, &wr);
}

static uint32_t transmit(struct world *w)
{
	return rn_dev_transmit_frame(w->p->dev[0], w->p->net->now, frame, sizeof(frame),
				     &flags);
}

static bool receive(struct world *w, uint32_t len, uint32_t tag)
{
	struct rn_rx_frame f = { .data = frame, .len = len, .tag = tag };

	for (uint32_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(i * 5 + 1);
	return rn_qp_receive_frame(w->p->dev[0], w->q->qp, w->p->net->now, &f);
}

static void a_frame_leaves_as_it_was_written(void **state)
{
	struct world w = rts();

	(void)state;
	assert_int_equal(post(&w, 1, 100, 60, 0), 0);
	assert_int_equal(post(&w, 2, 200, 64, RN_SEND_INLINE), 0);
	assert_int_equal(post(&w, 3, 300, RN_FRAME_MIN, 0), 0);
	assert_int_equal(post(&w, 4, 0, RN_FRAME_MAX, 0), 0);
	assert_int_equal(transmit(&w), 60);
	assert_memory_equal(frame, w.mr->data + 100, 60);
	assert_int_equal(transmit(&w), 64);
	assert_memory_equal(frame, w.mr->data + 200, 64);
	assert_int_equal(transmit(&w), RN_FRAME_MIN);
	assert_int_equal(transmit(&w), RN_FRAME_MAX);
	assert_memory_equal(frame, w.mr->data, RN_FRAME_MAX);
	assert_int_equal(transmit(&w), 0);
	for (uint64_t i = 1; i <= 4; i++)
		pair_expect_wc(w.q->scq, i, RN_WC_SUCCESS);
	pair_expect_no_wc(w.q->scq);
	assert_int_equal(w.q->stats.tx_packets, 4);
	/* Nothing of it was a RoCE packet. */
	assert_int_equal(w.p->record_count, 0);
	pair_free(w.p);
}

static void checksums_are_the_callers(void **state)
{
	struct world w = rts();
	struct pair_qp *uc = pair_qp_new(w.p, 0, RN_QPT_UC);
	struct rn_rx_frame f = { .data = frame, .len = 60, .checksums_ok = true };
	struct rn_qp_attr attr = pair_attr(uc, 0, 0x99);
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .flags = RN_SEND_IP_CSUM };
	struct rn_cqe cqe;

	(void)state;
	assert_int_equal(post(&w, 1, 100, 60, RN_SEND_IP_CSUM), 0);
	assert_int_equal(post(&w, 2, 100, 61, 0), 0);
	assert_int_equal(transmit(&w), 60);
	assert_int_equal(flags, RN_SEND_IP_CSUM | RN_SEND_SIGNALED);
	assert_int_equal(transmit(&w), 61);
	assert_int_equal(flags, RN_SEND_SIGNALED);
	assert_int_equal(pair_post_recv_mr(w.q, 3, w.mr, 0, 100), 0);
	assert_true(rn_qp_receive_frame(w.p->dev[0], w.q->qp, w.p->net->now, &f));
	cqe = pair_expect_wc(w.q->rcq, 3, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_flags(&cqe), RN_WC_IP_CSUM_OK);
	/* Packets of RoCE have no use for it. */
	pair_modify_until(uc, &attr, RN_QPS_RTS);
	assert_int_equal(rn_qp_check_send(uc->qp, &wr), -EINVAL);
	wr.flags = 0;
	assert_int_equal(rn_qp_check_send(uc->qp, &wr), 0);
	pair_free(w.p);
}

static void queue_pairs_take_turns(void **state)
{
	struct world w = rts(), v = w;
	struct rn_qp_attr attr = { .port_num = 1 };

	(void)state;
	v.q = pair_qp_new(w.p, 0, RN_QPT_RAW_PACKET);
	for (attr.state = RN_QPS_INIT; attr.state <= RN_QPS_RTS; attr.state++)
		assert_int_equal(rn_qp_modify(w.p->dev[0], v.q->qp, w.p->net->now, &attr,
					      RN_ATTR_STATE | (attr.state == RN_QPS_INIT
								       ? RN_ATTR_PORT
								       : 0)),
				 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(post(&w, i, 0, 20, 0), 0);
	assert_int_equal(post(&v, 9, 0, 30, 0), 0);
	assert_int_equal(transmit(&w), 20);
	assert_int_equal(transmit(&w), 30);
	assert_int_equal(transmit(&w), 20);
	assert_int_equal(transmit(&w), 20);
	assert_int_equal(transmit(&w), 0);
	pair_free(w.p);
}

static void lengths_that_are_no_frame_fail_and_stop_the_send_queue(void **state)
{
	static const uint32_t lens[] = { 0, 1, RN_FRAME_MIN - 1, RN_FRAME_MAX + 1 };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		struct world w = rts();

		assert_int_equal(post(&w, 1, 0, lens[i], 0), 0);
		assert_int_equal(post(&w, 2, 0, 60, 0), 0);
		assert_int_equal(transmit(&w), 0);
		pair_expect_wc(w.q->scq, 1, RN_WC_LOC_LEN_ERR);
		pair_expect_wc(w.q->scq, 2, RN_WC_WR_FLUSH_ERR);
		assert_int_equal(rn_qp_state(w.q->qp), RN_QPS_SQE);
		/* Receiving goes on, and the send queue after RTS. */
		assert_int_equal(pair_post_recv_mr(w.q, 3, w.mr, 0, 100), 0);
		assert_true(receive(&w, 64, 0));
		pair_expect_wc(w.q->rcq, 3, RN_WC_SUCCESS);
		assert_int_equal(pair_modify_state(w.q, RN_QPS_RTS), 0);
		assert_int_equal(post(&w, 4, 0, 60, 0), 0);
		assert_int_equal(transmit(&w), 60);
		pair_expect_wc(w.q->scq, 4, RN_WC_SUCCESS);
		pair_free(w.p);
	}
}

static void what_cannot_be_read_fails(void **state)
{
	struct world w = rts();
	struct rn_sge sge = pair_sge(w.mr, 0, 60);
	struct rn_send_wr wr = {
		.wr_id = 1, .opcode = RN_WR_SEND, .sg = &sge, .num_sge = 1
	};

	(void)state;
	sge.lkey ^= 1;
	assert_int_equal(pair_post_send(w.q, &wr), 0);
	assert_int_equal(transmit(&w), 0);
	pair_expect_wc(w.q->scq, 1, RN_WC_LOC_PROT_ERR);
	pair_free(w.p);
}

static void only_plain_sends_are_taken(void **state)
{
	struct world w = rts();

	(void)state;
	for (unsigned op = 0; op <= RN_WR_SEND_WITH_INV; op++) {
		struct rn_sge sge = pair_sge(w.mr, 0, 60);
		struct rn_send_wr wr = { .opcode = (enum rn_wr_opcode)op,
					 .sg = &sge,
					 .num_sge = 1 };

		assert_int_equal(rn_qp_check_send(w.q->qp, &wr),
				 op == RN_WR_SEND ? 0 : -EINVAL);
	}
	pair_free(w.p);
}

static void memory_that_answers_late_delays_the_frame(void **state)
{
	struct world w =
		new_world(&(struct pair_cfg){ .mem_delay = RN_USEC(5) }, RN_QPS_RTS);

	(void)state;
	assert_int_equal(post(&w, 1, 10, RN_FRAME_MAX, 0), 0);
	assert_int_equal(post(&w, 2, 20, 61, 0), 0);
	assert_int_equal(transmit(&w), 0);
	pair_expect_no_wc(w.q->scq);
	pair_run_wire(w.p);
	assert_int_equal(transmit(&w), RN_FRAME_MAX);
	assert_memory_equal(frame, w.mr->data + 10, RN_FRAME_MAX);
	assert_int_equal(transmit(&w), 0);
	pair_run_wire(w.p);
	assert_int_equal(transmit(&w), 61);
	assert_memory_equal(frame, w.mr->data + 20, 61);
	pair_expect_wc(w.q->scq, 1, RN_WC_SUCCESS);
	pair_expect_wc(w.q->scq, 2, RN_WC_SUCCESS);
	pair_free(w.p);
}

static void a_frame_takes_one_receive(void **state)
{
	struct world w = new_world(NULL, RN_QPS_RTR);
	struct rn_sge sg[2] = { pair_sge(w.mr, 0, 10), pair_sge(w.mr, 1000, 90) };
	struct rn_recv_wr wr = { .wr_id = 1, .sg = sg, .num_sge = 2 };
	struct rn_cqe cqe;

	(void)state;
	assert_int_equal(pair_post_recv(w.q, &wr), 0);
	assert_true(receive(&w, 64, 77));
	cqe = pair_expect_wc(w.q->rcq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_RECV);
	assert_int_equal(pair_cqe_flags(&cqe), 0);
	assert_int_equal(cqe.byte_len, 64);
	assert_int_equal(cqe.imm, 77);
	assert_int_equal(w.q->stats.rx_packets, 1);
	assert_memory_equal(w.mr->data, frame, 10);
	assert_memory_equal(w.mr->data + 1000, frame + 10, 54);
	pair_free(w.p);
}

static void a_frame_without_a_receive_is_dropped(void **state)
{
	struct world w = rts();

	(void)state;
	assert_false(receive(&w, 64, 0));
	assert_int_equal(pair_stat(w.p, 0, RN_STAT_RX_NO_RECV), 1);
	assert_int_equal(pair_post_recv_mr(w.q, 1, w.mr, 0, 100), 0);
	pair_expect_no_wc(w.q->rcq);
	pair_free(w.p);
}

static void states_that_do_not_receive_drop_it(void **state)
{
	static const enum rn_qp_state deaf[] = { RN_QPS_RESET, RN_QPS_INIT };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(deaf); i++) {
		struct world w = new_world(NULL, deaf[i]);

		if (deaf[i] != RN_QPS_RESET)
			assert_int_equal(pair_post_recv_mr(w.q, 1, w.mr, 0, 100), 0);
		assert_false(receive(&w, 64, 0));
		assert_int_equal(pair_stat(w.p, 0, RN_STAT_RX_BAD_STATE), 1);
		pair_expect_no_wc(w.q->rcq);
		pair_free(w.p);
	}
}

static void a_receive_that_is_too_short_is_an_error(void **state)
{
	struct world w = rts();
	uint8_t before[63];

	(void)state;
	memcpy(before, w.mr->data, sizeof(before));
	assert_int_equal(pair_post_recv_mr(w.q, 1, w.mr, RECV_AT, 63), 0);
	assert_int_equal(pair_post_recv_mr(w.q, 2, w.mr, RECV_AT, 100), 0);
	assert_false(receive(&w, 64, 0));
	pair_expect_wc(w.q->rcq, 1, RN_WC_LOC_LEN_ERR);
	pair_expect_wc(w.q->rcq, 2, RN_WC_WR_FLUSH_ERR);
	assert_memory_equal(w.mr->data, before, sizeof(before));
	assert_int_equal(rn_qp_state(w.q->qp), RN_QPS_ERR);
	assert_false(receive(&w, 64, 0));
	pair_free(w.p);
}

static void err_flushes_both_queues(void **state)
{
	struct world w = rts();

	(void)state;
	assert_int_equal(post(&w, 1, 0, 60, 0), 0);
	assert_int_equal(pair_post_recv_mr(w.q, 2, w.mr, 0, 100), 0);
	assert_int_equal(pair_modify_state(w.q, RN_QPS_ERR), 0);
	pair_expect_wc(w.q->scq, 1, RN_WC_WR_FLUSH_ERR);
	pair_expect_wc(w.q->rcq, 2, RN_WC_WR_FLUSH_ERR);
	assert_int_equal(transmit(&w), 0);
	assert_false(receive(&w, 64, 0));
	assert_int_equal(pair_stat(w.p, 0, RN_STAT_RX_BAD_STATE), 1);
	pair_free(w.p);
}

/* An opcode of any class towards its number. */
static void roce_packets_never_reach_it(void **state)
{
	struct world w = rts();
	struct rn_flow flow = { .src = w.p->gid[1], .dst = w.p->gid[0] };

	(void)state;
	assert_int_equal(pair_post_recv_mr(w.q, 1, w.mr, 0, 4096), 0);
	for (unsigned op = 0; op < 256; op++) {
		uint8_t pkt[128] = { 0 };
		struct rn_bth bth = { .opcode = (uint8_t)op,
				      .pkey = RN_PKEY_DEFAULT,
				      .dest_qpn = w.q->qpn };

		rn_bth_emit(pkt, &bth);
		rn_icrc_seal(&flow, 0, pkt, 124);
		pair_inject(w.p, 0, &flow, pkt, 128);
		pair_run_wire(w.p);
	}
	pair_expect_no_wc(w.q->rcq);
	assert_int_equal(rn_qp_state(w.q->qp), RN_QPS_RTS);
	assert_true(pair_stat(w.p, 0, RN_STAT_RX_BAD_OPCODE) >= 250);
	pair_free(w.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_leaves_as_it_was_written),
		cmocka_unit_test(checksums_are_the_callers),
		cmocka_unit_test(queue_pairs_take_turns),
		cmocka_unit_test(lengths_that_are_no_frame_fail_and_stop_the_send_queue),
		cmocka_unit_test(what_cannot_be_read_fails),
		cmocka_unit_test(only_plain_sends_are_taken),
		cmocka_unit_test(memory_that_answers_late_delays_the_frame),
		cmocka_unit_test(a_frame_takes_one_receive),
		cmocka_unit_test(a_frame_without_a_receive_is_dropped),
		cmocka_unit_test(states_that_do_not_receive_drop_it),
		cmocka_unit_test(a_receive_that_is_too_short_is_an_error),
		cmocka_unit_test(err_flushes_both_queues),
		cmocka_unit_test(roce_packets_never_reach_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
