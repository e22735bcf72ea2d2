/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queues.c - right programs at the edge of what queues, their states and their events
 * allow: queues that are filled, drained, reset and resized, lists of all sorts, and
 * the extended ways to post and to poll.
 */
#include <poll.h>

#include "tests/validate/cases/cases.h"

enum {
	FEW = 8,
	MANY = 100, /* requests: more than a failure may have behind it */
};

static void expect_successes(struct ibv_cq *cq, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(kit_wait(cq).status, IBV_WC_SUCCESS);
}

/* ------------------------------------------------------------------- full queues */
/* The errno of a post says when the queue is full, of a CQ that has just the room. */
static void fill_until_refused(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, KIT_WR, NULL, NULL, 0);
	struct ibv_cq *const cqs[2] = { cq, k->cq };
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct val_pair p;

	assert_non_null(cq);
	p = val_pair_of(k, end, cqs);
	assert_int_equal(ibv_query_qp(p.qp[0], &attr, IBV_QP_CAP, &init), 0);
	assert_int_equal(ibv_resize_cq(cq, (int)init.cap.max_send_wr), 0);
	/* Nothing is received, so that each of them waits. */
	for (unsigned i = 0; i < init.cap.max_send_wr; i++)
		assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), 0);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), ENOMEM);
	for (unsigned i = 0; i < init.cap.max_send_wr; i++) {
		kit_post_recv(k, p.qp[1], i, kit_sge(k, 1, 0, 64));
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(kit_wait(cq).status, IBV_WC_SUCCESS);
	}
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A CQ is made as small as what can complete there. */
static void shrink_to_fit(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 2 * KIT_WR, NULL, NULL, 0);
	struct ibv_cq *const cqs[2] = { cq, k->cq };
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct val_pair p;

	assert_non_null(cq);
	p = val_pair_of(k, end, cqs);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
		assert_int_equal(ibv_resize_cq(cq, i % 2 ? 2 * FEW : FEW), 0);
		expect_successes(cq, FEW);
	}
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ------------------------------------------------------------------- unsignaled */
/* The peer ends as agreed, behind messages of which it alone has told. The next request
 * gets no answer, as those before have had one.
 */
static void outlive_peer(struct kit *k)
{
	struct val_pair p = val_impatient_pair(k);

	for (unsigned i = 0; i < FEW; i++) {
		kit_post_recv(k, p.qp[1], i, kit_sge(k, 1, 0, 64));
		assert_int_equal(val_send(k, p.qp[0], 0, 8), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_destroy_qp(p.qp[1]), 0);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(ibv_destroy_qp(p.qp[0]), 0);
}

/* What the peer answers has told that the unsignaled request was carried out. */
static void end_behind_answer(struct kit *k)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < FEW; i++) {
		kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
		kit_post_recv(k, p.qp[0], 2, kit_sge(k, 1, 64, 64));
		assert_int_equal(val_send(k, p.qp[0], 0, 8), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(val_send(k, p.qp[1], IBV_SEND_SIGNALED, 8), 0);
		expect_successes(k->cq, 2);
	}
	val_destroy_pair(&p);
}

/* ----------------------------------------------------------- ERR, RESET, SQD and back */
/* All requests have completed, some without telling, when the QP is reset. */
static void reset_behind_unsignaled(struct kit *k)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < 2; i++) {
		kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
		assert_int_equal(val_write(k, p.qp[0], 0, FEW), 0);
		assert_int_equal(val_send(k, p.qp[0], 0, 8), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		for (unsigned side = 0; side < 2; side++) {
			kit_to_state(p.qp[side], IBV_QPS_ERR);
			kit_to_state(p.qp[side], IBV_QPS_RESET);
		}
		for (unsigned side = 0; side < 2; side++)
			kit_to_init(p.qp[side]);
		for (unsigned side = 0; side < 2; side++)
			kit_to_rts(k, p.qp[side], p.qp[!side]->qp_num);
	}
	val_destroy_pair(&p);
}

/* A marker of each queue tells that all before it was flushed. */
static void drain_and_reset(struct kit *k)
{
	struct val_pair p = val_pair(k);
	uint64_t seen = 0;

	for (unsigned i = 0; i < FEW; i++)
		kit_post_recv(k, p.qp[0], 1, kit_sge(k, 0, 64, 64));
	assert_int_equal(val_write(k, p.qp[0], 0, FEW), 0);
	kit_to_state(p.qp[0], IBV_QPS_ERR);
	kit_post_recv(k, p.qp[0], 1U << 8, kit_sge(k, 0, 64, 64));
	kit_post_send(p.qp[0], &(struct ibv_send_wr){ .wr_id = 1U << 9,
						      .opcode = IBV_WR_SEND,
						      .send_flags = IBV_SEND_SIGNALED });
	while (seen != (1U << 8 | 1U << 9)) {
		struct ibv_wc wc = kit_wait(k->cq);

		if (wc.wr_id >= 1U << 8)
			seen |= wc.wr_id;
	}
	kit_to_state(p.qp[0], IBV_QPS_RESET);
	kit_to_state(p.qp[1], IBV_QPS_RESET);
	for (unsigned i = 0; i < 2; i++)
		kit_to_init(p.qp[i]);
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, p.qp[i], p.qp[!i]->qp_num);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	val_destroy_pair(&p);
}

/* The send queue is stopped, filled, and goes on. */
static void stop_and_go_on(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_async_event event;

	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
	assert_int_equal(
		ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
		0);
	expect_successes(k->cq, FEW);
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
	kit_to_state(p.qp[0], IBV_QPS_RTS);
	expect_successes(k->cq, FEW);
	val_destroy_pair(&p);
}

/* The receives of an SRQ whose QPs are all in ERR, and have said that they take no more,
 * are nobody's.
 */
static void leave_srq_to_nobody(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = FEW, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &attr);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf, .length = 64 };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct val_pair p;

	assert_non_null(srq);
	assert_non_null(mr);
	sge.lkey = mr->lkey;
	p = val_pair_of_srq(k, srq, 1);
	val_connect_pair(k, &p);
	for (unsigned i = 0; i < FEW; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), 0);
	expect_successes(k->cq, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_async_event event;

		kit_to_state(p.qp[i], IBV_QPS_ERR);
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		ibv_ack_async_event(&event);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* --------------------------------------------------------------------------- events */
/* Who waits for solicited completions alone leaves the others in the CQ meanwhile. */
static void wait_for_solicited(struct kit *k)
{
	struct ibv_cq *armed = ibv_create_cq(k->ctx, FEW, NULL, k->channel, 0), *cq;
	struct ibv_cq *const cqs[2] = { k->cq, armed };
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct val_pair p;
	void *context;

	assert_non_null(armed);
	p = val_pair_of(k, end, cqs);
	for (unsigned i = 0; i < 2; i++)
		kit_post_recv(k, p.qp[1], i, kit_sge(k, 1, 0, 64));
	assert_int_equal(val_send(k, p.qp[0], 0, 8), 0);
	/* A WRITE is ordered behind the message, which is there, too. */
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_req_notify_cq(armed, 1), 0);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SOLICITED, 8), 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	assert_ptr_equal(cq, armed);
	ibv_ack_cq_events(cq, 1);
	expect_successes(armed, 2);
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(armed), 0);
}

static struct ibv_srq *limited_srq(struct kit *k, uint32_t limit)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = FEW, .max_sge = 1 } };
	struct ibv_srq_attr of_limit = { .srq_limit = limit };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &attr);

	assert_non_null(srq);
	assert_int_equal(ibv_modify_srq(srq, &of_limit, IBV_SRQ_LIMIT), 0);
	return srq;
}

/* An SRQ is filled again at each event of its limit, and the limit is set again. */
static void refill_at_limit(struct kit *k)
{
	struct ibv_srq *srq = limited_srq(k, 2);
	struct val_pair p = val_pair_of_srq(k, srq, 2);
	struct ibv_sge sge = kit_sge(k, 1, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_srq_attr again = { .srq_limit = 2 };
	unsigned posted = 0;

	val_connect_pair(k, &p);
	for (; posted < FEW; posted++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	for (unsigned round = 0; round < 3; round++) {
		struct ibv_async_event event;

		for (unsigned i = 0; i < FEW - 1; i++) {
			assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 8), 0);
			expect_successes(k->cq, 2);
		}
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		assert_ptr_equal(event.element.srq, srq);
		for (unsigned i = 0; i < FEW - 1; i++)
			assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		assert_int_equal(ibv_modify_srq(srq, &again, IBV_SRQ_LIMIT), 0);
		ibv_ack_async_event(&event);
	}
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ------------------------------------------------------------------------ lists */
/* A fence holds back all that is posted behind it, too. */
static void send_behind_fence(struct kit *k)
{
	struct val_pair p = val_pair(k);
	struct ibv_sge read = kit_sge(k, 0, 0, 8), other = kit_sge(k, 0, 64, 8);
	struct ibv_send_wr wr[3] = {
		{ .wr_id = 1,
		  .opcode = IBV_WR_RDMA_READ,
		  .sg_list = &read,
		  .num_sge = 1 },
		{ .wr_id = 2,
		  .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_FENCE,
		  .sg_list = &other,
		  .num_sge = 1 },
		{ .wr_id = 3,
		  .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED,
		  .sg_list = &read,
		  .num_sge = 1 },
	};

	for (unsigned i = 0; i < 3; i++) {
		wr[i].wr.rdma.remote_addr = kit_sge(k, 1, 64 * i, 8).addr;
		wr[i].wr.rdma.rkey = k->mr->rkey;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	kit_post_send(p.qp[0], wr);
	assert_int_equal(kit_wait(k->cq).wr_id, 3);
	/* One by one, too. */
	for (unsigned i = 0; i < 3; i++) {
		wr[i].next = NULL;
		kit_post_send(p.qp[0], &wr[i]);
	}
	assert_int_equal(kit_wait(k->cq).wr_id, 3);
	val_destroy_pair(&p);
}

/* Requests of all kinds in one list, of which the last tells. */
static void mix_opcodes(struct kit *k)
{
	struct val_pair p = val_pair(k);
	static const enum ibv_wr_opcode opcode[] = { IBV_WR_RDMA_WRITE,
						     IBV_WR_RDMA_READ,
						     IBV_WR_ATOMIC_FETCH_AND_ADD,
						     IBV_WR_SEND,
						     IBV_WR_RDMA_WRITE_WITH_IMM,
						     IBV_WR_ATOMIC_CMP_AND_SWP,
						     IBV_WR_RDMA_READ,
						     IBV_WR_SEND_WITH_IMM };
	enum {
		COUNT = sizeof(opcode) / sizeof(*opcode)
	};
	struct ibv_send_wr wr[COUNT];
	struct ibv_sge sge[COUNT];

	for (unsigned i = 0; i < 3; i++)
		kit_post_recv(k, p.qp[1], i, kit_sge(k, 1, 4096, 64));
	for (unsigned i = 0; i < COUNT; i++) {
		bool is_atomic = opcode[i] == IBV_WR_ATOMIC_FETCH_AND_ADD ||
				 opcode[i] == IBV_WR_ATOMIC_CMP_AND_SWP;

		sge[i] = kit_sge(k, 0, 64 * i, 8);
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < COUNT ? &wr[i + 1] : NULL,
			.opcode = opcode[i],
			.send_flags =
				i + 1 < COUNT ? 0 : IBV_SEND_SIGNALED | IBV_SEND_FENCE,
			.sg_list = &sge[i],
			.num_sge = 1
		};
		wr[i].wr.rdma.remote_addr = kit_sge(k, 1, 64 * i, 8).addr;
		wr[i].wr.rdma.rkey = k->mr->rkey;
		if (!is_atomic)
			continue;
		wr[i].wr.atomic.remote_addr = kit_sge(k, 1, 64 * i, 8).addr;
		wr[i].wr.atomic.rkey = k->mr->rkey;
	}
	/* What the READ has brought is sent by the one that is fenced. */
	sge[COUNT - 1] = sge[1];
	kit_post_send(p.qp[0], wr);
	expect_successes(k->cq, 4);
	val_destroy_pair(&p);
}

/* ----------------------------------------------------------------- extended verbs */
static struct ibv_qp *extended_qp(struct kit *k, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = 1,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static void post_extended(struct kit *k, struct ibv_qp_ex *ex, uint64_t wr_id)
{
	uint64_t at = kit_sge(k, 1, 0, 8).addr, word = wr_id;
	const struct ibv_sge half[2] = { kit_sge(k, 0, 512, 8), kit_sge(k, 0, 1024, 8) };

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, k->mr->rkey, at);
	ibv_wr_set_inline_data(ex, &word, sizeof(word));
	ibv_wr_rdma_read(ex, k->mr->rkey, at);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
	ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_atomic_fetch_add(ex, k->mr->rkey, at, 1);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf + 64, 8);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, at);
	ibv_wr_set_sge_list(ex, 2, half);
	assert_int_equal(ibv_wr_complete(ex), 0);
}

/* Takes @count entries by the extended poller, in as many batches as it takes. */
static void poll_extended(struct ibv_cq_ex *cq, unsigned count)
{
	struct ibv_poll_cq_attr attr = { 0 };

	while (count) {
		int rc = ibv_start_poll(cq, &attr);

		if (rc == ENOENT)
			continue;
		assert_int_equal(rc, 0);
		do {
			assert_int_equal(cq->status, IBV_WC_SUCCESS);
			count--;
		} while (!(rc = ibv_next_poll(cq)));
		assert_int_equal(rc, ENOENT);
		ibv_end_poll(cq);
	}
}

static void post_and_poll_extended(struct kit *k)
{
	struct ibv_cq_init_attr_ex init = { .cqe = KIT_WR,
					    .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &init);
	struct val_end end = val_end(k);
	struct ibv_qp *qp, *peer = val_create_qp(k, k->cq, 1, 1);
	struct ibv_qp_ex *ex;

	assert_non_null(cq);
	qp = extended_qp(k, ibv_cq_ex_to_cq(cq));
	ex = ibv_qp_to_qp_ex(qp);
	val_connect(k, qp, peer->qp_num, &end);
	val_connect(k, peer, qp->qp_num, &end);
	/* What is given up is not posted. */
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, k->mr->rkey, 0);
	ibv_wr_abort(ex);
	for (unsigned round = 0; round < 4 * FEW; round++) {
		post_extended(k, ex, 2UL * round);
		post_extended(k, ex, 2UL * round + 1);
		poll_extended(cq, 2);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(peer), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* ------------------------------------------------------------------------ datagrams */
static void send_to_group(struct kit *k)
{
	struct ibv_ah_attr address = kit_address(k);
	union ibv_gid gid = kit_group(1);
	struct ibv_qp *qp[2];
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_ah *ah;

	address.grh.dgid = gid;
	kit_pair(k, IBV_QPT_UD, qp);
	/* Twice is as good as once, and behind that once is enough. */
	assert_int_equal(ibv_attach_mcast(qp[1], &gid, 0), 0);
	assert_int_equal(ibv_attach_mcast(qp[1], &gid, 0), 0);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	ah = ibv_create_ah(k->pd, &address);
	assert_non_null(ah);
	kit_post_send(qp[0],
		      &(struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED,
					     .sg_list = &sge,
					     .num_sge = 1,
					     .wr.ud = { .ah = ah,
							.remote_qpn = 0xffffff,
							.remote_qkey = KIT_QKEY } });
	expect_successes(k->cq, 2);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	/* In any state, and in any order. */
	assert_int_equal(ibv_attach_mcast(qp[0], &gid, 0), 0);
	kit_to_state(qp[0], IBV_QPS_ERR);
	assert_int_equal(ibv_detach_mcast(qp[1], &gid, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp[0], &gid, 0), 0);
	kit_destroy_pair(qp);
}

/* A handle may go behind the completion of a later datagram, too. */
static void destroy_handles_at_last(struct kit *k)
{
	struct ibv_ah_attr address = kit_address(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_ah *ah[FEW];
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_UD, qp);
	for (unsigned i = 0; i < FEW; i++) {
		ah[i] = ibv_create_ah(k->pd, &address);
		assert_non_null(ah[i]);
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 64));
		kit_post_send(qp[0],
			      &(struct ibv_send_wr){
				      .opcode = IBV_WR_SEND,
				      .send_flags = i + 1 < FEW ? 0 : IBV_SEND_SIGNALED,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .wr.ud = { .ah = ah[i],
						 .remote_qpn = qp[1]->qp_num,
						 .remote_qkey = KIT_QKEY } });
	}
	expect_successes(k->cq, FEW + 1);
	for (unsigned i = 0; i < FEW; i++)
		assert_int_equal(ibv_destroy_ah(ah[i]), 0);
	kit_destroy_pair(qp);
}

static const struct val_case cases[] = {
	{ "queues/cq-too-small", NULL, fill_until_refused, false },
	{ "queues/resize-too-small", NULL, shrink_to_fit, false },
	{ "state/never-answered", NULL, outlive_peer, false },
	{ "queues/last-unsignaled", NULL, end_behind_answer, false },
	{ "state/reset-with-work", NULL, reset_behind_unsignaled, false },
	{ "state/reset-with-work", NULL, drain_and_reset, false },
	{ "state/post-wrong-state", NULL, stop_and_go_on, false },
	{ "life/dereg-in-use", NULL, leave_srq_to_nobody, false },
	{ "queues/lost-wakeup", NULL, wait_for_solicited, false },
	{ "queues/srq-limit-spent", NULL, refill_at_limit, false },
	{ "memory/read-not-fenced", NULL, send_behind_fence, false },
	{ "memory/read-not-fenced", NULL, mix_opcodes, false },
	{ "queues/nothing-signaled", NULL, post_and_poll_extended, false },
	{ "life/destroy-attached", NULL, send_to_group, false },
	{ "life/ah-in-use", NULL, destroy_handles_at_last, false },
};
const struct val_cases legal_queues_cases = VAL_CASES(cases);
