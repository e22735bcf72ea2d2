/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* windows.c - memory windows of both types: right programs at the edge of what binding,
 * invalidating and giving back allow, and wrong ones just behind it.
 */
#include "tests/validate/cases/cases.h"

enum {
	LEN = 4096,
	FEW = 8,
	BIND_WR = 1000,
};

static const unsigned both = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

static struct ibv_mr *bindable(struct kit *k, uint32_t offset)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf + KIT_HALF + offset, LEN,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	assert_non_null(mr);
	return mr;
}

static struct ibv_mw *new_window(struct kit *k, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(k->pd, type);

	assert_non_null(mw);
	return mw;
}

static struct ibv_mw_bind_info info_of(struct ibv_mr *mr, uint32_t offset, uint64_t len)
{
	return (struct ibv_mw_bind_info){ .mr = mr,
					  .addr = (uintptr_t)mr->addr + offset,
					  .length = len,
					  .mw_access_flags = both };
}

/* Binds a window of type 1 to @len bytes; 0: to none. */
static void bind_1(struct ibv_qp *qp, struct ibv_mw *mw, unsigned flags,
		   struct ibv_mr *mr, uint32_t offset, uint64_t len)
{
	struct ibv_mw_bind bind = { .wr_id = BIND_WR, .send_flags = flags };

	if (len)
		bind.bind_info = info_of(mr, offset, len);
	assert_int_equal(ibv_bind_mw(qp, mw, &bind), 0);
}

static struct ibv_send_wr bind_wr(struct ibv_mw *mw, uint32_t key, struct ibv_mr *mr,
				  uint32_t offset, uint64_t len)
{
	return (struct ibv_send_wr){ .wr_id = BIND_WR,
				     .opcode = IBV_WR_BIND_MW,
				     .send_flags = IBV_SEND_SIGNALED,
				     .bind_mw = { .mw = mw,
						  .rkey = key,
						  .bind_info =
							  info_of(mr, offset, len) } };
}

static void bind_2(struct kit *k, struct ibv_qp *qp, struct ibv_mw *mw, uint32_t key,
		   struct ibv_mr *mr, uint32_t offset, uint64_t len)
{
	struct ibv_send_wr wr = bind_wr(mw, key, mr, offset, len);

	kit_post_send(qp, &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
}

static void invalidate(struct kit *k, struct ibv_qp *qp, uint32_t key)
{
	kit_post_send(qp, &(struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
						 .send_flags = IBV_SEND_SIGNALED,
						 .invalidate_rkey = key });
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
}

/* Returns how an operation on 8 bytes ends. */
static enum ibv_wc_status touch(struct kit *k, struct ibv_qp *qp,
				enum ibv_wr_opcode opcode, uint64_t addr, uint32_t key)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);

	kit_post_send(qp, &(struct ibv_send_wr){
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { .remote_addr = addr, .rkey = key } });
	return kit_wait(k->cq).status;
}

static void write_to(struct kit *k, struct ibv_qp *qp, uint64_t addr, uint32_t key)
{
	assert_int_equal(touch(k, qp, IBV_WR_RDMA_WRITE, addr, key), IBV_WC_SUCCESS);
}

/* --------------------------------------------------------- a bind is a request, too */
/* An MR of which only the bytes that are sent are used. */
static struct ibv_mr *new_source(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, 0);

	assert_non_null(mr);
	return mr;
}

/* Its completion tells of all requests before it. */
static void reclaim_by_bind(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mr *source = new_source(k);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_1);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 8,
			       .lkey = source->lkey };

	for (unsigned i = 0; i < 3 * KIT_WR; i++) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = kit_sge(k, 1, 2 * LEN, 8).addr,
				     .rkey = k->mr->rkey }
		};

		if (i % KIT_WR != KIT_WR - 1) {
			kit_post_send(p.qp[0], &wr);
			continue;
		}
		bind_1(p.qp[0], mw, IBV_SEND_SIGNALED, mr, 0, 64);
		assert_int_equal(kit_wait(k->cq).wr_id, BIND_WR);
	}
	assert_int_equal(ibv_dereg_mr(source), 0);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Its name may be that of the next request, and it may be silent. */
static void bind_in_silence(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mr *source = new_source(k);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_1);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 8,
			       .lkey = source->lkey };

	for (unsigned i = 0; i < 2; i++) {
		bind_1(p.qp[1], mw, i ? IBV_SEND_SIGNALED : 0, mr, 64 * i, 64);
		kit_post_send(p.qp[1],
			      &(struct ibv_send_wr){
				      .wr_id = BIND_WR,
				      .opcode = IBV_WR_RDMA_WRITE,
				      .send_flags = IBV_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .wr.rdma = { .remote_addr =
							   kit_sge(k, 1, 2 * LEN, 8).addr,
						   .rkey = k->mr->rkey } });
		for (unsigned n = 0; n <= i; n++)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		write_to(k, p.qp[0], (uintptr_t)mr->addr + 64UL * i, mw->rkey);
	}
	assert_int_equal(ibv_dereg_mr(source), 0);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* ------------------------------------------------------------------------- type 1 */
/* It moves from region to region, and the first one may go then; the QP that has bound it
 * may go, too.
 */
static void move_window(struct kit *k)
{
	struct ibv_mr *mr[2] = { bindable(k, 0), bindable(k, LEN) };
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_1);
	struct val_pair p = val_pair(k), q = val_pair(k);

	bind_1(p.qp[1], mw, IBV_SEND_SIGNALED, mr[0], 0, LEN);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	write_to(k, p.qp[0], (uintptr_t)mr[0]->addr, mw->rkey);
	bind_1(p.qp[1], mw, IBV_SEND_SIGNALED, mr[1], LEN - 8, 8);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr[0]), 0);
	val_destroy_pair(&p);
	write_to(k, q.qp[0], (uintptr_t)mr[1]->addr + LEN - 8, mw->rkey);
	/* Bound to nothing. */
	bind_1(q.qp[1], mw, IBV_SEND_SIGNALED, NULL, 0, 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr[1]), 0);
	val_destroy_pair(&q);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* ------------------------------------------------------------------------- type 2 */
/* Each bind has a new tag; in between the window is invalidated by this end, and by the
 * other one. At last it is given back as it is bound.
 */
static void bind_with_tags(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	uint32_t key = mw->rkey;

	for (unsigned i = 0; i < 3; i++) {
		key = ibv_inc_rkey(key);
		bind_2(k, p.qp[1], mw, key, mr, 64 * i, 64);
		write_to(k, p.qp[0], (uintptr_t)mr->addr + 64UL * i, key);
		assert_int_equal(touch(k, p.qp[0], IBV_WR_RDMA_READ,
				       (uintptr_t)mr->addr + 64UL * i + 56, key),
				 IBV_WC_SUCCESS);
		if (i == 0)
			invalidate(k, p.qp[1], key);
		if (i != 1)
			continue;
		kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 2 * LEN, 8));
		kit_post_send(p.qp[0],
			      &(struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_INV,
						     .send_flags = IBV_SEND_SIGNALED,
						     .invalidate_rkey = key,
						     .sg_list = &sge,
						     .num_sge = 1 });
		for (unsigned n = 0; n < 2; n++)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

/* One list takes the window back, binds it anew and tells the peer of it. */
static void rebind_in_list(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 1, 2 * LEN, 8);
	uint32_t first = ibv_inc_rkey(mw->rkey), second = ibv_inc_rkey(first);
	struct ibv_send_wr wr[3] = {
		{ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = first },
		bind_wr(mw, second, mr, 64, 64),
		{ .opcode = IBV_WR_SEND,
		  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		  .sg_list = &sge,
		  .num_sge = 1 },
	};

	bind_2(k, p.qp[1], mw, first, mr, 0, 64);
	write_to(k, p.qp[0], (uintptr_t)mr->addr, first);
	wr[1].send_flags = 0;
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	kit_post_recv(k, p.qp[0], 1, kit_sge(k, 0, 64, 8));
	kit_post_send(p.qp[1], wr);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	write_to(k, p.qp[0], (uintptr_t)mr->addr + 64, second);
	invalidate(k, p.qp[1], second);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	val_destroy_pair(&p);
}

/* The same by the extended way to post. */
static void rebind_extended(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = FEW, .max_recv_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr),
		      *peer = val_create_qp(k, k->cq, FEW, FEW);
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = info_of(mr, 0, LEN);
	struct val_end end = val_end(k);
	struct ibv_qp_ex *ex;
	uint32_t key = mw->rkey;

	assert_non_null(qp);
	val_connect(k, qp, peer->qp_num, &end);
	val_connect(k, peer, qp->qp_num, &end);
	ex = ibv_qp_to_qp_ex(qp);
	for (unsigned i = 0; i < 3; i++) {
		ibv_wr_start(ex);
		ex->wr_flags = 0;
		if (i)
			ibv_wr_local_inv(ex, key);
		key = ibv_inc_rkey(key);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_bind_mw(ex, mw, key, &info);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		write_to(k, peer, (uintptr_t)mr->addr, key);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(peer), 0);
}

/* ----------------------------------------------------------------- just too far */
enum fault {
	INVALIDATED,
	REBOUND,
	OUTSIDE,
	NO_RIGHT,
};

/* Uses a window as its owner does not allow any more, or never did. */
static void misuse(struct kit *k, enum fault fault)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct val_pair p = val_pair(k);
	uint32_t key = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr wr = bind_wr(mw, key, mr, 0, 64);

	if (fault == NO_RIGHT)
		wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	kit_post_send(p.qp[1], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	if (fault == INVALIDATED || fault == REBOUND)
		invalidate(k, p.qp[1], key);
	if (fault == REBOUND)
		bind_2(k, p.qp[1], mw, ibv_inc_rkey(key), mr, 0, 64);
	assert_int_equal(touch(k, p.qp[0], IBV_WR_RDMA_WRITE,
			       (uintptr_t)mr->addr + (fault == OUTSIDE ? 60 : 0), key),
			 IBV_WC_REM_ACCESS_ERR);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void use_invalidated(struct kit *k)
{
	misuse(k, INVALIDATED);
}

static void use_rebound(struct kit *k)
{
	misuse(k, REBOUND);
}

static void use_outside(struct kit *k)
{
	misuse(k, OUTSIDE);
}

static void use_without_right(struct kit *k)
{
	misuse(k, NO_RIGHT);
}

/* A window of type 1 has another key behind each bind. */
static void use_first_key(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_1);
	struct val_pair p = val_pair(k);
	uint32_t first;

	bind_1(p.qp[1], mw, IBV_SEND_SIGNALED, mr, 0, 64);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	first = mw->rkey;
	bind_1(p.qp[1], mw, IBV_SEND_SIGNALED, mr, 0, 64);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(touch(k, p.qp[0], IBV_WR_RDMA_WRITE, (uintptr_t)mr->addr, first),
			 IBV_WC_REM_ACCESS_ERR);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void bind_beyond_region(struct kit *k)
{
	struct ibv_mr *mr = bindable(k, 0);
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct val_pair p = val_pair(k);
	struct ibv_send_wr wr = bind_wr(mw, ibv_inc_rkey(mw->rkey), mr, 8, LEN);

	kit_post_send(p.qp[1], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_MW_BIND_ERR);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void bind_plain_region(struct kit *k)
{
	struct ibv_mw *mw = new_window(k, IBV_MW_TYPE_2);
	struct val_pair p = val_pair(k);
	struct ibv_send_wr wr = bind_wr(mw, ibv_inc_rkey(mw->rkey), k->mr, 0, LEN);

	kit_post_send(p.qp[1], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_MW_BIND_ERR);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static const struct val_case cases[] = {
	{ "queues/last-unsignaled", NULL, reclaim_by_bind, false },
	{ "life/dereg-in-use", NULL, bind_in_silence, false },
	{ "life/dereg-bound", NULL, move_window, false },
	{ "memory/rkey-unknown", use_invalidated, bind_with_tags, false },
	{ "memory/rkey-unknown", use_rebound, rebind_in_list, false },
	{ "memory/rkey-unknown", use_first_key, move_window, false },
	{ "memory/remote-outside-mr", use_outside, rebind_extended, false },
	{ "memory/remote-right-missing", use_without_right, bind_with_tags, false },
	{ "memory/bind-outside-mr", bind_beyond_region, rebind_extended, false },
	{ "memory/bind-without-right", bind_plain_region, rebind_in_list, false },
};
const struct val_cases legal_windows_cases = VAL_CASES(cases);
