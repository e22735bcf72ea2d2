/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_wq.c - receive work queues and indirection tables: life, states, and refused
 * calls.
 *
 * verbs_rss.c, which needs a privilege, tests what they receive.
 */
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srq_kit.h"
#include "tests/provider/kit/verbs_kit.h"

static struct ibv_wq_init_attr wq_attr(struct kit *k)
{
	return (struct ibv_wq_init_attr){
		.wq_context = k,
		.wq_type = IBV_WQT_RQ,
		.max_wr = KIT_WR,
		.max_sge = KIT_SGE,
		.pd = k->pd,
		.cq = k->cq,
	};
}

static struct ibv_wq *new_wq(struct kit *k)
{
	struct ibv_wq_init_attr attr = wq_attr(k);
	struct ibv_wq *wq = ibv_create_wq(k->ctx, &attr);

	if (!wq)
		fail_msg("ibv_create_wq: errno %d", errno);
	return wq;
}

static int move(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int post_wq(struct kit *k, struct ibv_wq *wq, uint64_t wr_id)
{
	struct ibv_sge sge = kit_sge(k, 1, 0, 64);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;
	int rc = ibv_post_wq_recv(wq, &wr, &bad);

	assert_ptr_equal(bad, rc ? &wr : NULL);
	return rc;
}

static void expect_flush(struct kit *k, const struct ibv_wq *wq, uint64_t wr_id)
{
	struct ibv_wc wc = kit_wait(k->cq);

	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.qp_num, wq->wq_num);
}

/* ------------------------------------------------------------------------- life */
static void a_work_queue_says_what_it_is(void **state)
{
	struct kit *k = *state;
	struct ibv_wq_init_attr attr = wq_attr(k);
	struct ibv_wq *wq = ibv_create_wq(k->ctx, &attr), *other = new_wq(k);

	assert_non_null(wq);
	assert_true(attr.max_wr >= KIT_WR && attr.max_sge >= KIT_SGE);
	assert_ptr_equal(wq->context, k->ctx);
	assert_ptr_equal(wq->wq_context, k);
	assert_ptr_equal(wq->pd, k->pd);
	assert_ptr_equal(wq->cq, k->cq);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_int_equal(wq->wq_type, IBV_WQT_RQ);
	assert_int_not_equal(wq->wq_num, other->wq_num);
	assert_int_equal(ibv_destroy_cq(k->cq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(k->pd), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_wq(other), 0);
}

static void the_device_says_what_it_has(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr_ex a;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	assert_true(a.max_wq_type_rq >= 1024);
	assert_true(a.rss_caps.max_rwq_indirection_tables >= 1024);
	assert_true(a.rss_caps.max_rwq_indirection_table_size >= 128);
	assert_int_equal(a.rss_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	assert_int_equal(a.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	assert_int_equal(a.rss_caps.rx_hash_fields_mask, 0xff);
}

static void expect_none(struct kit *k, struct ibv_wq_init_attr *attr, int why)
{
	errno = 0;
	assert_null(ibv_create_wq(k->ctx, attr));
	assert_int_equal(errno, why);
}

static void what_cannot_be_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_wq_init_attr attr;
	struct ibv_context *other = kit_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(other);
	struct ibv_device_attr dev;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	attr = wq_attr(k), attr.max_wr = 0;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.max_wr = (uint32_t)dev.max_qp_wr + 1;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.max_sge = (uint32_t)dev.max_sge + 1;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.pd = NULL;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.pd = pd;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.cq = NULL;
	expect_none(k, &attr, EINVAL);
	attr = wq_attr(k), attr.wq_type = (enum ibv_wq_type)1;
	expect_none(k, &attr, EOPNOTSUPP);
	attr = wq_attr(k), attr.comp_mask = 1 << 1;
	expect_none(k, &attr, EOPNOTSUPP);
	for (uint32_t flag = 1; flag <= IBV_WQ_FLAGS_PCI_WRITE_END_PADDING; flag <<= 1) {
		attr = wq_attr(k), attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
		attr.create_flags = flag;
		expect_none(k, &attr, EOPNOTSUPP);
	}
	/* A queue with exactly these limits can be made, and the failed calls above have
	 * kept no memory.
	 */
	attr = wq_attr(k), attr.max_wr = (uint32_t)dev.max_qp_wr;
	attr.max_sge = (uint32_t)dev.max_sge;
	assert_int_equal(ibv_destroy_wq(ibv_create_wq(k->ctx, &attr)), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void as_many_as_the_device_says(void **state)
{
	struct kit *k = *state;
	struct ibv_wq_init_attr attr = wq_attr(k);
	struct ibv_device_attr_ex a;
	struct ibv_wq **wq;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	attr.max_wr = attr.max_sge = 1;
	wq = calloc(a.max_wq_type_rq, sizeof(struct ibv_wq *));
	assert_non_null(wq);
	for (uint32_t i = 0; i < a.max_wq_type_rq; i++) {
		wq[i] = ibv_create_wq(k->ctx, &attr);
		if (!wq[i])
			fail_msg("work queue %u: errno %d", i, errno);
	}
	expect_none(k, &attr, ENOMEM);
	for (uint32_t i = 0; i < a.max_wq_type_rq; i++)
		assert_int_equal(ibv_destroy_wq(wq[i]), 0);
	free(wq);
}

/* ----------------------------------------------------------------------- states */
static void bring(struct ibv_wq *wq, enum ibv_wq_state state)
{
	assert_int_equal(move(wq, IBV_WQS_RESET), 0);
	if (state != IBV_WQS_RESET)
		assert_int_equal(move(wq, IBV_WQS_RDY), 0);
	if (state == IBV_WQS_ERR)
		assert_int_equal(move(wq, IBV_WQS_ERR), 0);
	assert_int_equal(wq->state, state);
}

static void states_follow_the_table(void **state)
{
	static const int want[3][3] = {
		[IBV_WQS_RESET] = { 0, 0, EINVAL },
		[IBV_WQS_RDY] = { 0, 0, 0 },
		[IBV_WQS_ERR] = { 0, EINVAL, 0 },
	};
	struct ibv_wq *wq = new_wq(*state);

	for (unsigned from = 0; from < 3; from++) {
		for (unsigned to = 0; to < 3; to++) {
			bring(wq, (enum ibv_wq_state)from);
			assert_int_equal(move(wq, (enum ibv_wq_state)to), want[from][to]);
			assert_int_equal(wq->state, want[from][to] ? from : to);
		}
	}
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static void a_change_may_say_what_it_starts_from(void **state)
{
	struct ibv_wq *wq = new_wq(*state);
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.curr_wq_state = IBV_WQS_RDY,
		.wq_state = IBV_WQS_RDY,
	};

	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr.curr_wq_state = (enum ibv_wq_state)3;
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	attr.curr_wq_state = IBV_WQS_RESET;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static void changes_that_cannot_be_are_refused(void **state)
{
	struct ibv_wq *wq = new_wq(*state);
	struct ibv_wq_attr attr = { .attr_mask = 0 };

	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr.attr_mask = 1 << 3;
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(move(wq, (enum ibv_wq_state)3), EINVAL);
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_FLAGS,
				     .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING };
	assert_int_equal(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	attr.flags_mask = 0;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static void receives_are_taken_until_it_is_full(void **state)
{
	struct kit *k = *state;
	struct ibv_wq_init_attr attr = wq_attr(k);
	struct ibv_wq *wq;
	struct ibv_sge sge[2] = { kit_sge(k, 1, 0, 8), kit_sge(k, 1, 8, 8) };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	attr.max_wr = 4;
	attr.max_sge = 1;
	wq = ibv_create_wq(k->ctx, &attr);
	assert_non_null(wq);
	/* fails because the queue is in RESET */
	assert_int_equal(post_wq(k, wq, 0), EINVAL);
	bring(wq, IBV_WQS_RDY);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), attr.max_sge < 2 ? EINVAL : 0);
	for (uint32_t i = 0; i < attr.max_wr; i++)
		assert_int_equal(post_wq(k, wq, i), 0);
	assert_int_equal(post_wq(k, wq, 99), ENOMEM);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	kit_expect_none(k->cq);
}

static void an_error_flushes_and_a_reset_forgets(void **state)
{
	struct kit *k = *state;
	struct ibv_wq *wq = new_wq(k), *other = new_wq(k);

	bring(wq, IBV_WQS_RDY);
	bring(other, IBV_WQS_RDY);
	assert_int_equal(post_wq(k, other, 77), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(post_wq(k, wq, i), 0);
	assert_int_equal(move(wq, IBV_WQS_ERR), 0);
	for (unsigned i = 0; i < 3; i++)
		expect_flush(k, wq, i);
	assert_int_equal(post_wq(k, wq, 3), 0);
	expect_flush(k, wq, 3);
	kit_expect_none(k->cq);

	assert_int_equal(move(wq, IBV_WQS_RESET), 0);
	assert_int_equal(move(wq, IBV_WQS_RDY), 0);
	assert_int_equal(post_wq(k, wq, 4), 0);
	assert_int_equal(move(wq, IBV_WQS_ERR), 0);
	/* the reset discards the flushed completions */
	assert_int_equal(move(wq, IBV_WQS_RESET), 0);
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_wq(other), 0);
	kit_expect_none(k->cq);
}

static struct ibv_async_event next_event(struct kit *k)
{
	struct pollfd p = { .fd = k->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	assert_int_equal(poll(&p, 1, 300000), 1);
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	return event;
}

/* One work queue overruns the CQ. This moves the other work queue to the error state too.
 */
static void a_lost_completion_is_fatal(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 1, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = wq_attr(k);
	struct ibv_wq *full, *wq;
	bool cq_error = false, wq_fatal = false;

	assert_non_null(cq);
	attr.cq = cq;
	attr.max_wr = (uint32_t)cq->cqe + 8;
	full = ibv_create_wq(k->ctx, &attr);
	wq = ibv_create_wq(k->ctx, &attr);
	assert_true(full && wq);
	bring(full, IBV_WQS_RDY);
	bring(wq, IBV_WQS_RDY);
	for (uint32_t i = 0; i < attr.max_wr; i++)
		assert_int_equal(post_wq(k, full, i), 0);
	assert_int_equal(move(full, IBV_WQS_ERR), 0);
	while (!cq_error || !wq_fatal) {
		struct ibv_async_event event = next_event(k);

		if (event.event_type == IBV_EVENT_CQ_ERR) {
			assert_ptr_equal(event.element.cq, cq);
			cq_error = true;
		} else {
			assert_int_equal(event.event_type, IBV_EVENT_WQ_FATAL);
			assert_ptr_equal(event.element.wq, wq);
			wq_fatal = true;
		}
		ibv_ack_async_event(&event);
	}
	/* the work queue is in the error state */
	assert_int_equal(move(wq, IBV_WQS_RDY), EINVAL);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_wq(full), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ----------------------------------------------------------------------- tables */
static struct ibv_rwq_ind_table *new_table(struct kit *k, struct ibv_wq **wq,
					   uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log,
						    .ind_tbl = wq };

	errno = 0;
	return ibv_create_rwq_ind_table(k->ctx, &attr);
}

static void a_table_holds_its_queues(void **state)
{
	struct kit *k = *state;
	struct ibv_wq *wq[2] = { new_wq(k), new_wq(k) };
	struct ibv_wq *twice[4] = { wq[0], wq[1], wq[0], wq[0] };
	struct ibv_rwq_ind_table *a = new_table(k, twice, 2), *b = new_table(k, wq, 0);

	assert_true(a && b);
	assert_ptr_equal(a->context, k->ctx);
	assert_int_not_equal(a->ind_tbl_num, b->ind_tbl_num);
	assert_int_equal(ibv_destroy_wq(wq[0]), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq[1]), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(a), 0);
	assert_int_equal(ibv_destroy_wq(wq[1]), 0);
	assert_int_equal(ibv_destroy_wq(wq[0]), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(b), 0);
	assert_int_equal(ibv_destroy_wq(wq[0]), 0);
}

static void tables_that_cannot_be_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_wq *wq = new_wq(k), *missing[2] = { wq, NULL };
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq, .comp_mask = 1 };
	struct ibv_wq *foreign[2] = { wq, NULL };
	struct ibv_device_attr_ex a;
	struct ibv_wq **all;
	uint32_t log = 0;
	void *other = NULL;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	while (1u << log < a.rss_caps.max_rwq_indirection_table_size)
		log++;
	all = calloc(2ul << log, sizeof(struct ibv_wq *));
	assert_non_null(all);
	for (uint32_t i = 0; i < 2u << log; i++)
		all[i] = wq;
	assert_null(ibv_create_rwq_ind_table(k->ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(new_table(k, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(new_table(k, missing, 1));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(kit_setup(&other), 0);
	foreign[1] = new_wq(other);
	assert_null(new_table(k, foreign, 1));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_wq(foreign[1]), 0);
	assert_int_equal(kit_teardown(&other), 0);
	assert_null(new_table(k, all, log + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(new_table(k, all, 32));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_rwq_ind_table(new_table(k, all, log)), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	free(all);
}

static void tables_as_many_as_the_device_says(void **state)
{
	struct kit *k = *state;
	struct ibv_wq *wq = new_wq(k);
	struct ibv_rwq_ind_table **table;
	struct ibv_device_attr_ex a;
	uint32_t max;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	max = a.rss_caps.max_rwq_indirection_tables;
	table = calloc(max, sizeof(struct ibv_rwq_ind_table *));
	assert_non_null(table);
	for (uint32_t i = 0; i < max; i++) {
		table[i] = new_table(k, &wq, 0);
		if (!table[i])
			fail_msg("table %u: errno %d", i, errno);
	}
	assert_null(new_table(k, &wq, 0));
	assert_int_equal(errno, ENOMEM);
	for (uint32_t i = 0; i < max; i++)
		assert_int_equal(ibv_destroy_rwq_ind_table(table[i]), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	free(table);
}

/* ------------------------------------------------------------------ process, device */
static void a_child_of_fork_only_frees(void **state)
{
	struct kit *k = *state;
	struct ibv_wq *wq = new_wq(k);
	struct ibv_rwq_ind_table *table = new_table(k, &wq, 0);
	struct ibv_wq_init_attr attr = wq_attr(k);
	int status;
	pid_t child;

	assert_non_null(table);
	bring(wq, IBV_WQS_RDY);
	child = fork();
	if (child == 0) {
		bool ok = !ibv_create_wq(k->ctx, &attr) && errno == EIO;

		ok = ok && !new_table(k, &wq, 0) && errno == EIO;
		ok = ok && move(wq, IBV_WQS_ERR) == EIO && post_wq(k, wq, 1) == EIO;
		ok = ok && ibv_destroy_wq(wq) == 0;
		ok = ok && ibv_destroy_rwq_ind_table(table) == 0;
		_exit(ok ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(post_wq(k, wq, 1), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* Each round makes as many objects as the device allows. So the close before it must have
 * freed all objects of its context.
 */
static void a_closed_context_leaves_nothing(void **state)
{
	enum {
		ROUNDS = 3
	};

	(void)state;
	expect_leaks(true);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct kit k = { .ctx = kit_open_device() };
		struct ibv_device_attr_ex a;
		struct ibv_wq *wq;

		k.pd = ibv_alloc_pd(k.ctx);
		k.cq = ibv_create_cq(k.ctx, 16, NULL, NULL, 0);
		assert_true(k.pd && k.cq);
		assert_int_equal(ibv_query_device_ex(k.ctx, NULL, &a), 0);
		wq = new_wq(&k);
		bring(wq, IBV_WQS_RDY);
		for (uint32_t n = 0; n < a.rss_caps.max_rwq_indirection_tables; n++)
			assert_non_null(new_table(&k, &wq, 0));
		assert_int_equal(ibv_close_device(k.ctx), 0);
	}
	expect_leaks(false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_work_queue_says_what_it_is),
		TEST(the_device_says_what_it_has),
		TEST(what_cannot_be_is_refused),
		TEST(as_many_as_the_device_says),
		TEST(states_follow_the_table),
		TEST(a_change_may_say_what_it_starts_from),
		TEST(changes_that_cannot_be_are_refused),
		TEST(receives_are_taken_until_it_is_full),
		TEST(an_error_flushes_and_a_reset_forgets),
		TEST(a_lost_completion_is_fatal),
		TEST(a_table_holds_its_queues),
		TEST(tables_that_cannot_be_are_refused),
		TEST(tables_as_many_as_the_device_says),
		TEST(a_child_of_fork_only_frees),
		TEST(a_closed_context_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
