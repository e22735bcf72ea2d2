/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queues.c - cases of the category queues. */
#include "cases.h"

static void signal_nothing(struct kit *k)
{
	struct val_pair p = val_pair(k);
	int rc = 0;

	for (unsigned i = 0; i < 1000 && !rc; i++)
		rc = val_write(k, p.qp[0], 0, 1);
}

static void signal_some(struct kit *k)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(val_write(k, p.qp[0], 0, 7), 0);
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
	}
	val_destroy_pair(&p);
}

/* Posts receives to a QP whose CQ has room for @entries. */
static void post_to_cq(struct kit *k, int entries)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, entries, NULL, NULL, 0);
	struct ibv_qp *qp = val_create_qp(k, cq, 4, 512);

	kit_to_init(qp);
	for (unsigned i = 0; i < 512; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 0, 0, 64));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void post_to_small_cq(struct kit *k)
{
	post_to_cq(k, 16);
}

static void post_to_large_cq(struct kit *k)
{
	post_to_cq(k, 516);
}

/* Waits for the event of a WRITE that was posted before the CQ was armed. Another WRITE
 * sees to it that there is an event.
 */
static void wait_for_event(struct kit *k, bool polls)
{
	struct val_pair p = val_pair(k);
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int got = 0;

	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	if (polls)
		got = ibv_poll_cq(k->cq, 1, &wc);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	for (int i = got; i < 2; i++)
		(void)kit_wait(k->cq);
	val_destroy_pair(&p);
}

static void wait_without_poll(struct kit *k)
{
	wait_for_event(k, false);
}

static void wait_after_poll(struct kit *k)
{
	wait_for_event(k, true);
}

static const struct val_case cases[] = {
	{ "queues/nothing-signaled", signal_nothing, signal_some, false },
	{ "queues/cq-too-small", post_to_small_cq, post_to_large_cq, false },
	{ "queues/lost-wakeup", wait_without_poll, wait_after_poll, false },
};
const struct val_cases queues_cases = VAL_CASES(cases);
