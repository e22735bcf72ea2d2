/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_smoke.c - the data of every operation arrives, with each API for posting and
 * polling.
 */
#include <arpa/inet.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	FENCED = 256, /* length in bytes */
	KEYS = 200,
};

static void fill(uint8_t *p, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

/* The differences between consecutive keys vary, and a freed key is not given out again.
 */
static void keys_cannot_be_guessed(void **state)
{
	struct kit *k = *state;
	uint32_t seen[KEYS], equal_steps = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);

		assert_non_null(mr);
		seen[i] = mr->rkey;
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(seen[j], seen[i]);
		if (i >= 2)
			equal_steps += seen[i] - seen[i - 1] == seen[i - 1] - seen[i - 2];
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	assert_true(equal_steps < 3);
}

static void limits_are_consistent(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_port_attr other;

	assert_int_equal(ibv_query_device(k->ctx, &attr), 0);
	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &ex), 0);
	assert_memory_equal(&attr, &ex.orig_attr, sizeof(attr));
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.node_guid, ibv_get_device_guid(k->ctx->device));
	assert_int_equal(k->port.state, IBV_PORT_ACTIVE);
	assert_int_equal(k->port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_in_range(k->port.active_mtu, IBV_MTU_256, k->port.max_mtu);
	assert_int_equal(ibv_query_port(k->ctx, 2, &other), EINVAL);
}

static void rc_carries_data(struct kit *k, struct ibv_qp *qp[2], uint32_t len)
{
	struct ibv_sge local = kit_sge(k, 0, 0, len);
	uint64_t remote = (uintptr_t)k->buf + KIT_HALF;
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = remote,
					       .rkey = k->mr->rkey } };
	struct ibv_wc wc;

	fill(k->buf, len, 1);
	memset(k->buf + KIT_HALF, 0, len);
	wr.wr_id = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_RDMA_WRITE);
	assert_memory_equal(k->buf, k->buf + KIT_HALF, len);

	fill(k->buf + KIT_HALF, len, 2);
	wr.wr_id = 2;
	wr.opcode = IBV_WR_RDMA_READ;
	kit_post_send(qp[0], &wr);
	wc = kit_expect(k->cq, 2, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, len);
	assert_memory_equal(k->buf, k->buf + KIT_HALF, len);

	fill(k->buf, len, 3);
	kit_post_recv(k, qp[1], 3, kit_sge(k, 1, 0, len));
	wr.wr_id = 4;
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(0xcafe);
	wr.send_flags = 0; /* unsignaled: only the receive completes */
	kit_post_send(qp[0], &wr);
	wc = kit_expect(k->cq, 3, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, len);
	assert_int_equal(wc.qp_num, qp[1]->qp_num);
	assert_int_equal(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(0xcafe));
	assert_memory_equal(k->buf, k->buf + KIT_HALF, len);
}

static void rc_data_of_all_sizes_arrives(void **state)
{
	static const uint32_t lens[] = { 0, 1, 3, 4, 255, 4096, 4097, 12345, KIT_HALF };
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		rc_carries_data(k, qp, lens[i]);
	kit_expect_none(k->cq);
	kit_destroy_pair(qp);
}

static void a_qp_can_be_its_own_peer(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp *pair[2] = { qp, qp };

	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	rc_carries_data(k, pair, 10000);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void atomics_return_what_was_there(void **state)
{
	struct kit *k = *state;
	uint64_t *target = (uint64_t *)(k->buf + KIT_HALF), *result = (uint64_t *)k->buf;
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = (uintptr_t)target,
			       .rkey = k->mr->rkey,
			       .compare_add = 5 },
	};
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	*target = 0x100000000;
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_FETCH_ADD);
	assert_int_equal(*result, 0x100000000);
	assert_int_equal(*target, 0x100000005);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 0x100000005;
	wr.wr.atomic.swap = 77;
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_COMP_SWAP);
	assert_int_equal(*result, 0x100000005);
	assert_int_equal(*target, 77);
	kit_destroy_pair(qp);
}

static void inline_data_may_be_overwritten_after_posting(void **state)
{
	struct kit *k = *state;
	uint8_t data[KIT_INLINE], want[KIT_INLINE];
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)data, .length = 28 },
		{ .addr = (uintptr_t)data + 28, .length = 100 },
	};
	struct ibv_send_wr wr = { .sg_list = sge,
				  .num_sge = 2,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE };
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	fill(data, sizeof(data), 9);
	memcpy(want, data, sizeof(data));
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 1000));
	kit_post_send(qp[0], &wr);
	memset(data, 0, sizeof(data));
	assert_int_equal(kit_expect(k->cq, 1, IBV_WC_RECV).byte_len, sizeof(want));
	assert_memory_equal(k->buf + KIT_HALF, want, sizeof(want));
	kit_destroy_pair(qp);
}

static void ud_datagram_arrives_behind_its_headers(void **state)
{
	enum {
		LEN = 1000,
		GRH_LEN = 40
	};
	struct kit *k = *state;
	struct ibv_qp *qp[2] = { kit_create_qp(k, IBV_QPT_UD),
				 kit_create_qp(k, IBV_QPT_UD) };
	struct ibv_ah_attr attr = kit_address(k), back;
	struct ibv_sge local = kit_sge(k, 0, 0, LEN);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	assert_non_null(ah);
	for (unsigned i = 0; i < 2; i++) {
		kit_to_init(qp[i]);
		kit_to_rts(k, qp[i], 0);
	}
	fill(k->buf, LEN, 4);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, GRH_LEN + LEN));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = KIT_QKEY;
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 2, IBV_WC_SEND);
	wc = kit_expect(k->cq, 1, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, GRH_LEN + LEN);
	assert_int_equal(wc.src_qp, qp[0]->qp_num);
	assert_int_equal(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	assert_memory_equal(k->buf + KIT_HALF + GRH_LEN, k->buf, LEN);

	/* The received headers contain the address to reply to. */
	assert_int_equal(ibv_init_ah_from_wc(k->ctx, 1, &wc,
					     (struct ibv_grh *)(k->buf + KIT_HALF),
					     &back),
			 0);
	assert_memory_equal(&back.grh.dgid, &k->gid, sizeof(k->gid));
	assert_int_equal(back.grh.sgid_index, 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* ---------------------------------------------------------- ibv_wr_*, ibv_start_poll */
static struct ibv_qp_ex *create_qp_ex(struct kit *k, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = KIT_INLINE },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	return qp ? ibv_qp_to_qp_ex(qp) : NULL;
}

static struct ibv_qp_ex *loop_ex(struct kit *k)
{
	struct ibv_qp_ex *ex =
		create_qp_ex(k, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM);

	assert_non_null(ex);
	kit_to_init(&ex->qp_base);
	kit_to_rts(k, &ex->qp_base, ex->qp_base.qp_num);
	return ex;
}

static void requests_built_by_calls_are_carried_out(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex = loop_ex(k);
	char text[] = "built by calls";
	struct ibv_wc wc;

	fill(k->buf, 500, 5);
	kit_post_recv(k, &ex->qp_base, 9, kit_sge(k, 1, 1000, 100));
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 500);
	ex->wr_id = 2;
	ex->wr_flags = 0;
	ibv_wr_send_imm(ex, htonl(7));
	ibv_wr_set_inline_data(ex, text, sizeof(text));
	memset(text, 0, sizeof(text));
	assert_int_equal(ibv_wr_complete(ex), 0);
	/* The completions of the two sides may come in either order. */
	for (unsigned i = 0; i < 2; i++) {
		wc = kit_wait(k->cq);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_RECV)
			assert_int_equal(wc.imm_data, htonl(7));
		else
			assert_int_equal(wc.wr_id, 1);
	}
	assert_memory_equal(k->buf, k->buf + KIT_HALF, 500);
	assert_string_equal((char *)k->buf + KIT_HALF + 1000, "built by calls");
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

static void post_read_and_send(struct kit *k, struct ibv_qp *qp, bool by_calls)
{
	struct ibv_qp_ex *ex = by_calls ? ibv_qp_to_qp_ex(qp) : NULL;
	struct ibv_sge here = kit_sge(k, 0, 0, FENCED);
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &here,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE };
	struct ibv_send_wr read = { .wr_id = 1,
				    .next = &send,
				    .sg_list = &here,
				    .num_sge = 1,
				    .opcode = IBV_WR_RDMA_READ,
				    .wr.rdma = { .remote_addr = here.addr + KIT_HALF,
						 .rkey = k->mr->rkey } };

	if (!ex) {
		kit_post_send(qp, &read);
		return;
	}
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = 0;
	ibv_wr_rdma_read(ex, k->mr->rkey, here.addr + KIT_HALF);
	ibv_wr_set_sge(ex, here.lkey, here.addr, here.length);
	ex->wr_id = 2;
	ex->wr_flags = send.send_flags;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, here.lkey, here.addr, here.length);
	assert_int_equal(ibv_wr_complete(ex), 0);
}

/* A SEND with a fence sends what an earlier READ has read. Both are posted at once.
 * Without the fence the SEND's data would be gathered before the READ's response could
 * come.
 */
static void a_fence_waits_for_reads_however_it_is_posted(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex =
		create_qp_ex(k, IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND);
	struct ibv_qp *qp;

	assert_non_null(ex);
	qp = &ex->qp_base;
	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	for (unsigned i = 0; i < 40; i++) {
		memset(k->buf, 0, FENCED);
		fill(k->buf + KIT_HALF, FENCED, (uint8_t)(i + 1));
		kit_post_recv(k, qp, 9, kit_sge(k, 1, FENCED, FENCED));
		post_read_and_send(k, qp, i % 2);
		for (unsigned n = 0; n < 2; n++)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_memory_equal(k->buf + KIT_HALF + FENCED, k->buf + KIT_HALF,
				    FENCED);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* Each kind of call adds a request to the same batch. Each request has its own data. */
static void each_request_built_by_calls_has_its_own_data(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex = create_qp_ex(
		k, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
	uintptr_t there = (uintptr_t)k->buf + KIT_HALF;
	uint64_t *target = (uint64_t *)(k->buf + KIT_HALF + 64);
	char first[] = "the first", second[] = "the second";
	bool had_imm = false, had_swap = false;

	assert_non_null(ex);
	kit_to_init(&ex->qp_base);
	kit_to_rts(k, &ex->qp_base, ex->qp_base.qp_num);
	*target = 5;
	kit_post_recv(k, &ex->qp_base, 9, kit_sge(k, 1, 1000, 100));
	ibv_wr_start(ex);
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, k->mr->rkey, there);
	ibv_wr_set_inline_data(ex, first, sizeof(first));
	ibv_wr_rdma_write_imm(ex, k->mr->rkey, there + 32, htonl(0xcafe));
	ibv_wr_set_inline_data(ex, second, sizeof(second));
	ex->wr_id = 3;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_cmp_swp(ex, k->mr->rkey, (uintptr_t)target, 5, 77);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 9) {
			assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
			assert_int_equal(wc.imm_data, htonl(0xcafe));
			had_imm = true;
		} else {
			assert_int_equal(wc.wr_id, 3);
			assert_int_equal(wc.opcode, IBV_WC_COMP_SWAP);
			had_swap = true;
		}
	}
	assert_true(had_imm && had_swap);
	assert_string_equal((char *)there, "the first");
	assert_string_equal((char *)there + 32, "the second");
	assert_int_equal(*(uint64_t *)k->buf, 5);
	assert_int_equal(*target, 77);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* An unknown flag makes its whole batch fail, but no later batch. */
static void a_wrong_flag_spoils_its_own_batch_only(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex = loop_ex(k);
	uintptr_t there = (uintptr_t)k->buf + KIT_HALF;

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, there);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	ex->wr_flags = 1U << 30;
	ibv_wr_rdma_write(ex, k->mr->rkey, there);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ex->wr_id = 2;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, there);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	kit_expect(k->cq, 2, IBV_WC_RDMA_WRITE);
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* 32 SGEs are the limit. A list of 33 makes the batch fail, even if the request is given
 * a shorter list afterwards.
 */
static void a_list_of_33_spoils_its_batch(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex = loop_ex(k);
	struct ibv_sge list[33];

	for (unsigned i = 0; i < 33; i++)
		list[i] = kit_sge(k, 0, 8 * i, 8);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_set_sge_list(ex, 33, list);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

static void requests_built_by_calls_are_posted_all_or_none(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_ex *ex = loop_ex(k);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	/* one request more than the queue has room for */
	for (ex->wr_id = 1; ex->wr_id <= 5; ex->wr_id++) {
		ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
		ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	}
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);

	ibv_wr_start(ex);
	ex->wr_id = 6;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	ex->wr_id = 7;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_set_inline_data(ex, k->buf, KIT_INLINE + 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);

	ibv_wr_start(ex);
	ex->wr_id = 8;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_abort(ex);

	ibv_wr_start(ex);
	ex->wr_id = 9;
	ibv_wr_rdma_write(ex, k->mr->rkey, (uintptr_t)k->buf + KIT_HALF);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	kit_expect(k->cq, 9, IBV_WC_RDMA_WRITE);
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

static void operations_that_a_type_lacks_are_not_supported(void **state)
{
	struct kit *k = *state;

	assert_null(create_qp_ex(k, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void extended_polling_reads_the_same_completions(void **state)
{
	struct kit *k = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			    IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &attr);
	struct ibv_cq *plain = k->cq;
	struct ibv_sge local = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htonl(3) };
	struct ibv_qp *qp[2];
	uint64_t earlier = 0;

	assert_non_null(cq);
	assert_int_equal(ibv_start_poll(cq, &none), ENOENT);
	k->cq = ibv_cq_ex_to_cq(cq);
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	for (unsigned i = 0; i < 3; i++)
		kit_post_recv(k, qp[1], 10 + i, kit_sge(k, 1, 100 * i, 100));
	for (unsigned i = 0; i < 3; i++)
		kit_post_send(qp[0], &wr);
	for (unsigned i = 0; i < 3; i++) {
		while (ibv_start_poll(cq, &none) == ENOENT)
			;
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(cq->wr_id, 10 + i);
		assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
		assert_int_equal(ibv_wc_read_byte_len(cq), 64);
		assert_int_equal(ibv_wc_read_imm_data(cq), htonl(3));
		assert_int_equal(ibv_wc_read_qp_num(cq), qp[1]->qp_num);
		assert_true(ibv_wc_read_completion_ts(cq) >= earlier);
		earlier = ibv_wc_read_completion_ts(cq);
		ibv_end_poll(cq);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_cannot_be_guessed),
		cmocka_unit_test(limits_are_consistent),
		cmocka_unit_test(rc_data_of_all_sizes_arrives),
		cmocka_unit_test(a_qp_can_be_its_own_peer),
		cmocka_unit_test(atomics_return_what_was_there),
		cmocka_unit_test(inline_data_may_be_overwritten_after_posting),
		cmocka_unit_test(ud_datagram_arrives_behind_its_headers),
		cmocka_unit_test(requests_built_by_calls_are_carried_out),
		cmocka_unit_test(a_fence_waits_for_reads_however_it_is_posted),
		cmocka_unit_test(each_request_built_by_calls_has_its_own_data),
		cmocka_unit_test(a_wrong_flag_spoils_its_own_batch_only),
		cmocka_unit_test(a_list_of_33_spoils_its_batch),
		cmocka_unit_test(requests_built_by_calls_are_posted_all_or_none),
		cmocka_unit_test(operations_that_a_type_lacks_are_not_supported),
		cmocka_unit_test(extended_polling_reads_the_same_completions),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
