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

static const struct val_case cases[] = {
	{ "performance/all-signaled", signal_each, signal_one_in_8, false },
	{ "performance/poll-one-by-one", poll_one, poll_eight, false },
};
const struct val_cases performance_cases = VAL_CASES(cases);
