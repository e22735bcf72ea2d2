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

/* ------------------------------------------------------------------- one end */
/* Brings a QP to RTS, connected to itself. */
static void connect_as(struct kit *k, struct val_end end)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	val_connect(k, qp, qp->qp_num, &end);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connect_as_usual(struct kit *k)
{
	connect_as(k, val_end(k));
}

/* clang-format off */
#define CONNECTS(name, member, value)                 \
	static void name(struct kit *k)               \
	{                                             \
		struct val_end end = val_end(k);      \
		end.member = (value);                 \
		connect_as(k, end);                   \
	}
CONNECTS(connect_without_timeout, timeout, 0)
CONNECTS(connect_in_haste, timeout, 1)
CONNECTS(connect_with_patience, timeout, 31)
CONNECTS(connect_without_retries, retry_cnt, 0)
CONNECTS(connect_with_slow_rnr, rnr_timer, 0)
/* clang-format on */

/* A transition to INIT with a port, which is refused or not. */
static int to_port(struct kit *k, uint8_t port)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	int rc = ibv_modify_qp(qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	return rc;
}

static void init_on_port_0(struct kit *k)
{
	val_refused(to_port(k, 0));
}

static void init_on_port_1(struct kit *k)
{
	assert_int_equal(to_port(k, 1), 0);
}

static void go_to_rtr(struct kit *k, enum ibv_mtu mtu, uint32_t psn)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu,
				    .rq_psn = psn,
				    .dest_qp_num = 1,
				    .ah_attr = kit_address(k),
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12 };

	kit_to_init(qp);
	val_refused(ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					  IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER));
}

static void rtr_with_bytes_as_mtu(struct kit *k)
{
	go_to_rtr(k, (enum ibv_mtu)1024, 7);
}

static void rtr_with_wide_psn(struct kit *k)
{
	go_to_rtr(k, IBV_MTU_1024, 0x1000007);
}

/* Sets a right of a connected QP, from the state that it is in or from another one. */
static int set_access_from(struct kit *k, enum ibv_qp_state state)
{
	struct val_pair p = val_pair(k);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .cur_qp_state = state,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	int rc = ibv_modify_qp(p.qp[0], &attr,
			       IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS);

	val_destroy_pair(&p);
	return rc;
}

static void modify_from_sqd(struct kit *k)
{
	val_refused(set_access_from(k, IBV_QPS_SQD));
}

static void modify_from_rts(struct kit *k)
{
	assert_int_equal(set_access_from(k, IBV_QPS_RTS), 0);
}

/* Resets a QP with a receive posted, or when it has completed. */
static void reset_after(struct kit *k, bool drains)
{
	struct val_pair p = val_pair(k);

	kit_post_recv(k, p.qp[0], 1, kit_sge(k, 0, 0, 64));
	if (drains) {
		kit_to_state(p.qp[0], IBV_QPS_ERR);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_WR_FLUSH_ERR);
	}
	kit_to_state(p.qp[0], IBV_QPS_RESET);
	val_destroy_pair(&p);
}

static void reset_with_receive(struct kit *k)
{
	reset_after(k, false);
}

static void reset_when_drained(struct kit *k)
{
	reset_after(k, true);
}

static void leave_in_err(struct kit *k)
{
	struct val_pair p = val_pair(k);

	kit_post_recv(k, p.qp[0], 1, kit_sge(k, 0, 0, 64));
	kit_to_state(p.qp[0], IBV_QPS_ERR);
}

/* ------------------------------------------------------------------- two ends */
/* Posts a request of 8 bytes from side 0 to side 1. */
static int post(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr *bad,
		wr = { .opcode = opcode,
		       .send_flags = IBV_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1,
		       .wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
				    .rkey = k->mr->rkey } };

	return ibv_post_send(qp, &wr, &bad);
}

/* Connects two QPs with such ends, and lets the first one post a request, which may fail
 * or not be answered.
 */
static void post_between(struct kit *k, struct val_end a, struct val_end b,
			 enum ibv_wr_opcode opcode, bool waits)
{
	const struct val_end end[2] = { a, b };
	struct ibv_cq *const cq[2] = { k->cq, k->cq };
	struct val_pair p = val_pair_of(k, end, cq);

	(void)post(k, p.qp[0], opcode);
	if (waits)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
}

/* clang-format off */
#define DIFFERS(name, member, value, opcode)                          \
	static void name(struct kit *k)                               \
	{                                                             \
		struct val_end end = val_end(k);                      \
		end.member = (value);                                 \
		post_between(k, val_end(k), end, opcode, false);      \
	}
DIFFERS(differ_in_psn, rq_psn, 99, IBV_WR_RDMA_WRITE)
DIFFERS(differ_in_mtu, mtu, IBV_MTU_256, IBV_WR_RDMA_WRITE)
DIFFERS(differ_in_rd_atomic, dest_rd_atomic, 1, IBV_WR_RDMA_READ)
DIFFERS(differ_in_access, access, IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ)
/* clang-format on */

static void agree(struct kit *k)
{
	post_between(k, val_end(k), val_end(k), IBV_WR_RDMA_READ, true);
}

static void read_without_resources(struct kit *k)
{
	struct val_end end = val_end(k);

	end.rd_atomic = 0;
	post_between(k, end, end, IBV_WR_RDMA_READ, false);
}

/* A QP sends to one that is connected to itself. */
static void send_to_other(struct kit *k)
{
	struct ibv_qp *qp[2] = { val_create_qp(k, k->cq, 4, 4),
				 val_create_qp(k, k->cq, 4, 4) };
	struct val_end end = val_end(k);

	for (unsigned i = 0; i < 2; i++)
		val_connect(k, qp[i], qp[1]->qp_num, &end);
	assert_int_equal(post(k, qp[0], IBV_WR_RDMA_WRITE), 0);
	kit_destroy_pair(qp);
}

static void send_too_early(struct kit *k)
{
	struct ibv_qp *qp[2] = { val_create_qp(k, k->cq, 4, 4),
				 val_create_qp(k, k->cq, 4, 4) };
	struct val_end end = val_end(k);

	kit_to_init(qp[1]);
	val_connect(k, qp[0], qp[1]->qp_num, &end);
	assert_int_equal(post(k, qp[0], IBV_WR_RDMA_WRITE), 0);
	kit_destroy_pair(qp);
}

static void use_type(struct kit *k, enum ibv_qp_type type, bool is_refused)
{
	struct ibv_qp *qp[2];
	int rc;

	kit_pair(k, type, qp);
	rc = post(k, qp[0], IBV_WR_RDMA_READ);
	if (!rc && !is_refused)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(rc != 0, is_refused);
	kit_destroy_pair(qp);
}

static void read_on_uc(struct kit *k)
{
	use_type(k, IBV_QPT_UC, true);
}

static void read_on_rc(struct kit *k)
{
	use_type(k, IBV_QPT_RC, false);
}

/* Sends a message, and destroys the QPs when it has arrived, or without a receive. */
static void send_message(struct kit *k, bool has_receive)
{
	struct val_pair p = val_pair(k);

	if (has_receive)
		kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 64), 0);
	for (unsigned i = 0; i < 2 && has_receive; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	val_destroy_pair(&p);
}

static void send_for_ever(struct kit *k)
{
	send_message(k, false);
}

static void send_and_arrive(struct kit *k)
{
	send_message(k, true);
}

/* --------------------------------------------------------------------- nobody there */
enum {
	NOBODY = 0xfffff1, /* a QPN that is not there */
	SHORT = 8,	   /* timeout: 1 ms */
};

/* Connects a QP to nobody, perhaps once it has had a peer that has answered. */
static void ask_nobody(struct kit *k, bool was_answered)
{
	struct val_end end = val_end(k);
	struct val_pair p = val_pair(k);
	struct ibv_qp *qp = val_create_qp(k, k->cq, KIT_WR, KIT_WR);

	end.timeout = SHORT;
	end.retry_cnt = 1;
	if (was_answered) {
		val_connect(k, qp, p.qp[1]->qp_num, &end);
		kit_to_state(p.qp[1], IBV_QPS_RESET);
		val_connect(k, p.qp[1], qp->qp_num, &end);
		assert_int_equal(val_write(k, qp, IBV_SEND_SIGNALED, 1), 0);
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		kit_to_state(p.qp[1], IBV_QPS_RESET);
	} else {
		val_connect(k, qp, NOBODY, &end);
	}
	assert_int_equal(val_write(k, qp, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	val_destroy_pair(&p);
}

static void connect_to_nobody(struct kit *k)
{
	ask_nobody(k, false);
}

/* A peer that has gone is no mistake of this end. */
static void outlive_peer(struct kit *k)
{
	ask_nobody(k, true);
}

static const struct val_case cases[] = {
	{ "state/post-wrong-state", post_in_reset, post_in_rts, false },
	{ "state/attr-missing", init_without_port, init_as_needed, false },
	{ "state/attr-needless", init_with_psn, init_as_needed, false },
	{ "state/illegal-transition", reset_to_rts, init_as_needed, false },
	{ "state/waits-for-ever", connect_without_timeout, connect_as_usual, false },
	{ "state/timeout-short", connect_in_haste, connect_as_usual, false },
	{ "state/timeout-long", connect_with_patience, connect_as_usual, false },
	{ "state/retry-zero", connect_without_retries, connect_as_usual, false },
	{ "state/rnr-timer-zero", connect_with_slow_rnr, connect_as_usual, false },
	{ "state/psn-wide", rtr_with_wide_psn, connect_as_usual, false },
	{ "state/rnr-for-ever", send_for_ever, send_and_arrive, false },
	{ "state/out-of-range", rtr_with_bytes_as_mtu, connect_as_usual, false },
	{ "state/wrong-port", init_on_port_0, init_on_port_1, false },
	{ "state/cur-state-wrong", modify_from_sqd, modify_from_rts, false },
	{ "state/reset-with-work", reset_with_receive, reset_when_drained, false },
	{ "state/left-in-err", leave_in_err, reset_when_drained, true },
	{ "state/psn-mismatch", differ_in_psn, agree, false },
	{ "state/mtu-mismatch", differ_in_mtu, agree, false },
	{ "state/rd-atomic-mismatch", differ_in_rd_atomic, agree, false },
	{ "state/access-missing", differ_in_access, agree, false },
	{ "state/rd-atomic-zero", read_without_resources, agree, false },
	{ "state/not-connected-back", send_to_other, agree, false },
	{ "state/peer-not-ready", send_too_early, agree, false },
	{ "state/opcode-of-type", read_on_uc, read_on_rc, false },
	{ "state/never-answered", connect_to_nobody, outlive_peer, false },
};
const struct val_cases state_cases = VAL_CASES(cases);
