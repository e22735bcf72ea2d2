/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* messages.c - the stops of the tour without errors: SEND, WRITE, READ, atomics. */
#include <endian.h>
#include <string.h>

#include "tour.h"

/* Prints the first bytes of both buffers. */
static void tell_both(const struct tour *t, const char *when)
{
	tour_tell_memory("A", when, t->a.buf);
	tour_tell_memory("B", when, t->b.buf);
}

void tour_send(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int rc, n;

	tour_write_note(a, "Hello from A.");
	tour_write_note(b, "");
	tell_both(t, "before");
	tour_begin(t);

	/* tour: send */
	/* B posts a receive for the next message before that message comes. */
	struct ibv_sge room = { (uintptr_t)b->buf, t->size, b->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &room, .num_sge = 1 };
	rc = ibv_post_recv(b->qp, &recv, &bad_recv);
	/* tour: end */
	tour_need(!rc, "ibv_post_recv");

	/* tour: send */
	/* A gives its device a work request and does not wait for it. */
	struct ibv_sge text = { (uintptr_t)a->buf, t->size, a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &text,
				  .num_sge = 1 };
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");

	/* tour: send */
	/* Each end learns from its completion queue that the work is done. */
	do {
		n = ibv_poll_cq(a->cq, 1, &wc); /* the same with b->cq */
	} while (n == 0);
	/* tour: end */
	tour_need(n == 1, "ibv_poll_cq");
	tour_tell_wc(a, &wc);
	tour_poll(b);
	tour_end(t);
	tell_both(t, "after");
}

void tour_write(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	struct ibv_recv_wr *bad_recv, recv = { .num_sge = 0 };
	struct ibv_send_wr *bad;
	int rc;

	tour_write_note(a, "Written by A.");
	tour_write_note(b, "");
	tell_both(t, "before");
	if (t->imm)
		tour_need(!ibv_post_recv(b->qp, &recv, &bad_recv), "ibv_post_recv");
	tour_begin(t);

	/* tour: write */
	/* B's address and R_Key, which B has told A before, by a SEND or by TCP. */
	struct ibv_sge from = { (uintptr_t)a->buf, t->size, a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = t->imm ? IBV_WR_RDMA_WRITE_WITH_IMM
						   : IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &from,
				  .num_sge = 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf;
	wr.wr.rdma.rkey = b->mr->rkey;
	wr.imm_data = htobe32(42); /* sent only if imm is set */
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");
	tour_poll(a);
	if (t->imm)
		tour_poll(b);
	tour_look_for_none(b);
	tour_end(t);
	tell_both(t, "after");
}

void tour_read(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	struct ibv_send_wr *bad;
	int rc;

	tour_write_note(a, "");
	tour_write_note(b, "This is B's.");
	tell_both(t, "before");
	tour_begin(t);

	/* tour: read */
	struct ibv_sge to = { (uintptr_t)a->buf, t->size, a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &to,
				  .num_sge = 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf;
	wr.wr.rdma.rkey = b->mr->rkey;
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");
	tour_poll(a);
	tour_look_for_none(b);
	tour_end(t);
	tell_both(t, "after");
}

void tour_atomic(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	uint64_t *counter = (uint64_t *)b->buf, *found = (uint64_t *)a->buf;
	struct ibv_send_wr *bad;
	int rc;

	*counter = 41;
	*found = 0;
	tell_both(t, "before");
	tour_begin(t);

	/* tour: atomic */
	struct ibv_sge old = { (uintptr_t)found, sizeof(*found), a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = t->cswap ? IBV_WR_ATOMIC_CMP_AND_SWP
						     : IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &old,
				  .num_sge = 1 };
	wr.wr.atomic.remote_addr = (uintptr_t)counter;
	wr.wr.atomic.rkey = b->mr->rkey;
	/* cswap: compare with 41; else: add 1 */
	wr.wr.atomic.compare_add = t->cswap ? 41 : 1;
	wr.wr.atomic.swap = 1000; /* if equal, write 1000 */
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");
	tour_poll(a);
	tour_end(t);
	tour_tell_value("counter_after", *counter);
	tour_tell_value("found", *found);
	tell_both(t, "after");
}
