/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* life.c - cases of the category life. */
#include <pthread.h>
#include <unistd.h>

#include "cases.h"

static void destroy_pd_of_mr(struct kit *k)
{
	val_refused(ibv_dealloc_pd(k->pd));
}

static void destroy_in_order(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void destroy_twice(struct kit *k)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	val_refused(ibv_destroy_qp(qp));
}

static void destroy_once(struct kit *k)
{
	assert_int_equal(ibv_destroy_qp(val_create_qp(k, k->cq, 4, 4)), 0);
}

/* Posts a receive with an MR of another PD than that of the QP. */
static void post_with_domain(struct kit *k, bool is_foreign)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = is_foreign ? mr->lkey : k->mr->lkey };

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void post_with_foreign_mr(struct kit *k)
{
	post_with_domain(k, true);
}

static void post_with_own_mr(struct kit *k)
{
	post_with_domain(k, false);
}

static void dereg_under_receive(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void dereg_after_destroy(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Takes an event of a completion, and acknowledges it before the CQ is destroyed, or from
 * another thread, as otherwise the call would wait for ever.
 */
static void *acknowledge_late(void *cq)
{
	usleep(100000);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void take_event(struct kit *k, bool is_late)
{
	struct val_pair p = val_pair(k);
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	(void)kit_wait(k->cq);
	val_destroy_pair(&p);
	if (!is_late) {
		ibv_ack_cq_events(cq, 1);
		return;
	}
	assert_int_equal(pthread_create(&thread, NULL, acknowledge_late, cq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void destroy_unacked(struct kit *k)
{
	take_event(k, true);
}

static void destroy_acked(struct kit *k)
{
	take_event(k, false);
}

static void leave_qp(struct kit *k)
{
	(void)val_create_qp(k, k->cq, 4, 4);
}

static const struct val_case cases[] = {
	{ "life/destroy-order", destroy_pd_of_mr, destroy_in_order, false },
	{ "life/use-after-destroy", destroy_twice, destroy_once, false },
	{ "life/foreign-pd", post_with_foreign_mr, post_with_own_mr, false },
	{ "life/dereg-in-use", dereg_under_receive, dereg_after_destroy, false },
	{ "life/events-unacked", destroy_unacked, destroy_acked, false },
	{ "life/leak-at-exit", leave_qp, destroy_once, true },
};
const struct val_cases life_cases = VAL_CASES(cases);
