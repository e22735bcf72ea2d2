/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* xrc.c - right programs with XRC: receives of several SRQs behind one target QP, handles
 * on it that come and go, and domains of a file.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/validate/cases/cases.h"

enum {
	FEW = 8,
};

/* Both ends in one process: two SRQs in one domain, and a QP of each sort. */
struct xrc {
	struct kit *k;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq; /* of the SRQs */
	struct ibv_srq *srq[2];
	uint32_t srqn[2];
	struct ibv_qp *ini, *tgt;
};

static struct ibv_xrcd *open_domain(struct kit *k, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(k->ctx, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

static struct ibv_srq *new_srq(const struct xrc *x)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 2 * FEW, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = x->k->pd,
		.xrcd = x->xrcd,
		.cq = x->cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(x->k->ctx, &attr);

	assert_non_null(srq);
	return srq;
}

static struct ibv_qp *new_target(const struct xrc *x)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = x->xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(x->k->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *open_target(const struct xrc *x, struct ibv_xrcd *xrcd,
				  uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = ibv_open_qp(x->k->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *new_initiator(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.cap = { .max_send_wr = KIT_WR, .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = k->pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static struct xrc new_ends(struct kit *k, int fd)
{
	struct xrc x = { .k = k, .xrcd = open_domain(k, fd) };

	x.cq = ibv_create_cq(k->ctx, 4 * FEW, NULL, k->channel, 0);
	assert_non_null(x.cq);
	for (unsigned i = 0; i < 2; i++) {
		x.srq[i] = new_srq(&x);
		assert_int_equal(ibv_get_srq_num(x.srq[i], &x.srqn[i]), 0);
	}
	x.tgt = new_target(&x);
	x.ini = new_initiator(k);
	kit_to_init(x.ini);
	return x;
}

static struct xrc connected(struct kit *k)
{
	struct xrc x = new_ends(k, -1);

	kit_to_init(x.tgt);
	kit_to_rts(k, x.ini, x.tgt->qp_num);
	kit_to_rts(k, x.tgt, x.ini->qp_num);
	return x;
}

static void destroy(struct xrc *x)
{
	assert_int_equal(ibv_destroy_qp(x->ini), 0);
	if (x->tgt)
		assert_int_equal(ibv_destroy_qp(x->tgt), 0);
	for (unsigned i = 0; i < 2; i++)
		if (x->srq[i])
			assert_int_equal(ibv_destroy_srq(x->srq[i]), 0);
	assert_int_equal(ibv_destroy_cq(x->cq), 0);
	assert_int_equal(ibv_close_xrcd(x->xrcd), 0);
}

static void post_receive(const struct xrc *x, unsigned srq, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = srq, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_srq_recv(x->srq[srq], &wr, &bad), 0);
}

static void post(const struct xrc *x, enum ibv_wr_opcode opcode, unsigned flags,
		 unsigned srq)
{
	struct ibv_sge sge = kit_sge(x->k, 0, 0, 8);

	kit_post_send(x->ini,
		      &(struct ibv_send_wr){
			      .opcode = opcode,
			      .send_flags = flags,
			      .sg_list = &sge,
			      .num_sge = 1,
			      .wr.rdma = { .remote_addr = kit_sge(x->k, 1, 512, 8).addr,
					   .rkey = x->k->mr->rkey },
			      .qp_type.xrc.remote_srqn = x->srqn[srq] });
}

static void expect(struct ibv_cq *cq, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(kit_wait(cq).status, IBV_WC_SUCCESS);
}

/* Each message says which SRQ it is for: the target QP has no receive of its own. One of
 * the SRQs is destroyed while messages go to the other one.
 */
static void send_to_two(struct kit *k)
{
	struct xrc x = connected(k);

	for (unsigned i = 0; i < 2 * FEW; i++) {
		post_receive(&x, i % 2, k->mr);
		post(&x, IBV_WR_SEND, IBV_SEND_SIGNALED, i % 2);
		expect(x.cq, 1);
		expect(k->cq, 1);
	}
	assert_int_equal(ibv_destroy_srq(x.srq[0]), 0);
	x.srq[0] = NULL;
	for (unsigned i = 0; i < FEW; i++) {
		post_receive(&x, 1, k->mr);
		post(&x, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1);
		expect(x.cq, 1);
	}
	destroy(&x);
}

/* The memory of receives may go when their completions were polled, and that of others
 * behind the last QP of the domain.
 */
static void reclaim_receives(struct kit *k)
{
	struct xrc x = connected(k);
	struct ibv_mr *mr[2];

	for (unsigned i = 0; i < 2; i++) {
		mr[i] = ibv_reg_mr(k->pd, k->buf + KIT_HALF, 64, IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mr[i]);
	}
	/* The second is for nobody. */
	post_receive(&x, 0, mr[0]);
	post_receive(&x, 0, mr[1]);
	post(&x, IBV_WR_SEND, IBV_SEND_SIGNALED, 0);
	expect(x.cq, 1);
	expect(k->cq, 1);
	assert_int_equal(ibv_dereg_mr(mr[0]), 0);
	assert_int_equal(ibv_destroy_qp(x.tgt), 0);
	x.tgt = NULL;
	assert_int_equal(ibv_dereg_mr(mr[1]), 0);
	destroy(&x);
}

/* Another opener has finished the connection, with other rights, and has left. */
static void connect_by_other(struct kit *k)
{
	struct xrc x = new_ends(k, -1);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *other;

	assert_int_equal(ibv_modify_qp(x.tgt, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	kit_to_rtr(k, x.tgt, x.ini->qp_num);
	other = open_target(&x, x.xrcd, x.tgt->qp_num);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = 0xfffffe,
				     .timeout = 14,
				     .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	assert_int_equal(ibv_modify_qp(other, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(ibv_destroy_qp(other), 0);
	kit_to_rts(k, x.ini, x.tgt->qp_num);
	post(&x, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0);
	expect(k->cq, 1);
	destroy(&x);
}

/* The handle that made the target QP goes, and another one in a domain of the same file
 * keeps it.
 */
static void keep_by_other(struct kit *k)
{
	int fd = memfd_create("xrc", MFD_CLOEXEC);
	struct ibv_xrcd *again;
	struct ibv_qp *other;
	struct xrc x;

	assert_true(fd >= 0);
	x = new_ends(k, fd);
	again = open_domain(k, fd);
	kit_to_init(x.tgt);
	kit_to_rts(k, x.ini, x.tgt->qp_num);
	kit_to_rts(k, x.tgt, x.ini->qp_num);
	other = open_target(&x, again, x.tgt->qp_num);
	assert_int_equal(ibv_destroy_qp(x.tgt), 0);
	x.tgt = NULL;
	for (unsigned i = 0; i < FEW; i++) {
		post_receive(&x, i % 2, k->mr);
		post(&x, IBV_WR_SEND, IBV_SEND_SIGNALED, i % 2);
		expect(x.cq, 1);
		expect(k->cq, 1);
	}
	/* The first opener may come back. */
	x.tgt = open_target(&x, x.xrcd, other->qp_num);
	assert_int_equal(ibv_destroy_qp(other), 0);
	assert_int_equal(ibv_close_xrcd(again), 0);
	post(&x, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0);
	expect(k->cq, 1);
	kit_to_state(x.tgt, IBV_QPS_ERR);
	kit_to_state(x.tgt, IBV_QPS_RESET);
	destroy(&x);
	close(fd);
}

/* Silent messages have arrived, and the sender is destroyed. */
static void end_silently(struct kit *k)
{
	struct xrc x = connected(k);

	for (unsigned i = 0; i < FEW; i++) {
		post_receive(&x, 0, k->mr);
		post(&x, IBV_WR_SEND, 0, 0);
		expect(x.cq, 1);
	}
	destroy(&x);
}

/* The limit of an SRQ of XRC tells as that of others does. */
static void refill_at_limit(struct kit *k)
{
	struct xrc x = connected(k);
	struct ibv_srq_attr limit = { .srq_limit = 2 };

	for (unsigned i = 0; i < FEW; i++)
		post_receive(&x, 0, k->mr);
	assert_int_equal(ibv_modify_srq(x.srq[0], &limit, IBV_SRQ_LIMIT), 0);
	for (unsigned round = 0; round < 2; round++) {
		struct ibv_async_event event;

		for (unsigned i = 0; i < FEW - 1; i++) {
			post(&x, IBV_WR_SEND, IBV_SEND_SIGNALED, 0);
			expect(x.cq, 1);
			expect(k->cq, 1);
		}
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		ibv_ack_async_event(&event);
		for (unsigned i = 0; i < FEW - 1; i++)
			post_receive(&x, 0, k->mr);
		assert_int_equal(ibv_modify_srq(x.srq[0], &limit, IBV_SRQ_LIMIT), 0);
	}
	destroy(&x);
}

/* ----------------------------------------------------------------- just too far */
/* The memory of a receive goes while a QP of the domain may still fill it. */
static void deregister_posted(struct kit *k)
{
	struct xrc x = connected(k);
	struct ibv_mr *mr =
		ibv_reg_mr(k->pd, k->buf + KIT_HALF, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	post_receive(&x, 0, mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	destroy(&x);
}

/* Nobody gives a new handle the memory of the domain that it is of. */
static void close_domain_in_use(struct kit *k)
{
	struct xrc x = connected(k);

	assert_int_equal(ibv_close_xrcd(x.xrcd), EBUSY);
	destroy(&x);
}

static const struct val_case cases[] = {
	{ "queues/receives-exhausted", NULL, send_to_two, false },
	{ "life/dereg-in-use", deregister_posted, reclaim_receives, false },
	{ "state/access-missing", NULL, connect_by_other, false },
	{ "life/destroy-order", close_domain_in_use, keep_by_other, false },
	{ "state/rnr-for-ever", NULL, end_silently, false },
	{ "queues/srq-limit-spent", NULL, refill_at_limit, false },
};
const struct val_cases legal_xrc_cases = VAL_CASES(cases);
