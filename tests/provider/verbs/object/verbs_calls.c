/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_calls.c - several threads perform every call on the same objects at once.
 *
 * Each thread performs the calls in an order of its own. Under ThreadSanitizer this test
 * shows unguarded accesses. Without it the test shows that no call fails because of
 * another one, and that each request completes once.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	THREADS = 4,
	ROUNDS = 150,
	LEN = 256
};

struct shared {
	struct kit *k;
	struct ibv_qp *qp[2];
	atomic_uint posted, completed;
};

static void write_some(struct shared *s)
{
	struct ibv_sge local = kit_sge(s->k, 0, 0, LEN);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = local.addr + KIT_HALF,
					       .rkey = s->k->mr->rkey } };
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(s->qp[0], &wr, &bad);

	assert_true(rc == 0 || rc == ENOMEM);
	if (rc == 0)
		atomic_fetch_add(&s->posted, 1);
}

static void poll_some(struct shared *s)
{
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(s->k->cq, 8, wc);

	assert_in_range(n, 0, 8);
	for (int i = 0; i < n; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	atomic_fetch_add(&s->completed, (unsigned)n);
}

static void arm(struct shared *s)
{
	assert_int_equal(ibv_req_notify_cq(s->k->cq, 0), 0);
}

static void resize(struct shared *s)
{
	int want = 200 + (int)(atomic_load(&s->posted) % 800);

	assert_int_equal(ibv_resize_cq(s->k->cq, want), 0);
}

static void moderate(struct shared *s)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { 4, 100 } };

	assert_int_equal(ibv_modify_cq(s->k->cq, &attr), 0);
}

static void query_queue_pair(struct shared *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(s->qp[1], &attr, ~0, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_true(ibv_query_qp_data_in_order(s->qp[0], IBV_WR_RDMA_WRITE, 0) >= 0);
}

static void modify_queue_pair(struct shared *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = 2 };

	assert_int_equal(
		ibv_modify_qp(s->qp[0], &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), 0);
}

static void set_rate(struct shared *s)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 50000000 };
	struct ibv_ece ece;

	assert_int_equal(ibv_modify_qp_rate_limit(s->qp[0], &attr), 0);
	assert_int_equal(ibv_query_ece(s->qp[0], &ece), 0);
}

static void query_device(struct shared *s)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;
	union ibv_gid gid;

	assert_int_equal(ibv_query_device_ex(s->k->ctx, NULL, &dev), 0);
	assert_int_equal(ibv_query_port(s->k->ctx, 1, &port), 0);
	assert_int_equal(ibv_query_gid(s->k->ctx, 1, 0, &gid), 0);
	assert_int_equal(ibv_query_rt_values_ex(s->k->ctx, &values), 0);
}

static void make_and_unmake_memory(struct shared *s)
{
	struct ibv_pd *pd = ibv_alloc_pd(s->k->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, s->k->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_ah_attr to = kit_address(s->k);
	struct ibv_ah *ah = ibv_create_ah(pd, &to);

	assert_non_null(mr);
	assert_non_null(ah);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void make_and_unmake_queues(struct shared *s)
{
	struct ibv_cq *cq = ibv_create_cq(s->k->ctx, 4, NULL, s->k->channel, 0);
	struct ibv_qp_init_attr attr = { .send_cq = s->k->cq,
					 .recv_cq = cq,
					 .cap = { 2, 2, 1, 1, 0 },
					 .qp_type = IBV_QPT_UC };
	struct ibv_qp *qp;

	assert_non_null(cq);
	qp = ibv_create_qp(s->k->pd, &attr);
	assert_non_null(qp);
	kit_to_init(qp);
	kit_post_recv(s->k, qp, 1, kit_sge(s->k, 1, 0, LEN));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(kit_wait(cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void make_and_unmake_shared_receives(struct shared *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->k->pd, &init);
	struct ibv_sge sge = kit_sge(s->k, 1, 0, LEN);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_srq_attr attr = { .srq_limit = 2 };

	assert_non_null(srq);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void make_and_unmake_windows(struct shared *s)
{
	struct ibv_mw *mw = ibv_alloc_mw(s->k->pd, IBV_MW_TYPE_1);

	assert_non_null(mw);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void open_and_close(struct shared *s)
{
	struct ibv_context *ctx = ibv_open_device(s->k->ctx->device);

	assert_non_null(ctx);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void (*const calls[])(struct shared *s) = {
	write_some,
	poll_some,
	arm,
	resize,
	moderate,
	query_queue_pair,
	write_some,
	modify_queue_pair,
	set_rate,
	poll_some,
	query_device,
	make_and_unmake_memory,
	write_some,
	poll_some,
	make_and_unmake_queues,
	open_and_close,
	make_and_unmake_shared_receives,
	make_and_unmake_windows,
};

struct worker {
	struct shared *s;
	unsigned stride, start;
	pthread_t thread;
};

static void *call_all(void *arg)
{
	const unsigned count = sizeof(calls) / sizeof(calls[0]);
	struct worker *w = arg;

	/* A stride that has no common divisor with 18 reaches every call. */
	for (unsigned i = 0; i < ROUNDS * count; i++)
		calls[(w->start + i * w->stride) % count](w->s);
	return NULL;
}

static void take_events(struct kit *k)
{
	struct pollfd p = { .fd = k->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	while (poll(&p, 1, 0) == 1) {
		assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
}

static void every_call_from_several_threads(void **state)
{
	struct shared s = { .k = *state };
	static const unsigned strides[THREADS] = { 1, 5, 7, 11 };
	struct worker w[THREADS];

	kit_pair(s.k, IBV_QPT_RC, s.qp);
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .s = &s, .stride = strides[i], .start = 3 * i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, call_all, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
	while (atomic_load(&s.completed) < atomic_load(&s.posted)) {
		assert_int_equal(kit_wait(s.k->cq).status, IBV_WC_SUCCESS);
		atomic_fetch_add(&s.completed, 1);
	}
	kit_expect_none(s.k->cq);
	take_events(s.k);
	kit_destroy_pair(s.qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_from_several_threads),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
