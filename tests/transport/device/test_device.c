/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_device.c - configuration, turns of the queue pairs, acknowledgements apart. */
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "rocin/srq.h"
#include "rocin/transport.h"

static void device_refuses_a_configuration_out_of_range(void **state)
{
	struct rn_dev *dev = malloc(rn_dev_size());
	uint64_t stats[RN_STAT_COUNT] = { 0 };
	const struct rn_dev_cfg good = { .gid_count = 1,
					 .mtu_max = 1024,
					 .window_start = 2,
					 .window_min = 1,
					 .window_max = 3,
					 .read_window = 4096,
					 .read_chunk = 1024,
					 .mem = &arena_direct_ops,
					 .stats = stats };
	struct rn_dev_cfg c = good;

	(void)state;
	assert_int_equal(rn_dev_init(dev, &c), 0);
	rn_dev_fini(dev);
#define BEYOND(field, value)                                     \
	do {                                                     \
		c = good;                                        \
		c.field = (value);                               \
		assert_int_equal(rn_dev_init(dev, &c), -EINVAL); \
	} while (0)
	BEYOND(gid_count, 0);
	BEYOND(gid_count, RN_GID_MAX + 1);
	BEYOND(mtu_max, 1500);
	BEYOND(mtu_max, 8192);
	BEYOND(window_min, 0);
	BEYOND(window_min, 3);
	BEYOND(window_max, 1);
	BEYOND(read_chunk, 512);
	BEYOND(read_window, 1000);
	BEYOND(window_max, 1u << 31 | 1);
	BEYOND(cc, RN_CC_ON + 1);
	BEYOND(cc_line, UINT32_MAX);
	BEYOND(timeout_scale, RN_TIMEOUT_SCALE_MAX + 1);
	BEYOND(mem, NULL);
	BEYOND(stats, NULL);
#undef BEYOND
	free(dev);
}

static void objects_are_found_in_larger_tables_too(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1 });
	struct pair_srq *srq = pair_srq_new(p, 0, 4, 0);
	struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_RC);
	void *qps[64], *srqs[64], *more[128];

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		assert_true(rn_dev_has_srqn(p->dev[0], srq->srqn));
		assert_false(rn_dev_has_srqn(p->dev[0], srq->srqn + 1));
		assert_ptr_equal(rn_dev_find_qp(p->dev[0], q->qpn), q->qp);
		assert_null(rn_dev_find_qp(p->dev[0], q->qpn + 1));
		if (round == 0) { /* what was built in is not given back */
			assert_null(rn_dev_grow_qp_table(p->dev[0], qps, 64));
			assert_null(rn_dev_grow_srq_table(p->dev[0], srqs, 64));
		} else if (round == 1) {
			assert_ptr_equal(rn_dev_grow_srq_table(p->dev[0], more, 128),
					 srqs);
		}
	}
	pair_free(p);
}

static void qps_take_turns_of_sixty_four_packets(void **state)
{
	struct pair *p = pair_new(&(struct pair_cfg){ .devices = 1, .mtu_max = 256 });
	struct pair_mr *m = pair_mr_new(p, 0, 100 * 256, 0);
	struct rn_sge sge = pair_sge(m, 0, 100 * 256);
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .sg = &sge, .num_sge = 1 };
	static const unsigned turns[][2] = { { 0, 64 }, { 1, 64 }, { 0, 36 }, { 1, 36 } };
	struct pair_qp *q[2];
	unsigned at = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rn_qp_attr attr;

		q[i] = pair_qp_new(p, 0, RN_QPT_UC);
		attr = pair_attr(q[i], 1, 0x90 + i);
		pair_modify_until(q[i], &attr, RN_QPS_RTS);
		rn_qp_post_send(p->dev[0], q[i]->qp, p->net->now, &wr);
	}
	pair_flush(p);
	assert_int_equal(p->record_count, 200);
	for (unsigned t = 0; t < RN_ARRAY_SIZE(turns); t++)
		for (unsigned i = 0; i < turns[t][1]; i++) {
			assert_int_equal(p->record[at]->tx.src_qpn, q[turns[t][0]]->qpn);
			at++;
		}
	pair_free(p);
}

static void acks_leave_only_when_asked_for(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	uint8_t buf[RN_PACKET_MAX];
	struct rn_tx tx;

	(void)state;
	r.p->frozen = true;
	assert_false(rn_dev_acks_due(r.p->dev[0]));
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_true(rn_dev_acks_due(r.p->dev[0]));
	assert_true(rn_dev_has_packets(r.p->dev[0], RN_TX_ALL));
	assert_int_equal(rn_dev_transmit(r.p->dev[0], r.p->net->now, RN_TX_WORK, buf,
					 sizeof(buf), &tx),
			 0);
	assert_int_equal(rn_dev_transmit(r.p->dev[0], r.p->net->now, RN_TX_ACKS, buf,
					 sizeof(buf), &tx),
			 RN_BTH_LEN + RN_AETH_LEN);
	assert_int_equal(tx.src_qpn, r.q->qpn);
	assert_int_equal(tx.dest_qpn, RAW_PEER_QPN);
	assert_true(tx.response);
	assert_memory_equal(&tx.flow->dst, &r.p->gid[1], sizeof(r.p->gid[1]));
	assert_int_equal(tx.flow->sport, RN_ROCE_PORT);
	assert_false(rn_dev_acks_due(r.p->dev[0]));
	raw_free(&r);
}

static uint32_t next_packet(struct raw *r, unsigned what, bool *response)
{
	uint8_t buf[RN_PACKET_MAX];
	struct rn_tx tx = { 0 };
	uint32_t len = rn_dev_transmit(r->p->dev[0], r->p->net->now, what, buf,
				       sizeof(buf), &tx);

	*response = tx.response;
	return len;
}

static void ack_goes_along_behind_the_last_request_of_its_qp(void **state)
{
	const unsigned along = RN_TX_WORK | RN_TX_ALONG;
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_sge sge = pair_sge(r.mr, 0, 64);
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .sg = &sge, .num_sge = 1 };
	bool response;

	(void)state;
	r.p->frozen = true;
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_int_equal(next_packet(&r, along, &response), 0); /* nothing to go with */
	assert_false(rn_dev_has_packets(r.p->dev[0], along));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			rn_qp_post_send(r.p->dev[0], r.q->qp, r.p->net->now, &wr), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(rn_dev_has_packets(r.p->dev[0], along));
		assert_int_equal(next_packet(&r, along, &response), RN_BTH_LEN + 64);
		assert_false(response);
	}
	assert_int_equal(next_packet(&r, along, &response), RN_BTH_LEN + RN_AETH_LEN);
	assert_true(response);
	assert_false(rn_dev_acks_due(r.p->dev[0]));
	assert_int_equal(next_packet(&r, RN_TX_ALL | RN_TX_ALONG, &response), 0);
	raw_free(&r);
}

/* Post @count WRITEs of @len bytes, and take all that leaves. Return: was the last packet
 * an acknowledgement?
 */
static bool ends_with_the_ack(struct raw *r, uint32_t count, uint32_t len, uint32_t *sent)
{
	struct rn_sge sge = pair_sge(r->mr, 0, len);
	struct rn_send_wr wr = { .opcode = RN_WR_RDMA_WRITE, .sg = &sge, .num_sge = 1 };
	bool response = false, is_ack = false;

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(
			rn_qp_post_send(r->p->dev[0], r->q->qp, r->p->net->now, &wr), 0);
	for (*sent = 0; next_packet(r, RN_TX_WORK | RN_TX_ALONG, &response); ++*sent)
		is_ack = response;
	return is_ack;
}

/* After so many the QP queues again for its next turn. */
static void ack_goes_along_behind_a_whole_turn(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	uint32_t sent;

	(void)state;
	r.p->frozen = true;
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_true(ends_with_the_ack(&r, 64, 16, &sent));
	assert_int_equal(sent, 65);
	raw_free(&r);
}

/* Post one message of @len bytes. Return: did the acknowledgement leave before it? */
static bool begins_with_the_ack(enum rn_wr_opcode opcode, uint32_t len, unsigned what)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_sge sge = pair_sge(r.mr, 0, len);
	struct rn_send_wr wr = { .opcode = opcode, .sg = &sge, .num_sge = 1 };
	bool first = false, response;

	r.p->frozen = true;
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_int_equal(rn_qp_post_send(r.p->dev[0], r.q->qp, r.p->net->now, &wr), 0);
	what |= RN_TX_WORK | RN_TX_ALONG;
	assert_true(next_packet(&r, what, &first) > 0);
	while (next_packet(&r, what, &response) > 0)
		continue;
	assert_false(rn_dev_acks_due(r.p->dev[0]));
	raw_free(&r);
	return first;
}

static void ack_goes_ahead_of_what_the_peer_hears_of(void **state)
{
	(void)state;
	/* One super-packet: the peer looks at its end first. */
	assert_false(begins_with_the_ack(RN_WR_SEND, 1024, 0));
	assert_true(begins_with_the_ack(RN_WR_SEND, 1025, 0));
	assert_true(begins_with_the_ack(RN_WR_RDMA_WRITE_WITH_IMM, 1025, 0));
	assert_true(begins_with_the_ack(RN_WR_SEND, 64, RN_TX_SINGLY));
	/* Who looks at memory is to find the whole of it. */
	assert_false(begins_with_the_ack(RN_WR_RDMA_WRITE, 2000, 0));
	assert_false(begins_with_the_ack(RN_WR_RDMA_WRITE, 64, RN_TX_SINGLY));
}

/* The rest goes when the window opens, and the acknowledgement behind that. */
static void ack_does_not_go_along_with_half_a_message(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024,
				      .window_start = 2000,
				      .window_min = 1000 };
	struct raw r = raw_new(&cfg, RN_QPT_RC, RN_QPS_RTS, NULL);
	uint32_t sent;

	(void)state;
	r.p->frozen = true;
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 100, .ack_req = true));
	assert_false(ends_with_the_ack(&r, 1, 4096, &sent));
	assert_in_range(sent, 1, 3);
	assert_true(rn_dev_acks_due(r.p->dev[0]));
	raw_free(&r);
}

static void device_knows_that_a_message_goes_on(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	const struct rn_dev *dev = r.p->dev[0];
	const struct rn_reth reth = { r.mr->mr.va, r.mr->mr.lkey, 3 * 1024 };

	(void)state;
	r.p->frozen = true;
	assert_false(rn_dev_is_amid_message(dev));
	raw_send(&r, RAW(.op = RN_RC_WRITE_FIRST, .psn = 100, .reth = reth, .len = 1024));
	assert_true(rn_dev_is_amid_message(dev));
	raw_send(&r,
		 RAW(.op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = 1024, .ack_req = true));
	assert_true(rn_dev_is_amid_message(dev));
	raw_send(&r,
		 RAW(.op = RN_RC_WRITE_LAST, .psn = 102, .len = 1024, .ack_req = true));
	assert_false(rn_dev_is_amid_message(dev));
	/* What is missing is to come again. */
	raw_send(&r, RAW(.op = RN_RC_WRITE_ONLY, .psn = 104, .ack_req = true));
	assert_true(rn_dev_is_amid_message(dev));
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_refuses_a_configuration_out_of_range),
		cmocka_unit_test(objects_are_found_in_larger_tables_too),
		cmocka_unit_test(qps_take_turns_of_sixty_four_packets),
		cmocka_unit_test(acks_leave_only_when_asked_for),
		cmocka_unit_test(ack_goes_along_behind_the_last_request_of_its_qp),
		cmocka_unit_test(ack_goes_along_behind_a_whole_turn),
		cmocka_unit_test(ack_goes_ahead_of_what_the_peer_hears_of),
		cmocka_unit_test(ack_does_not_go_along_with_half_a_message),
		cmocka_unit_test(device_knows_that_a_message_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
