/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_post.c - what may be posted, and what becomes of it. */
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

#include <errno.h>
#include <stdlib.h>

static const struct pair_cfg one = { .devices = 1, .mtu_max = 1024 };

static void post_is_judged_by_state(void **state)
{
	static const struct {
		enum rn_qp_state at;
		int send, recv;
	} rows[] = {
		{ RN_QPS_RESET, -EINVAL, -EINVAL },
		{ RN_QPS_INIT, -EINVAL, 0 },
		{ RN_QPS_RTR, -EINVAL, 0 },
		{ RN_QPS_RTS, 0, 0 },
		{ RN_QPS_SQD, 0, 0 },
		{ RN_QPS_ERR, 0, 0 },
	};
	struct rn_send_wr wr = { .opcode = RN_WR_SEND };
	struct rn_recv_wr recv = { 0 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RESET, NULL);
		struct rn_qp_attr attr = pair_attr(r.q, 1, RAW_PEER_QPN);

		if (rows[i].at != RN_QPS_RESET)
			pair_modify_until(r.q, &attr, rows[i].at);
		if (rows[i].at > RN_QPS_RTS)
			assert_int_equal(pair_modify_state(r.q, rows[i].at), 0);
		assert_int_equal(pair_post_send(r.q, &wr), rows[i].send);
		assert_int_equal(pair_post_recv(r.q, &recv), rows[i].recv);
		raw_free(&r);
	}
}

static void post_send_refuses_what_the_device_cannot_do(void **state)
{
	enum {
		TYPES = 3
	};
	static const enum rn_qp_type type[TYPES] = { RN_QPT_RC, RN_QPT_UC, RN_QPT_UD };
	static const struct {
		enum rn_wr_opcode op;
		bool works[TYPES];
	} rows[] = {
		{ RN_WR_RDMA_WRITE, { true, true, false } },
		{ RN_WR_RDMA_WRITE_WITH_IMM, { true, true, false } },
		{ RN_WR_SEND, { true, true, true } },
		{ RN_WR_SEND_WITH_IMM, { true, true, true } },
		{ RN_WR_RDMA_READ, { true, false, false } },
		{ RN_WR_ATOMIC_CMP_AND_SWP, { true, false, false } },
		{ RN_WR_ATOMIC_FETCH_AND_ADD, { true, false, false } },
		{ RN_WR_LOCAL_INV, { true, true, false } },
		{ RN_WR_BIND_MW, { true, true, false } },
		{ RN_WR_SEND_WITH_INV, { true, false, false } },
		{ RN_WR_ATOMIC_WRITE, { true, false, false } },
		{ 10, { false, false, false } },
		{ 1000, { false, false, false } },
	};

	(void)state;
	for (unsigned t = 0; t < TYPES; t++) {
		struct raw r = raw_new(NULL, type[t], RN_QPS_RTS, NULL);
		struct rn_sge sge = pair_sge(r.mr, 0, 8);
		struct rn_av av = { .dgid = r.p->gid[1] };

		for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++)
			assert_int_equal(
				pair_post_send(r.q,
					       &(struct rn_send_wr){ .opcode = rows[i].op,
								     .av = &av,
								     .sg = &sge,
								     .num_sge = 1 }),
				rows[i].works[t] ? 0 : -EINVAL);
		raw_free(&r);
	}
}

static void post_send_checks_lengths_and_counts(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	uint8_t bytes[65] = { 0 };
	struct rn_sge in = { .addr = (uintptr_t)bytes, .len = 64 };
	struct rn_sge sge[PAIR_SGE_DEFAULT + 1] = { { .len = 8 } };
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .sg = sge };

	(void)state;
	wr.num_sge = PAIR_SGE_DEFAULT + 1;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	wr.num_sge = RN_SGE_MAX + 1;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);

	wr.num_sge = 2;
	sge[0].len = RN_MSG_MAX;
	sge[1].len = 1;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);

	wr.num_sge = 1;
	wr.opcode = RN_WR_ATOMIC_FETCH_AND_ADD;
	sge[0].len = 9;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);

	wr.sg = &in;
	wr.flags = RN_SEND_INLINE;
	wr.opcode = RN_WR_RDMA_READ;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	wr.opcode = RN_WR_SEND;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	in.len = 65;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	raw_free(&r);
}

static void no_rd_atomic(struct rn_qp_attr *a)
{
	a->max_rd_atomic = 0;
}

static void reads_need_max_rd_atomic(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, no_rd_atomic);

	(void)state;
	assert_int_equal(
		pair_post_send(r.q, &(struct rn_send_wr){ .opcode = RN_WR_RDMA_READ }),
		-EINVAL);
	assert_int_equal(
		pair_post_send(r.q, &(struct rn_send_wr){ .opcode = RN_WR_SEND }), 0);
	raw_free(&r);
}

/* The advertised depth is the enforced depth, though the ring is a power of two. */
static void full_queues_are_enomem(void **state)
{
	struct pair *p = pair_new(&one);
	struct pair_qp *q = pair_qp_new_with(p, 0,
					     &(struct rn_qp_init){ .type = RN_QPT_RC,
								   .max_send_wr = 5,
								   .max_recv_wr = 3 });
	struct rn_qp_attr attr = pair_attr(q, 1, 0x99);

	(void)state;
	pair_modify_until(q, &attr, RN_QPS_RTS);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(
			pair_post_send(q, &(struct rn_send_wr){ .opcode = RN_WR_SEND }),
			0);
	assert_int_equal(pair_post_send(q, &(struct rn_send_wr){ .opcode = RN_WR_SEND }),
			 -ENOMEM);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pair_post_recv(q, &(struct rn_recv_wr){ 0 }), 0);
	assert_int_equal(pair_post_recv(q, &(struct rn_recv_wr){ 0 }), -ENOMEM);
	pair_free(p);
}

static void queues_of_no_capacity_refuse_posts(void **state)
{
	struct pair *p = pair_new(&one);
	struct pair_cq *cq = pair_cq_new(p, 0, 4);
	struct rn_qp_init in = { .type = RN_QPT_UD,
				 .qpn = 0x500,
				 .pd = 1,
				 .send_cq = &cq->cq,
				 .recv_cq = &cq->cq };
	void *mem = aligned_alloc(64, (rn_qp_size(p->dev[0], &in) + 63) & ~(size_t)63);
	struct rn_qp *qp = rn_qp_create(p->dev[0], mem, &in);
	struct rn_qp_attr a = { .state = RN_QPS_INIT, .port_num = 1 };

	(void)state;
	assert_int_equal(rn_qp_modify(p->dev[0], qp, 0, &a,
				      RN_ATTR_STATE | RN_ATTR_PKEY_INDEX | RN_ATTR_PORT |
					      RN_ATTR_QKEY),
			 0);
	assert_int_equal(rn_qp_post_recv(p->dev[0], qp, 0, &(struct rn_recv_wr){ 0 }),
			 -ENOMEM);
	rn_qp_destroy(p->dev[0], qp);
	free(mem);
	pair_free(p);
}

static void ud_qkey_with_bit_31_becomes_the_qps_own(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);
	struct rn_av av = { .dgid = r.p->gid[1] };
	struct rn_send_wr wr = { .opcode = RN_WR_SEND,
				 .av = &av,
				 .remote_qpn = 0x77,
				 .remote_qkey = 0x11223344 };

	(void)state;
	pair_post_send(r.q, &wr);
	assert_int_equal(raw_expect(&r, RN_UD_SEND_ONLY, 200)->deth.qkey, 0x11223344);
	wr.remote_qkey = 0x80000000;
	pair_post_send(r.q, &wr);
	assert_int_equal(raw_expect(&r, RN_UD_SEND_ONLY, 201)->deth.qkey, 0x1ee7);
	raw_free(&r);
}

static void a_datagram_needs_an_address_and_a_qp(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);
	struct rn_av av = { .dgid = r.p->gid[1] };
	struct rn_send_wr wr = { .opcode = RN_WR_SEND, .remote_qpn = 0x77 };

	(void)state;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	wr.av = &av;
	wr.remote_qpn = 1 << 24;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	raw_expect_silence(&r);
	wr.remote_qpn = (1 << 24) - 1;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	assert_int_equal(raw_expect(&r, RN_UD_SEND_ONLY, 200)->dest_qpn, (1 << 24) - 1);
	raw_free(&r);
}

static void inline_pieces_are_limited_too(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_sge sge[RN_SGE_MAX + 1] = { 0 };
	struct rn_send_wr wr = { .opcode = RN_WR_SEND,
				 .flags = RN_SEND_INLINE,
				 .sg = sge,
				 .num_sge = RN_SGE_MAX + 1 };

	(void)state;
	assert_int_equal(pair_post_send(r.q, &wr), -EINVAL);
	raw_expect_silence(&r);
	wr.num_sge = RN_SGE_MAX;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	assert_int_equal(raw_expect(&r, RN_RC_SEND_ONLY, 200)->len, 0);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(post_is_judged_by_state),
		cmocka_unit_test(post_send_refuses_what_the_device_cannot_do),
		cmocka_unit_test(post_send_checks_lengths_and_counts),
		cmocka_unit_test(reads_need_max_rd_atomic),
		cmocka_unit_test(full_queues_are_enomem),
		cmocka_unit_test(queues_of_no_capacity_refuse_posts),
		cmocka_unit_test(ud_qkey_with_bit_31_becomes_the_qps_own),
		cmocka_unit_test(a_datagram_needs_an_address_and_a_qp),
		cmocka_unit_test(inline_pieces_are_limited_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
