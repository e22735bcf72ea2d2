/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_handles_use.c - verbs that use a destroyed object, and posts and polls while
 * another thread destroys the queue.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "handle_kit.h"
#include "tests/provider/kit/raw_kit.h"

/* The call must fail with EINVAL: it uses an object that was destroyed or belongs to
 * another context.
 */
#define REFUSED(call)                            \
	do {                                     \
		errno = 0;                       \
		assert_int_equal(call, EINVAL);  \
		assert_int_equal(errno, EINVAL); \
	} while (0)

#define REFUSED_NULL(call)                       \
	do {                                     \
		errno = 0;                       \
		assert_null(call);               \
		assert_int_equal(errno, EINVAL); \
	} while (0)

/* ----------------------------------------------------------------------- queue pairs */
static void refuse_posts(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv = NULL;
	struct ibv_send_wr *bad = NULL;

	REFUSED(ibv_post_send(qp, &wr, &bad));
	assert_ptr_equal(bad, &wr);
	REFUSED(ibv_post_recv(qp, &recv, &bad_recv));
	assert_ptr_equal(bad_recv, &recv);
}

static void refuse_groups_and_rules(struct ibv_qp *qp)
{
	struct ibv_flow_attr rule = { .type = IBV_FLOW_ATTR_NORMAL,
				      .size = sizeof(rule),
				      .port = 1 };
	const union ibv_gid group = kit_group(1);

	REFUSED(ibv_attach_mcast(qp, &group, 0));
	REFUSED(ibv_detach_mcast(qp, &group, 0));
	qp->qp_type = IBV_QPT_RAW_PACKET; /* flow rules need this type of QP */
	REFUSED_NULL(ibv_create_flow(qp, &rule));
}

static void a_destroyed_queue_pair(void **state)
{
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 100000 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct kit *k = *state;
	struct ibv_mw *mw = make_mw1(k);
	struct ibv_mw_bind bind = { 0 };
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	struct ibv_ece ece = { .vendor_id = 0x524f43 };

	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	refuse_posts(k, qp);
	REFUSED(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	REFUSED(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	REFUSED(ibv_modify_qp_rate_limit(qp, &rate));
	REFUSED(ibv_set_ece(qp, &ece));
	REFUSED(ibv_query_ece(qp, &ece));
	REFUSED(ibv_bind_mw(qp, mw, &bind));
	assert_int_equal(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0);
	refuse_groups_and_rules(qp);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A post to a destroyed QP must not reach a later one, which may have a part of its
 * memory.
 */
static void a_post_to_a_destroyed_queue_pair_is_none_to_the_next(void **state)
{
	enum {
		TIMES = 16 /* so few that no later QP has the struct of the first */
	};
	struct kit *k = *state;
	struct ibv_qp *first = kit_create_qp(k, IBV_QPT_UD);

	kit_to_init(first);
	assert_int_equal(ibv_destroy_qp(first), 0);
	for (unsigned i = 0; i < TIMES; i++) {
		struct ibv_qp *next = kit_create_qp(k, IBV_QPT_UD);

		kit_to_init(next);
		refuse_posts(k, first);
		assert_int_equal(ibv_destroy_qp(next), 0);
	}
}

static void requests_that_are_built_in_a_destroyed_queue_pair(void **state)
{
	struct kit *k = *state;
	struct ibv_ah *ah = make_ah(k);
	struct ibv_qp *qp = make_qp_ex(k);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);

	assert_non_null(ex);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	for (unsigned i = 0; i < 2; i++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, ah, 1, KIT_QKEY);
		ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
		REFUSED(ibv_wr_complete(ex));
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
	/* The QP is destroyed between ibv_wr_start() and ibv_wr_complete(). */
	qp = make_qp_ex(k);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
	REFUSED(ibv_wr_complete(ex));
}

/* -------------------------------------------------------------------------- domains */
static void *srq_in(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static void *wq_in(struct kit *k, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};

	return ibv_create_wq(k->ctx, &attr);
}

static void *qp_in(struct ibv_pd *pd, struct ibv_cq *send, struct ibv_cq *recv,
		   struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = { .send_cq = send,
					 .recv_cq = recv,
					 .srq = srq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	return ibv_create_qp(pd, &attr);
}

/* All calls that take a PD fail with a destroyed one. */
static void refuse_domain(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr parent = { .pd = pd };
	struct ibv_ah_attr to = kit_address(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_dm *dm = make_dm(k);
	struct ibv_mr *mr = make_mr(k);

	REFUSED_NULL(ibv_reg_mr(pd, k->buf, 64, 0));
	REFUSED_NULL(ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	REFUSED_NULL(ibv_alloc_null_mr(pd));
	REFUSED_NULL(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	REFUSED_NULL(ibv_create_ah(pd, &to));
	REFUSED_NULL(srq_in(pd));
	REFUSED_NULL(wq_in(k, pd, k->cq));
	REFUSED_NULL(qp_in(pd, k->cq, k->cq, NULL));
	REFUSED_NULL(ibv_alloc_parent_domain(k->ctx, &parent));
	REFUSED_NULL(ibv_import_mr(pd, mr->handle));
	REFUSED(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void a_destroyed_domain(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *pd = make_pd(k), copy;

	assert_int_equal(ibv_dealloc_pd(pd), 0);
	refuse_domain(k, pd);
	copy = *k->pd;
	refuse_domain(k, &copy);
	pd = make_pd(k);
	pd->handle++;
	refuse_domain(k, pd);
	pd->handle--;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void a_destroyed_parent_domain(void **state)
{
	struct ibv_parent_domain_init_attr attr = { .pd = NULL };
	struct kit *k = *state;
	struct ibv_pd *parent = make_parent(k);
	struct ibv_td *td = make_td(k);
	struct ibv_cq_init_attr_ex cq = { .cqe = 4,
					  .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					  .parent_domain = parent };

	assert_int_equal(ibv_dealloc_pd(parent), 0);
	refuse_domain(k, parent);
	REFUSED_NULL(ibv_create_cq_ex(k->ctx, &cq));
	assert_int_equal(ibv_dealloc_td(td), 0);
	attr.pd = k->pd;
	attr.td = td;
	REFUSED_NULL(ibv_alloc_parent_domain(k->ctx, &attr));
}

/* --------------------------------------------------------------------------- memory */
static void destroyed_memory_objects(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = make_mr(k);
	struct ibv_dm *dm = make_dm(k);
	char byte[4] = { 0 };

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, k->buf, 64, 0),
		IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_free_dm(dm), 0);
	REFUSED_NULL(ibv_reg_dm_mr(k->pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, byte, 4), EIO);
	assert_int_equal(ibv_memcpy_from_dm(byte, dm, 0, 4), EIO);
}

static void a_destroyed_window(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = make_mr(k);
	struct ibv_mw *mw = make_mw1(k);
	struct ibv_mw_bind bind = {
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	/* Posting a request does not check handles. */
	mw->handle++;
	qp[0]->handle++;
	assert_int_equal(ibv_bind_mw(qp[0], mw, &bind), 0);
	mw->handle--;
	qp[0]->handle--;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	REFUSED(ibv_bind_mw(qp[0], mw, &bind));
	mw = make_mw1(k);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	REFUSED(ibv_bind_mw(qp[0], mw, &bind));
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	kit_destroy_pair(qp);
}

static void a_destroyed_address_handle(void **state)
{
	struct kit *k = *state;
	struct ibv_ah *ah = make_ah(k);
	struct ibv_qp *qp[2];
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad = NULL;

	kit_pair(k, IBV_QPT_UD, qp);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = KIT_QKEY;
	ah->handle++; /* posting a request does not check it */
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 0, IBV_WC_SEND);
	ah->handle--;
	assert_int_equal(ibv_destroy_ah(ah), 0);
	REFUSED(ibv_post_send(qp[0], &wr, &bad));
	assert_ptr_equal(bad, &wr);
	kit_destroy_pair(qp);
}

/* --------------------------------------------------------------------------- queues */
static void *xrc_srq(struct kit *k, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = k->pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	return ibv_create_srq_ex(k->ctx, &attr);
}

static void refuse_users_of_cq(struct kit *k, struct ibv_cq *cq)
{
	struct ibv_xrcd *xrcd = make_xrcd(k);

	REFUSED_NULL(qp_in(k->pd, cq, k->cq, NULL));
	REFUSED_NULL(qp_in(k->pd, k->cq, cq, NULL));
	REFUSED_NULL(wq_in(k, k->pd, cq));
	REFUSED_NULL(xrc_srq(k, xrcd, cq));
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static void a_destroyed_completion_queue(void **state)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct kit *k = *state;
	struct ibv_cq *cq = make_cq(k);
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *ex;
	struct ibv_wc wc;

	cq->handle++;
	REFUSED(ibv_req_notify_cq(cq, 0));
	REFUSED(ibv_resize_cq(cq, 8));
	REFUSED(ibv_modify_cq(cq, &attr));
	refuse_users_of_cq(k, cq);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	cq->handle--;
	assert_int_equal(ibv_destroy_cq(cq), 0);
	errno = 0;
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), -EINVAL);
	assert_int_equal(errno, EINVAL);
	REFUSED(ibv_req_notify_cq(cq, 0));
	REFUSED(ibv_resize_cq(cq, 8));
	REFUSED(ibv_modify_cq(cq, &attr));
	refuse_users_of_cq(k, cq);
	ex = make_cq_ex(k);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	REFUSED(ibv_start_poll(ex, &poll));
}

static void what_was_polled_does_not_come_again(void **state)
{
	struct kit *k = *state, mine = *k;
	struct ibv_cq_ex *ex = make_cq_ex(k);
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_qp *qp;
	struct ibv_wc wc;

	mine.cq = ibv_cq_ex_to_cq(ex);
	qp = kit_create_qp(&mine, IBV_QPT_RC);
	kit_to_init(qp);
	kit_post_recv(&mine, qp, 1, kit_sge(k, 0, 0, 8));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(ibv_poll_cq(mine.cq, 1, &wc), 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(mine.cq), 0);
	REFUSED(ibv_start_poll(ex, &poll));
	assert_int_equal(ibv_poll_cq(mine.cq, 1, &wc), -EINVAL);
}

/* A thread destroys the queue that it is reading, and reads on. */
static void a_completion_queue_that_is_being_read(void **state)
{
	enum {
		COUNT = 4,
		LATER = 200
	};
	struct kit *k = *state, mine = *k;
	struct ibv_cq_ex *ex = make_cq_ex(k);
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_qp *qp;

	mine.cq = ibv_cq_ex_to_cq(ex);
	qp = kit_create_qp(&mine, IBV_QPT_RC);
	kit_to_init(qp);
	for (unsigned i = 0; i < COUNT; i++)
		kit_post_recv(&mine, qp, i, kit_sge(k, 0, 0, 8));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(ibv_start_poll(ex, &poll), 0);
	assert_int_equal(ex->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(mine.cq), 0);
	while (ibv_next_poll(ex) == 0)
		;
	ibv_end_poll(ex);
	/* Many later queues, one of which reuses the memory. */
	for (unsigned i = 0; i < LATER; i++)
		assert_int_equal(ibv_destroy_cq(make_cq(k)), 0);
}

static void a_destroyed_shared_queue(void **state)
{
	struct ibv_srq_attr attr = { .max_wr = 8 };
	struct kit *k = *state;
	struct ibv_srq *srq = make_srq(k), *xrc;
	struct ibv_xrcd *xrcd = make_xrcd(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	uint32_t number;

	srq->handle++;
	REFUSED(ibv_query_srq(srq, &attr));
	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	REFUSED_NULL(qp_in(k->pd, k->cq, k->cq, srq));
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	srq->handle--;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	REFUSED(ibv_post_srq_recv(srq, &wr, &bad));
	assert_ptr_equal(bad, &wr);
	REFUSED(ibv_query_srq(srq, &attr));
	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	REFUSED(ibv_get_srq_num(srq, &number));
	REFUSED_NULL(qp_in(k->pd, k->cq, k->cq, srq));
	xrc = xrc_srq(k, xrcd, k->cq);
	assert_non_null(xrc);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_srq(xrc), 0);
	REFUSED(ibv_get_srq_num(xrc, &number));
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static void a_closed_xrc_domain(void **state)
{
	struct kit *k = *state;
	struct ibv_xrcd *xrcd = make_xrcd(k);
	struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV,
					      .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					      .xrcd = xrcd };
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &target), *other;

	assert_non_null(qp);
	open.qp_num = qp->qp_num;
	other = ibv_open_qp(k->ctx, &open);
	assert_non_null(other);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(qp), ENOENT);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_qp(other), 0);
	assert_int_equal(ibv_destroy_qp(other), ENOENT);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	REFUSED_NULL(xrc_srq(k, xrcd, k->cq));
	REFUSED_NULL(ibv_create_qp_ex(k->ctx, &target));
	REFUSED_NULL(ibv_open_qp(k->ctx, &open));
}

static void destroyed_work_queues(void **state)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE,
				     .wq_state = IBV_WQS_RDY };
	struct kit *k = *state;
	struct ibv_wq *wq = make_wq(k);
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table = MADE(ibv_create_rwq_ind_table(k->ctx, &attr));
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	uint8_t key[40] = { 1 };
	struct ibv_qp_init_attr_ex rss = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = k->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key },
	};

	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	table->ind_tbl_handle++;
	assert_int_equal(ibv_destroy_rwq_ind_table(table), ENOENT);
	REFUSED_NULL(ibv_create_qp_ex(k->ctx, &rss));
	table->ind_tbl_handle--;
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), ENOENT);
	REFUSED_NULL(ibv_create_qp_ex(k->ctx, &rss));
	assert_int_equal(ibv_destroy_wq(wq), 0);
	REFUSED(ibv_modify_wq(wq, &ready));
	REFUSED(ibv_post_wq_recv(wq, &wr, &bad));
	assert_ptr_equal(bad, &wr);
	REFUSED_NULL(ibv_create_rwq_ind_table(k->ctx, &attr));
}

/* A work queue contains an internal queue pair. A post to the destroyed work queue must
 * not reach a later QP, which may have that memory.
 */
static void a_post_to_a_destroyed_work_queue_is_none_to_a_queue_pair(void **state)
{
	enum {
		TIMES = 200
	};
	struct kit *k = *state;
	struct ibv_wq *wq = make_wq(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;

	assert_int_equal(ibv_destroy_wq(wq), 0);
	for (unsigned i = 0; i < TIMES; i++) {
		struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);

		kit_to_init(qp);
		REFUSED(ibv_post_wq_recv(wq, &wr, &bad));
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

static void destroyed_counters(void **state)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_PACKETS };
	struct kit *k = *state;
	struct ibv_counters *counters = make_counters(k);
	uint64_t value;

	assert_int_equal(ibv_destroy_counters(counters), 0);
	REFUSED(ibv_attach_counters_point_flow(counters, &attr, NULL));
	REFUSED(ibv_read_counters(counters, &value, 1, 0));
}

/* Flow rules need a raw packet QP, which needs CAP_NET_RAW. Without it only the counters
 * are tested.
 */
static void destroyed_flow_rules(void **state)
{
	struct kit *k = *state;
	struct ibv_counters *counters = make_counters(k);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_counter_action count = { .type = IBV_FLOW_SPEC_ACTION_COUNT,
						      .size = sizeof(count),
						      .counters = counters };
	struct ibv_qp_init_attr init = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp *qp = ibv_create_qp(k->pd, &init);
	struct ibv_flow *flow;

	raw_rule_port(&rule, 4791);
	raw_rule_add(&rule, &count, sizeof(count));
	if (qp) {
		flow = raw_flow(qp, &rule);
		assert_int_equal(ibv_destroy_qp(qp), EBUSY);
		assert_int_equal(ibv_destroy_counters(counters), EBUSY);
		flow->handle++;
		assert_int_equal(ibv_destroy_flow(flow), ENOENT);
		flow->handle--;
		assert_int_equal(ibv_destroy_flow(flow), 0);
		assert_int_equal(ibv_destroy_flow(flow), ENOENT);
	}
	assert_int_equal(ibv_destroy_counters(counters), 0);
	if (qp) {
		REFUSED_NULL(ibv_create_flow(qp, &rule.attr));
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

/* ------------------------------------------------------------------------- imports */
static void handles_of_imports(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *also = ibv_import_pd(k->ctx, k->pd->handle);
	struct ibv_mr *mr = make_mr(k), *other;
	struct ibv_dm *dm = make_dm(k), *copy = ibv_import_dm(k->ctx, dm->handle);

	assert_non_null(also);
	assert_non_null(copy);
	other = ibv_import_mr(also, mr->handle);
	assert_non_null(other);
	ibv_unimport_pd(also);
	ibv_unimport_pd(also);
	refuse_domain(k, also);
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(ibv_dereg_mr(other), ENOENT);
	assert_int_equal(ibv_dereg_mr(mr), ENOENT);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, k->buf, 64, 0),
		IBV_REREG_MR_ERR_CMD);
	ibv_unimport_mr(mr);
	ibv_unimport_mr(mr);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_free_dm(dm), ENOENT);
	assert_int_equal(ibv_free_dm(copy), ENOENT);
	ibv_unimport_dm(copy);
	ibv_unimport_dm(copy);
}

/* The device memory exists, but the imported object was ended, so copies through it fail.
 */
static void memory_is_not_copied_by_an_import_that_has_ended(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = make_dm(k), *copy = ibv_import_dm(k->ctx, dm->handle);
	uint32_t word = 7;

	assert_non_null(copy);
	assert_int_equal(ibv_memcpy_to_dm(copy, 0, &word, sizeof(word)), 0);
	ibv_unimport_dm(copy);
	assert_int_equal(ibv_memcpy_to_dm(copy, 0, &word, sizeof(word)), EIO);
	assert_int_equal(ibv_memcpy_from_dm(&word, copy, 0, sizeof(word)), EIO);
	word = 0;
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 0, sizeof(word)), 0);
	assert_int_equal(word, 7);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* Another context uses the same file. So closing the region's context moves the region to
 * the other one.
 */
static void a_region_outlives_its_context(void **state)
{
	struct kit k = *(const struct kit *)*state;
	struct ibv_context *other;
	struct ibv_mr *mr;

	k.ctx = kit_open_device();
	k.pd = make_pd(&k);
	mr = make_mr(&k);
	other = MADE(ibv_import_device(dup(k.ctx->cmd_fd)));
	assert_int_equal(ibv_close_device(k.ctx), 0);
	assert_ptr_equal(mr->context, other);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dereg_mr(mr), ENOENT);
	assert_int_equal(ibv_dealloc_pd(k.pd), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

/* libibverbs sends requests for an object to the descriptor of its context. After the
 * close the number of that descriptor may belong to any file.
 */
static void a_closed_context_has_no_descriptors(void **state)
{
	struct ibv_context *ctx = kit_open_device();

	(void)state;
	assert_true(ctx->cmd_fd >= 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	assert_int_equal(ctx->cmd_fd, -1);
	assert_int_equal(ctx->async_fd, -1);
}

/* -------------------------------------------------------------------------- threads */
struct user {
	struct kit *k;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	atomic_uint rounds;
	int last;
};

static void *post_until_refused(void *arg)
{
	struct user *u = arg;
	struct ibv_sge sge = kit_sge(u->k, 0, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	do {
		u->last = ibv_post_recv(u->qp, &wr, &bad);
		atomic_fetch_add(&u->rounds, 1);
	} while (u->last == 0 || u->last == ENOMEM);
	return NULL;
}

static void *poll_until_refused(void *arg)
{
	struct user *u = arg;
	struct ibv_wc wc[4];
	int got;

	do {
		got = ibv_poll_cq(u->cq, 4, wc);
		atomic_fetch_add(&u->rounds, 1);
	} while (got >= 0);
	u->last = -got;
	return NULL;
}

static void destroyed_while_in_use(void **state)
{
	enum {
		TIMES = 10
	};
	struct kit *k = *state;

	for (unsigned i = 0; i < TIMES; i++) {
		struct kit mine = *k;
		struct user poster = { .k = k }, poller = { .k = k };
		pthread_t a, b;

		mine.cq = make_cq(k);
		poller.cq = mine.cq;
		poster.qp = kit_create_qp(&mine, IBV_QPT_RC);
		kit_to_init(poster.qp);
		assert_int_equal(pthread_create(&a, NULL, post_until_refused, &poster),
				 0);
		assert_int_equal(pthread_create(&b, NULL, poll_until_refused, &poller),
				 0);
		while (atomic_load(&poster.rounds) < 10 ||
		       atomic_load(&poller.rounds) < 10)
			sched_yield();
		if (i % 2) /* completions arrive during the destruction */
			kit_to_state(poster.qp, IBV_QPS_ERR);
		assert_int_equal(ibv_destroy_qp(poster.qp), 0);
		assert_int_equal(ibv_destroy_cq(poller.cq), 0);
		pthread_join(a, NULL);
		pthread_join(b, NULL);
		assert_int_equal(poster.last, EINVAL);
		assert_int_equal(poller.last, EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destroyed_queue_pair),
		cmocka_unit_test(a_post_to_a_destroyed_queue_pair_is_none_to_the_next),
		cmocka_unit_test(requests_that_are_built_in_a_destroyed_queue_pair),
		cmocka_unit_test(a_destroyed_domain),
		cmocka_unit_test(a_destroyed_parent_domain),
		cmocka_unit_test(destroyed_memory_objects),
		cmocka_unit_test(a_destroyed_window),
		cmocka_unit_test(a_destroyed_address_handle),
		cmocka_unit_test(a_destroyed_completion_queue),
		cmocka_unit_test(what_was_polled_does_not_come_again),
		cmocka_unit_test(a_completion_queue_that_is_being_read),
		cmocka_unit_test(a_destroyed_shared_queue),
		cmocka_unit_test(a_closed_xrc_domain),
		cmocka_unit_test(destroyed_work_queues),
		cmocka_unit_test(
			a_post_to_a_destroyed_work_queue_is_none_to_a_queue_pair),
		cmocka_unit_test(destroyed_counters),
		cmocka_unit_test(destroyed_flow_rules),
		cmocka_unit_test(handles_of_imports),
		cmocka_unit_test(memory_is_not_copied_by_an_import_that_has_ended),
		cmocka_unit_test(a_closed_context_has_no_descriptors),
		cmocka_unit_test(a_region_outlives_its_context),
		cmocka_unit_test(destroyed_while_in_use),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
