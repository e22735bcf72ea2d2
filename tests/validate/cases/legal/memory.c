/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - right programs with memory that is no plain MR: of the device, on demand,
 * without bytes, as a whole address space, and changed in between.
 */
#include "tests/validate/cases/cases.h"

enum {
	LEN = 4096,
	FEW = 8,
};

static const unsigned all_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/* Moves 8 bytes and waits for the end. */
static void move(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		 struct ibv_sge local, uint64_t remote, uint32_t rkey)
{
	kit_post_send(qp, &(struct ibv_send_wr){
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &local,
				  .num_sge = 1,
				  .wr.rdma = { .remote_addr = remote, .rkey = rkey } });
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
}

/* Device memory has addresses from 0 on, at both ends. */
static void use_device_memory(struct kit *k)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN };
	struct ibv_dm *dm = ibv_alloc_dm(k->ctx, &attr);
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr;
	uint64_t word = 7;

	assert_non_null(dm);
	mr = ibv_reg_dm_mr(k->pd, dm, 0, LEN, all_access | IBV_ACCESS_ZERO_BASED);
	assert_non_null(mr);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, &word, sizeof(word)), 0);
	for (uint64_t at = 0; at < LEN; at += LEN - 8) {
		struct ibv_sge sge = { .addr = at, .length = 8, .lkey = mr->lkey };

		move(k, p.qp[0], IBV_WR_RDMA_WRITE, sge, kit_sge(k, 1, 0, 8).addr,
		     k->mr->rkey);
		move(k, p.qp[0], IBV_WR_RDMA_READ, sge, kit_sge(k, 1, 0, 8).addr,
		     k->mr->rkey);
		move(k, p.qp[1], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, 8), at, mr->rkey);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	val_destroy_pair(&p);
}

/* A null MR takes bytes for no place, at any address, and gives zeros. */
static void use_null_mr(struct kit *k)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(k->pd);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = { .addr = 0xdead0000, .length = 64 };

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	move(k, p.qp[0], IBV_WR_RDMA_WRITE, sge, kit_sge(k, 1, 0, 64).addr, k->mr->rkey);
	move(k, p.qp[0], IBV_WR_RDMA_READ, sge, kit_sge(k, 1, 0, 64).addr, k->mr->rkey);
	kit_post_recv(k, p.qp[1], 1, sge);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 64), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

/* Memory on demand comes and goes while it is registered. */
static void use_on_demand(struct kit *k)
{
	struct val_pair p = val_pair(k);
	uint8_t *mem = aligned_alloc(LEN, LEN);
	struct ibv_mr *mr, *all;

	assert_non_null(mem);
	mr = ibv_reg_mr(k->pd, mem, LEN, all_access | IBV_ACCESS_ON_DEMAND);
	all = ibv_reg_mr(k->pd, NULL, SIZE_MAX, all_access | IBV_ACCESS_ON_DEMAND);
	assert_non_null(mr);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_mr *by = i ? all : mr;
		struct ibv_sge sge = { .addr = (uintptr_t)mem, .length = 8 };

		if (!by)
			continue;
		sge.lkey = by->lkey;
		move(k, p.qp[0], IBV_WR_RDMA_WRITE, sge, kit_sge(k, 1, 0, 8).addr,
		     k->mr->rkey);
		move(k, p.qp[1], IBV_WR_RDMA_WRITE, kit_sge(k, 1, 0, 8), sge.addr,
		     by->rkey);
	}
	free(mem);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	if (all)
		assert_int_equal(ibv_dereg_mr(all), 0);
	val_destroy_pair(&p);
}

/* An MR whose addresses begin at 0, and one with addresses of its own. */
static void use_other_addresses(struct kit *k)
{
	const uint64_t iova = 0x10000;
	struct val_pair p = val_pair(k);
	struct ibv_mr *zero = ibv_reg_mr(k->pd, k->buf + KIT_HALF, LEN,
					 all_access | IBV_ACCESS_ZERO_BASED);
	struct ibv_mr *moved =
		ibv_reg_mr_iova(k->pd, k->buf + KIT_HALF, LEN, iova, all_access);

	assert_non_null(zero);
	assert_non_null(moved);
	move(k, p.qp[0], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, 8), LEN - 8, zero->rkey);
	move(k, p.qp[0], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, 8), iova + LEN - 8,
	     moved->rkey);
	move(k, p.qp[0], IBV_WR_RDMA_READ,
	     (struct ibv_sge){ .addr = iova, .length = 8, .lkey = moved->lkey },
	     kit_sge(k, 1, 64, 8).addr, k->mr->rkey);
	move(k, p.qp[0], IBV_WR_RDMA_READ,
	     (struct ibv_sge){ .addr = 8, .length = 8, .lkey = zero->lkey },
	     kit_sge(k, 1, 64, 8).addr, k->mr->rkey);
	assert_int_equal(ibv_dereg_mr(zero), 0);
	assert_int_equal(ibv_dereg_mr(moved), 0);
	val_destroy_pair(&p);
}

/* A region is changed in each way between its requests: place, rights and domain. */
static void change_all(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx), *own = k->pd;
	struct val_pair p = val_pair(k), q;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, 0);
	struct ibv_sge sge = { .length = 64 };

	assert_non_null(pd);
	assert_non_null(mr);
	k->pd = pd;
	q = val_pair(k);
	k->pd = own;
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      (int)all_access),
			 0);
	sge.addr = (uintptr_t)k->buf;
	sge.lkey = mr->lkey;
	move(k, p.qp[0], IBV_WR_RDMA_READ, sge, kit_sge(k, 1, 0, 64).addr, k->mr->rkey);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      k->buf + KIT_HALF, LEN, 0),
			 0);
	move(k, p.qp[0], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, 64),
	     kit_sge(k, 1, LEN - 64, 64).addr, mr->rkey);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION,
			     pd, k->buf, LEN, 0),
		0);
	sge.lkey = mr->lkey;
	move(k, q.qp[0], IBV_WR_RDMA_WRITE, sge, kit_sge(k, 0, 512, 64).addr, mr->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
	val_destroy_pair(&q);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static const struct val_case cases[] = {
	{ "memory/sge-outside-mr", NULL, use_device_memory, false },
	{ "memory/sge-outside-mr", NULL, use_null_mr, false },
	{ "life/memory-unmapped", NULL, use_on_demand, false },
	{ "memory/remote-outside-mr", NULL, use_other_addresses, false },
	{ "memory/lkey-of-other-pd", NULL, change_all, false },
};
const struct val_cases legal_memory_cases = VAL_CASES(cases);
