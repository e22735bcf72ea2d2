/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_srq_events.c - shared receive queues with public verbs: events, threads, and
 * fork().
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srq_kit.h"

/* ------------------------------------------------------------- limit, events */
static void the_limit_is_told_once_and_is_then_zero(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 8, 1);
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	post_many(k, srq, 5);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(ibv_query_srq(srq, &attr), 0);
		assert_int_equal(attr.srq_limit, i < 3 ? 3 : 0);
		send_to(k, qp[0], 8);
		kit_expect(k->cq, i, IBV_WC_RECV);
		if (i == 2)
			expect_async(k, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
		else
			expect_no_async(k);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ibv_modify_srq() must fail and leave the limit as it was. */
static void expect_refused(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	assert_int_equal(ibv_modify_srq(srq, &attr, mask), EINVAL);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 3);
}

static void a_change_that_fails_leaves_the_limit(void **state)
{
	const int both = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 16, 1);
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	post_many(k, srq, 5);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	/* fewer than the number of posted receives */
	expect_refused(srq, 4, 0, IBV_SRQ_MAX_WR);
	expect_refused(srq, 4, 1, both);
	expect_refused(srq, 4, 0, both);
	expect_refused(srq, 1u << 30, 1, both);
	expect_refused(srq, 0, 0, both);
	expect_refused(srq, 0, 1u << 30, IBV_SRQ_LIMIT);
	expect_refused(srq, 8, 9, both);
	expect_refused(srq, 0, 1, IBV_SRQ_LIMIT | 1 << 5);
	/* The new limit is in force, not only returned by queries. */
	for (unsigned i = 0; i < 3; i++) {
		expect_no_async(k);
		send_to(k, qp[0], 8);
		kit_expect(k->cq, i, IBV_WC_RECV);
	}
	expect_async(k, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void an_unread_event_goes_with_its_srq(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 8, 1);
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	post_many(k, srq, 1);
	send_to(k, qp[0], 8);
	kit_expect(k->cq, 0, IBV_WC_RECV);
	assert_true(readable(k->ctx->async_fd, 20000));
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	expect_no_async(k);
}

struct doomed {
	struct ibv_srq *srq;
	atomic_bool gone;
};

static void *destroy_it(void *arg)
{
	struct doomed *d = arg;

	if (ibv_destroy_srq(d->srq))
		return d;
	atomic_store(&d->gone, true);
	return NULL;
}

static void destroying_waits_for_the_acknowledgement(void **state)
{
	struct kit *k = *state;
	struct doomed d = { .srq = new_srq(k->pd, 8, 1) };
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_async_event ev;
	struct ibv_qp *qp[2], *other[2];
	pthread_t thread;
	void *failed;

	kit_pair(k, IBV_QPT_RC, other);
	new_pair(k, d.srq, IBV_QPT_RC, qp);
	assert_int_equal(ibv_modify_srq(d.srq, &attr, IBV_SRQ_LIMIT), 0);
	post_many(k, d.srq, 1);
	send_to(k, qp[0], 8);
	kit_expect(k->cq, 0, IBV_WC_RECV);
	assert_int_equal(ibv_get_async_event(k->ctx, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	kit_destroy_pair(qp);
	assert_int_equal(pthread_create(&thread, NULL, destroy_it, &d), 0);
	/* These messages give the other thread enough time, without a measurement of
	 * time.
	 */
	for (unsigned i = 0; i < KIT_WR; i++) {
		kit_post_recv(k, other[1], i, kit_sge(k, 1, 0, 64));
		send_to(k, other[0], 8);
		kit_expect(k->cq, i, IBV_WC_RECV);
	}
	assert_false(atomic_load(&d.gone));
	ibv_ack_async_event(&ev);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	kit_destroy_pair(other);
}

static void a_qp_in_error_leaves_the_receives(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 8, 1);
	struct ibv_qp *a[2], *b[2];

	new_pair(k, srq, IBV_QPT_RC, a);
	new_pair(k, srq, IBV_QPT_RC, b);
	post_many(k, srq, 2);
	kit_to_state(a[1], IBV_QPS_ERR);
	expect_async(k, IBV_EVENT_QP_LAST_WQE_REACHED, a[1]);
	kit_expect_none(k->cq);
	for (unsigned i = 0; i < 2; i++) {
		send_to(k, b[0], 8);
		kit_expect(k->cq, i, IBV_WC_RECV);
	}
	expect_no_async(k);
	kit_destroy_pair(a);
	kit_destroy_pair(b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* -------------------------------------------------------------------- threads */
enum {
	THREADS = 4,
	EACH = 250
};

struct poster {
	struct kit *k;
	struct ibv_srq *srq;
	unsigned first;
};

static void *post_from_here(void *arg)
{
	struct poster *p = arg;
	struct ibv_sge sge = kit_sge(p->k, 1, 0, LEN);

	for (unsigned i = 0; i < EACH; i++) {
		struct ibv_recv_wr wr = { .wr_id = p->first + i,
					  .sg_list = &sge,
					  .num_sge = 1 };
		struct ibv_recv_wr *bad;
		int rc;

		while ((rc = ibv_post_srq_recv(p->srq, &wr, &bad)) == ENOMEM)
			sched_yield();
		if (rc)
			return p;
	}
	return NULL;
}

static void many_threads_post(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 16, 1);
	struct poster poster[THREADS];
	pthread_t thread[THREADS];
	bool seen[THREADS * EACH] = { false };
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < THREADS; i++) {
		poster[i] = (struct poster){ .k = k, .srq = srq, .first = i * EACH };
		assert_int_equal(
			pthread_create(&thread[i], NULL, post_from_here, &poster[i]), 0);
	}
	for (unsigned i = 0; i < THREADS * EACH; i++) {
		struct ibv_wc wc;

		send_to(k, qp[0], 8);
		wc = kit_wait(k->cq);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_in_range(wc.wr_id, 0, THREADS * EACH - 1);
		assert_false(seen[wc.wr_id]);
		seen[wc.wr_id] = true;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void a_fork_child_has_no_srq(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 4, 1);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct ibv_recv_wr wr = { 0 }, *bad;
		struct ibv_srq_attr attr;
		bool ok = ibv_post_srq_recv(srq, &wr, &bad) == EIO &&
			  ibv_query_srq(srq, &attr) == EIO &&
			  ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == EIO &&
			  !new_srq(k->pd, 4, 1) && errno == EIO &&
			  ibv_destroy_srq(srq) == 0;

		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* Closing the context destroys an SRQ that the program did not destroy. */
static void a_forgotten_srq_goes_with_the_context(void **state)
{
	struct ibv_context *ctx = kit_open_device();

	(void)state;
	expect_leaks(true);
	assert_non_null(new_srq(ibv_alloc_pd(ctx), 4, 1));
	expect_leaks(false);
	assert_int_equal(ibv_close_device(ctx), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_limit_is_told_once_and_is_then_zero),
		TEST(a_change_that_fails_leaves_the_limit),
		TEST(an_unread_event_goes_with_its_srq),
		TEST(destroying_waits_for_the_acknowledgement),
		TEST(a_qp_in_error_leaves_the_receives),
		TEST(many_threads_post),
		TEST(a_fork_child_has_no_srq),
		TEST(a_forgotten_srq_goes_with_the_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
