/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_thread_domain.c - CQs and QPs of which the program has promised that one thread
 * at a time uses them: by a thread domain, or by IBV_CREATE_CQ_ATTR_SINGLE_THREADED.
 */
#include <pthread.h>
#include <signal.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	WORKERS = 3,
	ROUNDS = 200,
	LEN = 64,
	SEND_WR = 1,
	RECV_WR = 2,
};

/* What one thread uses: a thread domain, a parent domain with it, an extended CQ and two
 * connected queue pairs.
 */
struct domain {
	struct kit *k;
	struct ibv_td *td;
	struct ibv_pd *pd; /* the parent domain */
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp[2];
	unsigned idx;
	pthread_t thread;
};

static struct ibv_cq_ex *create_cq(struct kit *k, struct ibv_pd *parent, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 32,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS |
			     (parent ? IBV_CQ_INIT_ATTR_MASK_PD : 0),
		.flags = flags,
		.parent_domain = parent,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &attr);

	assert_non_null(cq);
	return cq;
}

static struct ibv_qp *create_qp(struct domain *d)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(d->cq);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = KIT_WR,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = KIT_INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = d->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(d->k->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static void open_domain(struct domain *d)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr parent = { .pd = d->k->pd };

	d->td = parent.td = ibv_alloc_td(d->k->ctx, &td);
	assert_non_null(d->td);
	d->pd = ibv_alloc_parent_domain(d->k->ctx, &parent);
	assert_non_null(d->pd);
	d->cq = create_cq(d->k, d->pd, 0);
	for (unsigned i = 0; i < 2; i++) {
		d->qp[i] = create_qp(d);
		kit_to_init(d->qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(d->k, d->qp[i], d->qp[1 - i]->qp_num);
}

static void close_domain(struct domain *d)
{
	kit_destroy_pair(d->qp);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(d->cq)), 0);
	assert_int_equal(ibv_dealloc_pd(d->pd), 0);
	assert_int_equal(ibv_dealloc_td(d->td), 0);
}

static void receive_at(struct domain *d, uint32_t offset)
{
	kit_post_recv(d->k, d->qp[1], RECV_WR, kit_sge(d->k, 1, offset, LEN));
}

static void post_by_list(struct domain *d, uint8_t *data)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(d->qp[0]);

	ibv_wr_start(ex);
	ex->wr_id = SEND_WR;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, LEN);
	assert_int_equal(ibv_wr_complete(ex), 0);
}

/* Returns the number of completions that one ibv_start_poll() has found. */
static unsigned poll_ex(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned n = 0;
	int rc = ibv_start_poll(cq, &attr);

	if (rc == ENOENT)
		return 0;
	for (; rc == 0; rc = ibv_next_poll(cq), n++)
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(rc, ENOENT);
	ibv_end_poll(cq);
	return n;
}

static unsigned poll_plainly(struct ibv_cq_ex *cq)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 4, wc);

	assert_in_range(n, 0, 4);
	for (int i = 0; i < n; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	return (unsigned)n;
}

/* Sends messages through the queues of a thread domain, by each kind of post and poll. */
static void *send_and_receive(void *arg)
{
	struct domain *d = arg;
	uint32_t offset = d->idx * LEN;
	uint8_t data[LEN];

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned done = 0;

		memset(data, (int)(i + d->idx), sizeof(data));
		receive_at(d, offset);
		post_by_list(d, data);
		while (done < 2)
			done += i % 2 ? poll_ex(d->cq) : poll_plainly(d->cq);
		assert_int_equal(done, 2);
		assert_memory_equal(d->k->buf + KIT_HALF + offset, data, LEN);
	}
	return NULL;
}

static void each_thread_uses_a_domain_of_its_own(void **state)
{
	struct domain d[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		d[i] = (struct domain){ .k = *state, .idx = i };
		open_domain(&d[i]);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(
			pthread_create(&d[i].thread, NULL, send_and_receive, &d[i]), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(d[i].thread, NULL), 0);
		close_domain(&d[i]);
	}
}

/* A thread domain is for one thread at a time, not for one thread for ever. */
static void a_domain_goes_from_thread_to_thread(void **state)
{
	struct domain d = { .k = *state };

	open_domain(&d);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_create(&d.thread, NULL, send_and_receive, &d),
				 0);
		assert_int_equal(pthread_join(d.thread, NULL), 0);
	}
	close_domain(&d);
}

/* ------------------------------------------------------------ broken promises */
static sigjmp_buf back;

static void on_abort(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* Returns whether @call(@arg) has ended the process. */
static bool is_fatal(void (*call)(void *arg), void *arg)
{
	struct sigaction action = { .sa_handler = on_abort }, before;
	volatile bool ended = false;

	sigaction(SIGABRT, &action, &before);
	if (sigsetjmp(back, 1) == 0)
		call(arg);
	else
		ended = true;
	sigaction(SIGABRT, &before, NULL);
	return ended;
}

struct intruder {
	void (*call)(void *arg);
	void *arg;
	bool was_fatal;
};

static void *intrude(void *arg)
{
	struct intruder *i = arg;

	i->was_fatal = is_fatal(i->call, i->arg);
	return NULL;
}

static bool is_fatal_in_another_thread(void (*call)(void *arg), void *arg)
{
	struct intruder i = { .call = call, .arg = arg };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, intrude, &i), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return i.was_fatal;
}

static void poll_it(void *cq)
{
	struct ibv_wc wc;

	ibv_poll_cq(cq, 1, &wc);
}

static void start_to_poll(void *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	ibv_start_poll(cq, &attr);
}

static void start_to_post(void *qp)
{
	ibv_wr_start(ibv_qp_to_qp_ex(qp));
}

/* Waits for two completions, and stops between ibv_start_poll() and ibv_end_poll(). */
static void stop_amid_a_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	while (ibv_start_poll(cq, &attr) == ENOENT)
		continue;
}

static void two_threads_in_one_domain_are_found(void **state)
{
	struct domain d = { .k = *state };
	uint8_t data[LEN] = { 1 };

	open_domain(&d);
	ibv_wr_start(ibv_qp_to_qp_ex(d.qp[0]));
	assert_true(is_fatal_in_another_thread(start_to_post, d.qp[0]));
	ibv_wr_abort(ibv_qp_to_qp_ex(d.qp[0]));

	receive_at(&d, 0);
	post_by_list(&d, data);
	stop_amid_a_poll(d.cq);
	assert_true(is_fatal_in_another_thread(start_to_poll, d.cq));
	/* A poll uses the queue only if there is a completion, such as the second one. */
	while (!is_fatal_in_another_thread(poll_it, ibv_cq_ex_to_cq(d.cq)))
		continue;
	ibv_end_poll(d.cq);
	while (poll_plainly(d.cq) == 0)
		continue;
	close_domain(&d);
}

static void two_threads_at_a_single_threaded_cq_are_found(void **state)
{
	struct domain d = { .k = *state };
	uint8_t data[LEN] = { 1 };

	d.pd = d.k->pd;
	d.cq = create_cq(d.k, NULL, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	for (unsigned i = 0; i < 2; i++) {
		d.qp[i] = create_qp(&d);
		kit_to_init(d.qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(d.k, d.qp[i], d.qp[1 - i]->qp_num);
	receive_at(&d, 0);
	post_by_list(&d, data);
	stop_amid_a_poll(d.cq);
	assert_true(is_fatal_in_another_thread(start_to_poll, d.cq));
	ibv_end_poll(d.cq);
	while (poll_plainly(d.cq) == 0)
		continue;
	kit_destroy_pair(d.qp);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(d.cq)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_thread_uses_a_domain_of_its_own,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(a_domain_goes_from_thread_to_thread,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(two_threads_in_one_domain_are_found,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(
			two_threads_at_a_single_threaded_cq_are_found, kit_setup,
			kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
