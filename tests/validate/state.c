/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state.c - cases of the category state. */
#include "cases.h"

static void post_in_reset(struct kit *k)
{
	val_refused(val_write(k, val_create_qp(k, k->cq, 4, 4), 0, 1));
}

static void post_in_rts(struct kit *k)
{
	struct val_pair p = val_pair(k);

	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	(void)kit_wait(k->cq);
	val_destroy_pair(&p);
}

static int to_init(struct kit *k, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	int rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	return rc;
}

static void init_without_port(struct kit *k)
{
	val_refused(to_init(k, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
}

static void init_with_psn(struct kit *k)
{
	val_refused(to_init(k, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS |
				       IBV_QP_SQ_PSN));
}

static void init_as_needed(struct kit *k)
{
	assert_int_equal(
		to_init(k, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
}

static void reset_to_rts(struct kit *k)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	val_refused(ibv_modify_qp(val_create_qp(k, k->cq, 4, 4), &attr, IBV_QP_STATE));
}

/* Brings a QP to RTS with a timeout of its own. */
static void connect_with(struct kit *k, uint8_t timeout)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = timeout,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1 };

	kit_to_init(qp);
	kit_to_rtr(k, qp, qp->qp_num);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connect_without_timeout(struct kit *k)
{
	connect_with(k, 0);
}

static void connect_with_timeout(struct kit *k)
{
	connect_with(k, 14);
}

static const struct val_case cases[] = {
	{ "state/post-wrong-state", post_in_reset, post_in_rts, false },
	{ "state/attr-missing", init_without_port, init_as_needed, false },
	{ "state/attr-needless", init_with_psn, init_as_needed, false },
	{ "state/illegal-transition", reset_to_rts, init_as_needed, false },
	{ "state/waits-for-ever", connect_without_timeout, connect_with_timeout, false },
};
const struct val_cases state_cases = VAL_CASES(cases);
