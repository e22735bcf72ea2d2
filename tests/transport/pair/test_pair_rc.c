/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_rc.c - reliable connections end to end, without faults on the wire. */
#include "tests/kit/device/rc_pair.h"

/* One operation of @len bytes; everything about it is checked. */
static void one_op(struct rc *r, enum rn_wr_opcode op, uint32_t len)
{
	bool imm = op == RN_WR_SEND_WITH_IMM || op == RN_WR_RDMA_WRITE_WITH_IMM;
	bool send = op == RN_WR_SEND || op == RN_WR_SEND_WITH_IMM;
	struct pair_mr *from = op == RN_WR_RDMA_READ ? r->mb : r->ma;
	struct pair_mr *to = op == RN_WR_RDMA_READ ? r->ma : r->mb;
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(r, op, &sge, len);
	struct rn_cqe e;

	fill(from, len);
	memset(to->data, 0xcc, to->len);
	if (send || imm)
		assert_int_equal(pair_post_recv_mr(r->b, len, r->mb, 0, BUF), 0);
	assert_int_equal(pair_post_send(r->a, &wr), 0);
	pair_run_until_quiet(r->p);
	e = pair_expect_wc(r->a->scq, WR_ID, RN_WC_SUCCESS);
	if (op == RN_WR_RDMA_READ)
		assert_int_equal(e.byte_len, len);
	if (send || imm) {
		e = pair_expect_wc(r->b->rcq, len, RN_WC_SUCCESS);
		assert_int_equal(e.byte_len, len);
		assert_int_equal(pair_cqe_opcode(&e),
				 send ? RN_WC_RECV : RN_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(pair_cqe_flags(&e), imm ? RN_WC_WITH_IMM : 0);
		if (imm)
			assert_int_equal(e.imm, IMM);
	}
	assert_memory_equal(to->data, from->data, len);
	for (uint32_t i = len; i < to->len; i++)
		assert_int_equal(to->data[i], 0xcc);
	assert_quiet(r);
}

static void every_op_and_size(const struct pair_cfg *cfg)
{
	static const enum rn_wr_opcode ops[] = { RN_WR_SEND, RN_WR_SEND_WITH_IMM,
						 RN_WR_RDMA_WRITE,
						 RN_WR_RDMA_WRITE_WITH_IMM,
						 RN_WR_RDMA_READ };
	struct rc r = rc_new(cfg);
	uint32_t mtu = r.p->cfg.mtu_max;
	const uint32_t sizes[] = { 0,	    1,	     2,	      3,	   4,
				   5,	    mtu - 1, mtu,     mtu + 1,	   2 * mtu - 1,
				   2 * mtu, 3 * mtu, 4 * mtu, 5 * mtu - 3, 5 * mtu };

	for (unsigned o = 0; o < RN_ARRAY_SIZE(ops); o++)
		for (unsigned s = 0; s < RN_ARRAY_SIZE(sizes); s++)
			one_op(&r, ops[o], sizes[s]);
	pair_free(r.p);
}

static void data_arrives_at_every_mtu_and_size(void **state)
{
	(void)state;
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		every_op_and_size(&(struct pair_cfg){ .mtu_max = mtu });
}

static void data_arrives_with_slow_memory(void **state)
{
	(void)state;
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 4)
		every_op_and_size(
			&(struct pair_cfg){ .mtu_max = mtu, .mem_delay = RN_USEC(20) });
}

static void data_arrives_over_ipv6(void **state)
{
	(void)state;
	every_op_and_size(&(struct pair_cfg){ .mtu_max = 1024, .ipv6 = true });
}

static void data_arrives_between_two_qps_of_one_device(void **state)
{
	(void)state;
	every_op_and_size(&(struct pair_cfg){ .mtu_max = 1024, .devices = 1 });
}

static void data_arrives_through_small_windows_and_read_chunks(void **state)
{
	(void)state;
	every_op_and_size(&(struct pair_cfg){ .mtu_max = 512,
					      .window_start = 600,
					      .window_min = 600,
					      .window_max = 1500,
					      .read_window = 1100,
					      .read_chunk = 1000 });
}

static void data_arrives_when_acks_wait_and_packets_come_in_batches(void **state)
{
	(void)state;
	every_op_and_size(
		&(struct pair_cfg){ .mtu_max = 256, .hold_acks = true, .rx_batch = 64 });
}

static void qp_connected_to_itself_works(void **state)
{
	struct rc r = { .p = pair_new(
				&(struct pair_cfg){ .devices = 1, .mtu_max = 1024 }) };
	static const enum rn_wr_opcode ops[] = { RN_WR_SEND_WITH_IMM, RN_WR_RDMA_WRITE,
						 RN_WR_RDMA_READ };

	(void)state;
	r.a = r.b = pair_qp_new(r.p, 0, RN_QPT_RC);
	r.ma = pair_mr_new(r.p, 0, BUF, ALL);
	r.mb = pair_mr_new(r.p, 0, BUF, ALL);
	pair_connect(r.a, r.a);
	for (unsigned o = 0; o < RN_ARRAY_SIZE(ops); o++)
		for (uint32_t len = 0; len <= 5 * 1024; len += 1024)
			one_op(&r, ops[o], len);
	pair_free(r.p);
}

static void atomics_return_the_old_value_and_change_memory(void **state)
{
	(void)state;
	for (unsigned slow = 0; slow < 2; slow++) {
		struct rc r = rc_new(&(struct pair_cfg){ .mem_delay = slow * 5000 });
		uint64_t *far = (uint64_t *)r.mb->data, *near = (uint64_t *)r.ma->data;
		struct rn_sge sge;
		struct rn_send_wr wr = wr_to(&r, RN_WR_ATOMIC_FETCH_AND_ADD, &sge, 8);

		*far = 0x1122334455667788;
		wr.compare_add = 0x10;
		assert_int_equal(pair_post_send(r.a, &wr), 0);
		pair_run_until_quiet(r.p);
		assert_int_equal(pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS).byte_len,
				 8);
		assert_int_equal(*near, 0x1122334455667788);
		assert_int_equal(*far, 0x1122334455667798);

		wr.opcode = RN_WR_ATOMIC_CMP_AND_SWP;
		wr.compare_add = 0x1122334455667798;
		wr.swap = 42;
		assert_int_equal(pair_post_send(r.a, &wr), 0);
		pair_run_until_quiet(r.p);
		pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
		assert_int_equal(*near, 0x1122334455667798);
		assert_int_equal(*far, 42);

		assert_int_equal(pair_post_send(r.a, &wr), 0);
		pair_run_until_quiet(r.p);
		pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
		assert_int_equal(*near, 42);
		assert_int_equal(*far, 42);
		assert_quiet(&r);
		pair_free(r.p);
	}
}

static void lists_of_sges_are_gathered_and_scattered(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ .mtu_max = 256 });
	/* Pieces in no order, an empty one (whose key is not looked at) among them. */
	struct rn_sge out[4] = { pair_sge(r.ma, 1000, 300),
				 { .addr = 1, .lkey = 9 },
				 pair_sge(r.ma, 0, 500),
				 pair_sge(r.ma, 700, 1) };
	struct rn_sge in[4] = { pair_sge(r.mb, 2000, 256),
				pair_sge(r.mb, 100, 44),
				{ .addr = 1, .lkey = 9 },
				pair_sge(r.mb, 4000, 600) };
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = RN_WR_SEND,
				 .flags = RN_SEND_SIGNALED,
				 .sg = out,
				 .num_sge = 4 };

	(void)state;
	fill(r.ma, 3);
	assert_int_equal(
		pair_post_recv(
			r.b, &(struct rn_recv_wr){ .wr_id = 2, .sg = in, .num_sge = 4 }),
		0);
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_expect_wc(r.b->rcq, 2, RN_WC_SUCCESS).byte_len, 801);
	assert_memory_equal(r.mb->data + 2000, r.ma->data + 1000, 256);
	assert_memory_equal(r.mb->data + 100, r.ma->data + 1256, 44);
	assert_memory_equal(r.mb->data + 4000, r.ma->data, 500);
	assert_int_equal(r.mb->data[4500], r.ma->data[700]);
	assert_quiet(&r);
	pair_free(r.p);
}

static void inline_data_may_be_overwritten_after_the_post(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	char text[] = "inline data";
	struct rn_sge sge = { .addr = (uintptr_t)text, .len = sizeof(text) };
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = RN_WR_RDMA_WRITE,
				 .flags = RN_SEND_SIGNALED | RN_SEND_INLINE,
				 .remote_addr = r.mb->mr.va,
				 .rkey = r.mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };

	(void)state;
	/* Not pair_post_send(): that would let it leave. */
	assert_int_equal(rn_qp_post_send(r.p->dev[0], r.a->qp, r.p->net->now, &wr), 0);
	memset(text, 'x', sizeof(text));
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, 1, RN_WC_SUCCESS);
	assert_string_equal((char *)r.mb->data, "inline data");
	pair_free(r.p);
}

static void only_signaled_requests_and_errors_leave_a_cqe(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 10);

	(void)state;
	for (uint64_t i = 0; i < 9; i++) {
		wr.wr_id = i;
		wr.flags = i % 3 == 2 ? RN_SEND_SIGNALED : 0;
		assert_int_equal(pair_post_send(r.a, &wr), 0);
	}
	wr.wr_id = 9;
	wr.rkey ^= 1;
	wr.flags = 0;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	for (uint64_t i = 2; i < 9; i += 3)
		pair_expect_wc(r.a->scq, i, RN_WC_SUCCESS);
	pair_expect_wc(r.a->scq, 9, RN_WC_REM_ACCESS_ERR);
	assert_quiet(&r);
	pair_free(r.p);
}

/* A full queue that is never polled stays full; it drains and is reused for many laps. */
static void long_stream_keeps_order_over_many_laps_of_the_queues(void **state)
{
	struct rc r = rc_new(&(struct pair_cfg){ .mtu_max = 256 });
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_SEND, &sge, 700);
	uint64_t posted = 0, received = 0;

	(void)state;
	r.p->record_off = true;
	while (received < 2000) {
		while (pair_post_recv_mr(r.b, 0, r.mb, 0, 1000) == 0)
			;
		wr.wr_id = posted;
		while (rn_qp_post_send(r.p->dev[0], r.a->qp, r.p->net->now, &wr) == 0)
			wr.wr_id = ++posted;
		pair_run_until_quiet(r.p);
		for (unsigned i = 0; i < PAIR_WR_DEFAULT; i++) {
			pair_expect_wc(r.a->scq, received++, RN_WC_SUCCESS);
			assert_int_equal(
				pair_expect_wc(r.b->rcq, 0, RN_WC_SUCCESS).byte_len, 700);
		}
	}
	assert_quiet(&r);
	assert_int_equal(pair_stat(r.p, 0, RN_STAT_RETRANSMITTED), 0);
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrives_at_every_mtu_and_size),
		cmocka_unit_test(data_arrives_with_slow_memory),
		cmocka_unit_test(data_arrives_over_ipv6),
		cmocka_unit_test(data_arrives_between_two_qps_of_one_device),
		cmocka_unit_test(data_arrives_through_small_windows_and_read_chunks),
		cmocka_unit_test(data_arrives_when_acks_wait_and_packets_come_in_batches),
		cmocka_unit_test(qp_connected_to_itself_works),
		cmocka_unit_test(atomics_return_the_old_value_and_change_memory),
		cmocka_unit_test(lists_of_sges_are_gathered_and_scattered),
		cmocka_unit_test(inline_data_may_be_overwritten_after_the_post),
		cmocka_unit_test(only_signaled_requests_and_errors_leave_a_cqe),
		cmocka_unit_test(long_stream_keeps_order_over_many_laps_of_the_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
