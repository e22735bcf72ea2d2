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

static void receive_at_old_lkey(struct kit *k)
{
	struct ibv_sge sge = kit_sge(k, 1, 0, 16);
	struct ibv_mr *mr =
		ibv_reg_mr(k->pd, k->buf, KIT_BUF_LEN, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	receive_to(k, sge);
}

/* Posts a receive to memory that is registered in this PD with these rights. */
static void receive_in(struct kit *k, struct ibv_pd *pd, unsigned access)
{
	struct ibv_sge sge = kit_sge(k, 1, 0, 16);
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf, KIT_BUF_LEN, access);

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	receive_to(k, sge);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void receive_in_other_pd(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);

	assert_non_null(pd);
	receive_in(k, pd, IBV_ACCESS_LOCAL_WRITE);
}

static void receive_read_only(struct kit *k)
{
	receive_in(k, k->pd, 0);
}

static void receive_in_own_pd(struct kit *k)
{
	receive_in(k, k->pd, IBV_ACCESS_LOCAL_WRITE);
}

/* What is only read needs no right. */
static void write_from_read_only(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, 0);
	struct ibv_sge sge = kit_sge(k, 0, 0, 16);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 16).addr,
					       .rkey = k->mr->rkey } };

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	kit_post_send(p.qp[0], &wr);
	(void)kit_wait(k->cq);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void register_remote_alone(struct kit *k)
{
	(void)ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_REMOTE_WRITE);
}

/* Registers half of the buffer, and the same half or the other one. */
static void register_two(struct kit *k, uint32_t second)
{
	struct ibv_mr *a = ibv_reg_mr(k->pd, k->buf, KIT_HALF, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *b =
		ibv_reg_mr(k->pd, k->buf + second, KIT_HALF, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(ibv_dereg_mr(a), 0);
	assert_int_equal(ibv_dereg_mr(b), 0);
}

static void register_same(struct kit *k)
{
	register_two(k, 0);
}

static void register_other(struct kit *k)
{
	register_two(k, KIT_HALF);
}

/* Posts a request of this length, if it is taken, and waits for its completion. */
static void post_op(struct kit *k, enum ibv_wr_opcode opcode, unsigned flags,
		    uint32_t len, uint64_t remote, uint32_t rkey)
{
	struct ibv_qp *qp[2];
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr *bad, wr = { .opcode = opcode,
					.send_flags = flags | IBV_SEND_SIGNALED,
					.sg_list = &sge,
					.num_sge = 1 };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	kit_pair(k, IBV_QPT_RC, qp);
	if (!ibv_post_send(qp[0], &wr, &bad))
		(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
}

/* Writes 16 bytes to memory that is registered in this PD with these rights. */
static void write_in(struct kit *k, struct ibv_pd *pd, unsigned access, uint32_t offset)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf + KIT_HALF, 64, access);

	assert_non_null(mr);
	post_op(k, IBV_WR_RDMA_WRITE, 0, 16, kit_sge(k, 1, offset, 16).addr, mr->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void write_at_unknown_rkey(struct kit *k)
{
	post_op(k, IBV_WR_RDMA_WRITE, 0, 16, kit_sge(k, 1, 0, 16).addr,
		k->mr->rkey ^ 0x5a5a00);
}

static void write_in_other_pd(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);

	assert_non_null(pd);
	write_in(k, pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0);
}

static void write_beyond_mr(struct kit *k)
{
	write_in(k, k->pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 56);
}

static void write_without_right(struct kit *k)
{
	write_in(k, k->pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 0);
}

static void write_with_right(struct kit *k)
{
	write_in(k, k->pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 48);
}

static void fetch_add_to_4_bytes(struct kit *k)
{
	post_op(k, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4, kit_sge(k, 1, 0, 8).addr,
		k->mr->rkey);
}

static void read_inline(struct kit *k)
{
	post_op(k, IBV_WR_RDMA_READ, IBV_SEND_INLINE, 8, kit_sge(k, 1, 0, 8).addr,
		k->mr->rkey);
}

static void write_3_gib(struct kit *k)
{
	post_op(k, IBV_WR_RDMA_WRITE, 0, 3U << 30, kit_sge(k, 1, 0, 8).addr, k->mr->rkey);
}

/* READs to a buffer, and sends it on. */
static void read_and_write(struct kit *k, unsigned flags)
{
	struct ibv_qp *qp[2];
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = flags | IBV_SEND_SIGNALED,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .wr.rdma = { .remote_addr =
							  kit_sge(k, 1, 64, 8).addr,
						  .rkey = k->mr->rkey } };
	struct ibv_send_wr read = write;

	read.opcode = IBV_WR_RDMA_READ;
	read.send_flags = 0;
	read.wr.rdma.remote_addr = kit_sge(k, 1, 0, 8).addr;
	read.next = &write;
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &read);
	(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
}

static void send_on_at_once(struct kit *k)
{
	read_and_write(k, 0);
}

static void send_on_fenced(struct kit *k)
{
	read_and_write(k, IBV_SEND_FENCE);
}

/* Binds a window to 64 bytes of an MR of KIT_HALF bytes. */
static void bind_at(struct kit *k, unsigned access, uint32_t offset)
{
	struct ibv_qp *qp[2];
	struct ibv_mr *mr =
		ibv_reg_mr(k->pd, k->buf, KIT_HALF, IBV_ACCESS_LOCAL_WRITE | access);
	struct ibv_mw *mw = ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = mr,
						   .addr = (uintptr_t)k->buf + offset,
						   .length = 64,
						   .mw_access_flags =
							   IBV_ACCESS_REMOTE_READ } };

	assert_non_null(mr);
	assert_non_null(mw);
	kit_pair(k, IBV_QPT_RC, qp);
	if (!ibv_bind_mw(qp[0], mw, &bind))
		(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void bind_without_right(struct kit *k)
{
	bind_at(k, 0, 0);
}

static void bind_beyond_mr(struct kit *k)
{
	bind_at(k, IBV_ACCESS_MW_BIND, KIT_HALF - 32);
}

static void bind_with_right(struct kit *k)
{
	bind_at(k, IBV_ACCESS_MW_BIND, KIT_HALF - 64);
}

/* WRITEs from each of two QPs to side 1: 16 bytes to @first, and @len to @second. */
static void write_twice(struct kit *k, uint32_t first, uint32_t second, uint32_t len,
			bool is_waiting)
{
	const uint32_t offset[2] = { first, second }, length[2] = { 16, len };
	struct val_pair p[2];

	for (unsigned i = 0; i < 2; i++)
		p[i] = val_pair(k);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_sge sge = kit_sge(k, 0, 0, length[i]);
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = kit_sge(k, 1, offset[i], 16).addr,
				     .rkey = k->mr->rkey }
		};

		kit_post_send(p[i].qp[0], &wr);
		if (is_waiting)
			(void)kit_wait(k->cq);
	}
	for (unsigned i = 0; i < 2 && !is_waiting; i++)
		(void)kit_wait(k->cq);
	for (unsigned i = 0; i < 2; i++)
		val_destroy_pair(&p[i]);
}

static void write_over(struct kit *k)
{
	write_twice(k, 0, 8, 16, false);
}

/* Apart from each other in place, without bytes, and apart in time. */
static void write_apart(struct kit *k)
{
	write_twice(k, 0, 16, 16, false);
	write_twice(k, 16, 0, 16, false);
	write_twice(k, 0, 8, 0, false);
	write_twice(k, 0, 8, 16, true);
}

static const struct val_case cases[] = {
	{ "memory/sge-outside-mr", receive_beyond_mr, receive_up_to_end, false },
	{ "memory/wrong-lkey", receive_at_unknown_lkey, receive_up_to_end, false },
	{ "memory/inline-too-long", send_too_much_inline, send_little_inline, false },
	{ "memory/atomic-misaligned", fetch_add_at_4, fetch_add_at_8, false },
	{ "memory/lkey-deregistered", receive_at_old_lkey, receive_in_own_pd, false },
	{ "memory/lkey-of-other-pd", receive_in_other_pd, receive_in_own_pd, false },
	{ "memory/local-write-missing", receive_read_only, write_from_read_only, false },
	{ "memory/remote-without-local", register_remote_alone, write_with_right, false },
	{ "memory/rkey-unknown", write_at_unknown_rkey, write_with_right, false },
	{ "memory/rkey-of-other-pd", write_in_other_pd, write_with_right, false },
	{ "memory/remote-outside-mr", write_beyond_mr, write_with_right, false },
	{ "memory/remote-right-missing", write_without_right, write_with_right, false },
	{ "memory/atomic-short", fetch_add_to_4_bytes, fetch_add_at_8, false },
	{ "memory/inline-opcode", read_inline, send_little_inline, false },
	{ "memory/message-too-long", write_3_gib, write_with_right, false },
	{ "memory/read-not-fenced", send_on_at_once, send_on_fenced, false },
	{ "memory/bind-without-right", bind_without_right, bind_with_right, false },
	{ "memory/bind-outside-mr", bind_beyond_mr, bind_with_right, false },
	{ "memory/mr-twice", register_same, register_other, false },
	{ "memory/writes-overlap", write_over, write_apart, false },
};
const struct val_cases memory_cases = VAL_CASES(cases);
