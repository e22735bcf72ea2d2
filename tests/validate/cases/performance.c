/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* performance.c - cases of the category performance. */
#include "cases.h"

enum {
	MANY = 1200
};

/* WRITEs, of which one in @period is signaled. */
static void write_many(struct kit *k, unsigned period)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < MANY; i += period) {
		assert_int_equal(val_write(k, p.qp[0], 0, period - 1), 0);
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
	}
	val_destroy_pair(&p);
}

static void signal_each(struct kit *k)
{
	write_many(k, 1);
}

static void signal_one_in_8(struct kit *k)
{
	write_many(k, 8);
}

/* Polls @room entries a call. */
static void poll_many(struct kit *k, int room)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 64, NULL, NULL, 0);
	struct ibv_qp *qp = val_create_qp(k, cq, 32, 32);
	struct ibv_wc wc[8];

	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	for (unsigned i = 0; i < MANY; i += 8) {
		assert_int_equal(val_write(k, qp, IBV_SEND_SIGNALED, 8), 0);
		for (int got = 0; got < 8;)
			got += ibv_poll_cq(cq, room, wc);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void poll_one(struct kit *k)
{
	poll_many(k, 1);
}

static void poll_eight(struct kit *k)
{
	poll_many(k, 8);
}

/* Writes of 8 bytes to a QP with room for inline data. */
static void write_small(struct kit *k, unsigned flags)
{
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < MANY; i += 8) {
		assert_int_equal(val_write(k, qp[0], flags, 7), 0);
		assert_int_equal(val_write(k, qp[0], flags | IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
	}
	kit_destroy_pair(qp);
}

static void write_from_memory(struct kit *k)
{
	write_small(k, 0);
}

static void write_inline(struct kit *k)
{
	write_small(k, IBV_SEND_INLINE);
}

static void write_fenced(struct kit *k)
{
	write_small(k, IBV_SEND_FENCE);
}

/* Writes with a wait behind each. */
static void write_in_turn(struct kit *k)
{
	write_many(k, 1);
}

/* Registers memory between @count WRITEs. */
static void register_between(struct kit *k, unsigned count)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < count; i++) {
		struct ibv_mr *mr =
			ibv_reg_mr(k->pd, k->buf, KIT_HALF, IBV_ACCESS_LOCAL_WRITE);

		assert_non_null(mr);
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	val_destroy_pair(&p);
}

static void register_300_times(struct kit *k)
{
	register_between(k, 300);
}

static void register_twice(struct kit *k)
{
	register_between(k, 2);
}

static void register_in_parts(struct kit *k)
{
	for (unsigned i = 0; i < 300; i++)
		assert_non_null(ibv_reg_mr(k->pd, k->buf + (size_t)i * 64, 64,
					   IBV_ACCESS_LOCAL_WRITE));
}

/* Creates an AH between @count WRITEs. */
static void address_between(struct kit *k, unsigned count)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < count; i++) {
		struct ibv_ah_attr attr = kit_address(k);
		struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);

		assert_non_null(ah);
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	val_destroy_pair(&p);
}

static void address_300_times(struct kit *k)
{
	address_between(k, 300);
}

static void address_twice(struct kit *k)
{
	address_between(k, 2);
}

/* WRITEs from two entries, the second one at this offset. */
static void gather(struct kit *k, uint32_t second)
{
	struct ibv_qp *qp[2];
	struct ibv_sge sge[2] = { kit_sge(k, 0, 0, 64), kit_sge(k, 0, second, 64) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sge,
				  .num_sge = 2,
				  .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
					       .rkey = k->mr->rkey } };

	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &wr);
	(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
}

static void gather_adjacent(struct kit *k)
{
	gather(k, 64);
}

static void gather_apart(struct kit *k)
{
	gather(k, 128);
}

/* Waits for an event for each @batch WRITEs. */
static void wait_for_events(struct kit *k, unsigned batch)
{
	struct ibv_cq *event_cq, *cq = ibv_create_cq(k->ctx, 64, NULL, k->channel, 0);
	struct ibv_qp *qp = val_create_qp(k, cq, 32, 32);
	void *context;

	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		assert_int_equal(val_write(k, qp, IBV_SEND_SIGNALED, batch), 0);
		assert_int_equal(ibv_get_cq_event(k->channel, &event_cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		for (unsigned n = 0; n < batch; n++)
			(void)kit_wait(cq);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void wait_for_each(struct kit *k)
{
	wait_for_events(k, 1);
}

static void wait_for_four(struct kit *k)
{
	wait_for_events(k, 4);
}

static void resize(struct kit *k, unsigned count)
{
	write_many(k, 8);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(ibv_resize_cq(k->cq, (int)(256 + i)), 0);
}

static void resize_20_times(struct kit *k)
{
	resize(k, 20);
}

static void resize_once(struct kit *k)
{
	resize(k, 1);
}

static const struct val_case cases[] = {
	{ "performance/all-signaled", signal_each, signal_one_in_8, false },
	{ "performance/poll-one-by-one", poll_one, poll_eight, false },
	{ "performance/small-not-inline", write_from_memory, write_inline, false },
	{ "performance/post-one-by-one", signal_one_in_8, write_in_turn, false },
	{ "performance/all-fenced", write_fenced, write_from_memory, false },
	{ "performance/reg-in-data-path", register_300_times, register_twice, false },
	{ "performance/small-mrs", register_in_parts, register_twice, false },
	{ "performance/ah-in-data-path", address_300_times, address_twice, false },
	{ "performance/adjacent-sges", gather_adjacent, gather_apart, false },
	{ "performance/event-for-each", wait_for_each, wait_for_four, false },
	{ "performance/resize-often", resize_20_times, resize_once, false },
};
const struct val_cases performance_cases = VAL_CASES(cases);
