/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - cases of the category memory. */
#include "cases.h"

/* Posts a receive with this entry. */
static void receive_to(struct kit *k, struct ibv_sge sge)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void receive_beyond_mr(struct kit *k)
{
	struct ibv_sge sge = kit_sge(k, 1, KIT_HALF - 8, 16);

	receive_to(k, sge);
}

static void receive_at_unknown_lkey(struct kit *k)
{
	struct ibv_sge sge = kit_sge(k, 1, 0, 16);

	sge.lkey ^= 0x5a5a00;
	receive_to(k, sge);
}

static void receive_up_to_end(struct kit *k)
{
	receive_to(k, kit_sge(k, 1, KIT_HALF - 16, 16));
}

static void send_inline(struct kit *k, uint32_t len)
{
	struct ibv_qp *qp[2];
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE,
		       .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1,
		       .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
				    .rkey = k->mr->rkey } };

	kit_pair(k, IBV_QPT_RC, qp);
	if (!ibv_post_send(qp[0], &wr, &bad))
		(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
}

static void send_too_much_inline(struct kit *k)
{
	send_inline(k, 4096);
}

static void send_little_inline(struct kit *k)
{
	send_inline(k, 16);
}

static void fetch_add_at(struct kit *k, uint32_t offset)
{
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		       .send_flags = IBV_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1,
		       .wr.atomic = { .remote_addr = kit_sge(k, 1, offset, 8).addr,
				      .rkey = k->mr->rkey,
				      .compare_add = 1 } };

	if (!ibv_post_send(p.qp[0], &wr, &bad))
		(void)kit_wait(k->cq);
	val_destroy_pair(&p);
}

static void fetch_add_at_4(struct kit *k)
{
	fetch_add_at(k, 4);
}

static void fetch_add_at_8(struct kit *k)
{
	fetch_add_at(k, 8);
}

static const struct val_case cases[] = {
	{ "memory/sge-outside-mr", receive_beyond_mr, receive_up_to_end, false },
	{ "memory/wrong-lkey", receive_at_unknown_lkey, receive_up_to_end, false },
	{ "memory/inline-too-long", send_too_much_inline, send_little_inline, false },
	{ "memory/atomic-misaligned", fetch_add_at_4, fetch_add_at_8, false },
};
const struct val_cases memory_cases = VAL_CASES(cases);
