/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trouble.c - the stops of the tour with an error: an access outside of a region, a
 * missing receive, a lost packet, data that becomes visible late.
 */
#include <rocin/pcie.h>
#include <string.h>

#include "tour.h"

void tour_register(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	struct rn_pcie_counters counters;
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	int rc;

	tour_write_note(a, "Written by A.");
	tour_write_note(b, "");
	tour_tell_memory("B", "before", b->buf + t->offset);
	tour_begin(t);

	/* tour: register */
	mr = ibv_reg_mr(b->pd, b->buf, 4096,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	/* tour: end */
	tour_need(mr, "ibv_reg_mr");
	rn_pcie_counters(&counters);
	tour_tell_value("registering_tlps", counters.tlps);
	tour_tell_value("registered", tour_now());
	tour_tell_value("address", (uintptr_t)mr->addr);
	tour_tell_value("length", mr->length);
	tour_tell_value("lkey", mr->lkey);
	tour_tell_value("rkey", mr->rkey);

	/* tour: register */
	/* A tries the key: 64 bytes, at an offset of its choice. */
	struct ibv_sge from = { (uintptr_t)a->buf, 64, a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &from,
				  .num_sge = 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr + t->offset;
	wr.wr.rdma.rkey = mr->rkey;
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");
	tour_poll(a);
	tour_end(t);
	tour_tell_memory("B", "after", b->buf + t->offset);
	tour_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
}

static void post_message(struct end *a, uint32_t size)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, size, a->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	tour_need(!ibv_post_send(a->qp, &wr, &bad), "ibv_post_send");
}

static void post_room(struct end *b, uint32_t size)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, size, b->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	tour_need(!ibv_post_recv(b->qp, &wr, &bad), "ibv_post_recv");
}

void tour_rnr(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;

	tour_write_note(a, "Is anybody there?");
	tour_write_note(b, "");
	tour_begin(t);

	/* tour: rnr */
	/* Set when the queue pairs were connected: B's .min_rnr_timer =
	 * t->rnr_timer is how long A waits, A's .rnr_retry = t->rnr_retry is how
	 * often A tries again (7: for ever).
	 */
	post_message(a, t->size); /* ibv_post_send(), as before */
	tour_await("rnr");	  /* until B's device has sent an RNR NAK */
	post_room(b, t->size);	  /* ibv_post_recv(): too late for the first try */
	tour_poll(a);
	/* tour: end */
	if (t->rnr_retry > 0)
		tour_poll(b);
	tour_end(t);
}

void tour_lost(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;

	tour_write_note(a, "In three packets.");
	tour_write_note(b, "");
	tour_begin(t);

	/* tour: lost */
	/* Set when the queue pairs were connected: with A's .timeout = 15, A
	 * sends again after 4 * 4.096 us * 2^15 = 537 ms without an answer, and
	 * with .retry_cnt = 7 at most 7 times.
	 */
	post_room(b, t->size);	  /* ibv_post_recv(), as before */
	post_message(a, t->size); /* ibv_post_send() */
	tour_poll(b);		  /* ibv_poll_cq() until there is a completion */
	tour_poll(a);
	/* tour: end */
	tour_tell_value("message_right", !memcmp(a->buf, b->buf, t->size));
	tour_look_for_none(b);
	tour_end(t);
}

/* ---------------------------------------- data that becomes visible late */
/* Arguments and results of a kernel that runs on the GPU. */
struct kernel {
	const uint8_t *data; /* address of the data, as the GPU uses it */
	uint32_t flag;	     /* flag in host memory */
	unsigned count;	     /* output: number of new bytes */
	uint8_t saw[DATA];   /* output: the bytes that the kernel read */
};

static void wait_and_count(void *arg)
{
	struct kernel *k = arg;

	if (rn_gpu_wait_host(&k->flag, 1, sizeof(k->flag), 10000))
		return;
	for (unsigned i = 0; i < DATA; i++) {
		k->saw[i] = (uint8_t)rn_gpu_load(&k->data[i], 1);
		k->count += k->saw[i] == NEW;
	}
}

static void raise_flag(struct kernel *k)
{
	__atomic_store_n(&k->flag, 1, __ATOMIC_RELEASE);
}

void tour_gpu(struct tour *t)
{
	struct end *a = &t->a, *b = &t->b;
	struct kernel first = { 0 }, second = { 0 };
	int64_t first_id, second_id;
	struct rn_gpu_buffer buffer;
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	struct rn_gpu *gpu;
	int rc;

	gpu = rn_gpu_open(0);
	tour_need(gpu && !rn_gpu_alloc(gpu, DATA, 0, &buffer), "GPU memory");
	memset(b->buf, NEW, DATA);
	first.data = second.data = buffer.dev;
	first_id = rn_gpu_launch(gpu, wait_and_count, &first);
	second_id = rn_gpu_launch(gpu, wait_and_count, &second);
	tour_need(first_id > 0 && second_id > 0, "rn_gpu_launch");
	tour_tell_range("GPU", buffer.bar, DATA);
	tour_begin(t);

	/* tour: gpu */
	/* Two kernels run on the GPU; each waits for its flag, then counts. */
	mr = ibv_reg_mr(a->pd, buffer.bar, 4096, IBV_ACCESS_LOCAL_WRITE);
	/* tour: end */
	tour_need(mr, "ibv_reg_mr");

	/* tour: gpu */
	struct ibv_sge to = { (uintptr_t)buffer.bar, 4096, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &to,
				  .num_sge = 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf;
	wr.wr.rdma.rkey = b->mr->rkey;
	rc = ibv_post_send(a->qp, &wr, &bad);
	/* tour: end */
	tour_need(!rc, "ibv_post_send");

	/* tour: gpu */
	tour_poll(a); /* ibv_poll_cq() until there is a completion */
	/* tour: end */
	tour_tell_value("pending", rn_pcie_pending(buffer.bar, DATA));

	/* tour: gpu */
	/* The READ is complete, so the first kernel may use the data. Or not? */
	if (t->flush)
		rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	raise_flag(&first);
	/* tour: end */
	rc = rn_gpu_wait_kernel(gpu, first_id);
	tour_need(!rc, "the first kernel");
	tour_tell_value("first_count", first.count);

	/* tour: gpu */
	/* This flush before the flag makes the program correct. */
	rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	raise_flag(&second);
	/* tour: end */
	rc = rn_gpu_wait_kernel(gpu, second_id);
	tour_need(!rc, "the second kernel");
	tour_tell_value("second_count", second.count);
	tour_tell_memory("first", "saw", first.saw);
	tour_tell_memory("second", "saw", second.saw);
	tour_end(t);
	tour_need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	rn_gpu_free(buffer.bar);
}
