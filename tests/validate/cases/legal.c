/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* legal.c - programs near the edge of a rule that are right, and in which the layer finds
 * neither the rule nor anything of severity error.
 */
#include <poll.h>

#include "cases.h"

enum {
	FEW = 8
};

/* ------------------------------------------------------------- the end of connections */
/* Receives that were flushed and not polled use no memory. */
static void deregister_behind_error(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = kit_sge(k, 0, 0, 64);

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	kit_post_recv(k, p.qp[0], 1, sge);
	kit_to_state(p.qp[0], IBV_QPS_ERR);
	/* It is flushed, too. */
	kit_post_recv(k, p.qp[0], 2, sge);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_WR_FLUSH_ERR);
	val_destroy_pair(&p);
}

/* A QP is used again behind a reset, with the memory of its first connection gone. */
static void connect_again(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = kit_sge(k, 0, 0, 64);

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	for (unsigned i = 0; i < 2; i++) {
		kit_post_recv(k, p.qp[i], 1, sge);
		kit_to_state(p.qp[i], IBV_QPS_RESET);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	for (unsigned i = 0; i < 2; i++) {
		kit_to_init(p.qp[i]);
		kit_post_recv(k, p.qp[i], 1, kit_sge(k, 1, 0, 64));
	}
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, p.qp[i], p.qp[!i]->qp_num);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
}

/* The receives of an SRQ are nobody's when its QPs are gone. */
static void deregister_behind_qps_of_srq(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = FEW, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &attr);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = kit_sge(k, 0, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct val_pair p;

	assert_non_null(srq);
	assert_non_null(mr);
	sge.lkey = mr->lkey;
	p = val_pair_of_srq(k, srq, 1);
	for (unsigned i = 0; i < FEW; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ------------------------------------------------------------------------- requests */
/* Inline data are taken with the post: neither key nor memory is looked at again. */
static void send_inline_without_key(struct kit *k)
{
	struct ibv_qp *qp[2];
	uint64_t data = 7;
	struct ibv_sge sge = { .addr = (uintptr_t)&data, .length = 8, .lkey = 0xdead };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };

	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	kit_post_send(qp[0], &wr);
	data = 8;
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	kit_destroy_pair(qp);
}

/* Messages without data, with an entry of no length and without one. */
static void send_nothing(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = { .addr = 1, .length = 0, .lkey = 0xdead };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad, recv = { .wr_id = 1 };

	for (unsigned i = 0; i < 2; i++) {
		wr.num_sge = (int)i;
		assert_int_equal(ibv_post_recv(p.qp[1], &recv, &bad), 0);
		kit_post_send(p.qp[0], &wr);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	val_destroy_pair(&p);
}

/* The completion of the newest request tells of all before, whatever their names. */
static void reclaim_by_last(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	for (unsigned i = 0; i < 4 * KIT_WR; i++) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i % KIT_WR == KIT_WR - 1 ? IBV_SEND_SIGNALED : 0,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
				     .rkey = k->mr->rkey }
		};

		kit_post_send(p.qp[0], &wr);
		if (wr.send_flags)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

/* What a READ has brought may be sent without a fence once its completion was polled, or
 * that of a request behind it.
 */
static void send_what_was_read(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
					       .rkey = k->mr->rkey } };

	kit_post_send(p.qp[0], &wr);
	sge = kit_sge(k, 0, 64, 8);
	wr.send_flags = IBV_SEND_SIGNALED;
	kit_post_send(p.qp[0], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	sge = kit_sge(k, 0, 0, 8);
	wr.opcode = IBV_WR_RDMA_WRITE;
	kit_post_send(p.qp[0], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
}

/* --------------------------------------------------------------------------- events */
static void take_event(struct kit *k)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

/* The CQ is armed twice: what came between has given its event to the first time. */
static void arm_twice(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct pollfd fd = { .fd = k->channel->fd, .events = POLLIN };

	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	take_event(k);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
}

/* ------------------------------------------------------------------------- the others */
/* A parent domain is a handle on its PD, and on a thread domain. */
static void mix_domain_and_its_pd(struct kit *k)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(k->ctx, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = k->pd, .td = td };
	struct ibv_pd *domain = ibv_alloc_parent_domain(k->ctx, &attr), *own = k->pd;
	struct val_pair p;

	assert_non_null(td);
	assert_non_null(domain);
	k->pd = domain;
	p = val_pair(k);
	k->pd = own;
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
	for (unsigned i = 0; i < FEW; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

/* A CQ is made larger while requests complete there. */
static void resize_in_use(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, FEW, NULL, NULL, 0);
	struct ibv_cq *const cqs[2] = { cq, k->cq };
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct val_pair p;

	assert_non_null(cq);
	p = val_pair_of(k, end, cqs);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
	assert_int_equal(ibv_resize_cq(cq, 2 * FEW), 0);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
	for (unsigned i = 0; i < 2 * FEW; i++)
		assert_int_equal(kit_wait(cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A window of type 1 is bound, used, and bound again elsewhere. */
static void use_window(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf + KIT_HALF, KIT_HALF,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);

	assert_non_null(mr);
	assert_non_null(mw);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_mw_bind bind = {
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = { .mr = mr,
				       .addr = kit_sge(k, 1, i * 64, 64).addr,
				       .length = 64,
				       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE }
		};
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
					  .send_flags = IBV_SEND_SIGNALED,
					  .sg_list = &sge,
					  .num_sge = 1 };

		assert_int_equal(ibv_bind_mw(p.qp[1], mw, &bind), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		wr.wr.rdma.remote_addr = bind.bind_info.addr;
		wr.wr.rdma.rkey = mw->rkey;
		kit_post_send(p.qp[0], &wr);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

/* An address handle may go when the completion of its datagram was polled. */
static void destroy_used_handle(struct kit *k)
{
	struct ibv_ah_attr address = kit_address(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_UD, qp);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_ah *ah = ibv_create_ah(k->pd, &address);
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .wr.ud = { .ah = ah,
						     .remote_qpn = qp[1]->qp_num,
						     .remote_qkey = KIT_QKEY } };

		assert_non_null(ah);
		kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
		kit_post_send(qp[0], &wr);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	kit_destroy_pair(qp);
}

/* A region is changed between its requests, and its key perhaps with it. */
static void change_region(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);

	assert_non_null(mr);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
					  .send_flags = IBV_SEND_SIGNALED,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .wr.rdma = { .remote_addr =
							       kit_sge(k, 1, 0, 8).addr,
						       .rkey = k->mr->rkey } };

		sge.lkey = mr->lkey;
		kit_post_send(p.qp[0], &wr);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, k->pd,
					      k->buf, 128, 0),
				 0);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

static const struct val_case cases[] = {
	{ "life/dereg-in-use", NULL, deregister_behind_error, false },
	{ "life/dereg-in-use", NULL, connect_again, false },
	{ "life/dereg-in-use", NULL, deregister_behind_qps_of_srq, false },
	{ "life/dereg-in-use", NULL, reclaim_by_last, false },
	{ "life/rereg-in-use", NULL, change_region, false },
	{ "life/ah-in-use", NULL, destroy_used_handle, false },
	{ "life/foreign-pd", NULL, mix_domain_and_its_pd, false },
	{ "memory/wrong-lkey", NULL, send_inline_without_key, false },
	{ "memory/wrong-lkey", NULL, send_nothing, false },
	{ "memory/read-not-fenced", NULL, send_what_was_read, false },
	{ "memory/rkey-unknown", NULL, use_window, false },
	{ "queues/nothing-signaled", NULL, reclaim_by_last, false },
	{ "queues/lost-wakeup", NULL, arm_twice, false },
	{ "queues/cq-too-small", NULL, resize_in_use, false },
};
const struct val_cases legal_cases = VAL_CASES(cases);
